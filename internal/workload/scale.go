package workload

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// loadScaled reads a kind that is known by its scale alone: that says how many pods there are, and which. The template is expected where all
// workloads of Kubernetes' own have it.
func loadScaled(ctx context.Context, reader Reader, policy *v1alpha1.RuntimeTuningPolicy) (owner, []corev1.Pod, error) {
	target := policy.Spec.TargetRef
	called := target.Kind + " " + target.Name
	object := unstructuredOf(target)
	if err := fetch(ctx, reader, policy, object); err != nil {
		return owner{}, nil, err
	}
	template, refusal := templateOf(object, called)
	if refusal != nil {
		return owner{}, nil, refusal
	}
	scale, err := scaleOf(ctx, reader, object)
	switch {
	case apierrors.IsNotFound(err):
		return owner{}, nil, &Refusal{v1alpha1.ReasonInvalidSpec, fmt.Sprintf("%s has no scale: gopacer can't tell its replicas and pods", called)}
	case err != nil:
		return owner{}, nil, fmt.Errorf("get the scale of %s in %s: %w", called, policy.Namespace, err)
	case scale.Status.Selector == "":
		return owner{}, nil, &Refusal{v1alpha1.ReasonInvalidSpec, fmt.Sprintf("the scale of %s has no selector: gopacer can't tell its pods", called)}
	}
	selector, err := labels.Parse(scale.Status.Selector)
	if err != nil {
		return owner{}, nil, fmt.Errorf("read the selector in the scale of %s in %s: %w", called, policy.Namespace, err)
	}
	_, pods, err := listPods(ctx, reader, policy, selector)
	return ofScale(object, called, scale, template, pods), pods, err
}

// scaleOf reads the scale the way in which the object is read: the client mixes no untyped object with a typed part of it.
func scaleOf(ctx context.Context, reader Reader, object *unstructured.Unstructured) (*autoscalingv1.Scale, error) {
	answer := &unstructured.Unstructured{}
	answer.SetGroupVersionKind(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
	if err := reader.SubResource("scale").Get(ctx, object, answer); err != nil {
		return nil, err
	}
	var scale autoscalingv1.Scale
	return &scale, runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, &scale)
}

func templateOf(object *unstructured.Unstructured, called string) (*corev1.PodTemplateSpec, *Refusal) {
	var holder struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &holder); err != nil || len(holder.Spec.Template.Spec.Containers) == 0 {
		return nil, &Refusal{v1alpha1.ReasonInvalidSpec, fmt.Sprintf("%s has no pod template at spec.template: gopacer can't tell what it declares", called)}
	}
	return &holder.Spec.Template, nil
}

// ofScale is pure. The current revision is that of all pods; while they are of several, there is a rollout.
func ofScale(object *unstructured.Unstructured, called string, scale *autoscalingv1.Scale, template *corev1.PodTemplateSpec, pods []corev1.Pod) owner {
	owner := owner{called: called, template: template, revision: func(pod *corev1.Pod) types.UID {
		if !metav1.IsControlledBy(pod, object) {
			return ""
		}
		return revisionOf(pod)
	}}
	found := map[types.UID]bool{}
	for i := range pods {
		if revision := owner.revision(&pods[i]); revision != "" && pods[i].DeletionTimestamp == nil {
			found[revision] = true
		}
	}
	owner.Target = Target{
		UID: object.GetUID(), Replicas: scale.Spec.Replicas, RollingOut: len(found) != 1, Scaling: scale.Status.Replicas != scale.Spec.Replicas,
	}
	for revision := range found {
		if len(found) == 1 {
			owner.Revision = revision
		}
	}
	if found[object.GetUID()] {
		owner.watchImages(pods)
	}
	return owner
}

// revisionOf a pod is a label that many controllers set, or its owner's UID, which says nothing of the template.
func revisionOf(pod *corev1.Pod) types.UID {
	for _, label := range []string{"controller-revision-hash", "pod-template-hash"} {
		if revision := pod.Labels[label]; revision != "" {
			return types.UID(revision)
		}
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.UID
	}
	return ""
}
