package workload

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// MarkCohort labels a pod with its cohort; an empty cohort removes the label. The patch carries the pod's UID, which the API server compares, so
// a successor that took over the name is never labelled. That the pod is gone already is success.
func MarkCohort(ctx context.Context, c client.Client, namespace, podName string, uid types.UID, cohort string) error {
	var value any // null in a merge patch removes the key
	if cohort != "" {
		value = cohort
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":    uid,
		"labels": map[string]any{v1alpha1.LabelCohort: value},
	}})
	if err != nil {
		return fmt.Errorf("write the cohort patch of pod %s/%s: %w", namespace, podName, err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: podName}}
	if err := c.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch)); err != nil && !gone(err) && !otherUID(err) {
		return fmt.Errorf("label pod %s/%s with cohort %q: %w", namespace, podName, cohort, err)
	}
	return nil
}

// otherUID recognises the answer to a patch with another pod's UID: that the field is immutable.
func otherUID(err error) bool {
	cause, ok := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	return ok && apierrors.IsInvalid(err) && cause.Field == "metadata.uid"
}
