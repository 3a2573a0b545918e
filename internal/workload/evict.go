package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
)

// ErrBlocked says that a pod may not be evicted now, most often because of a PodDisruptionBudget. Try again later.
var ErrBlocked = errors.New("the API server does not allow it now")

// ErrManyBudgets says that a pod can't be evicted, now or later, until a person sees to it that only one PodDisruptionBudget selects it.
var ErrManyBudgets = errors.New("the API server evicts no pod with several budgets")

// ErrChanged says that a pod is no longer what it was when it was looked at. Look again.
var ErrChanged = errors.New("the pod has changed")

// evictTimeout bounds an eviction. Where the API server answers 429 with a time to wait, as it does while a budget is being processed, the client
// waits and asks again, ten times over (client-go, rest.Request); and the API server itself tries ten seconds to evict a pending pod whose UID
// is another (EvictionsRetry in the file named at gone).
const evictTimeout = 5 * time.Second

var errNoAnswer = fmt.Errorf("no final answer within %s: a PodDisruptionBudget may be new, or the API server slow", evictTimeout)

// Evict asks the API server to evict a pod, by name and UID: a successor that took over the name is left alone. One that is chosen because it is not
// Ready is left alone too where it has changed since: it may serve by now. That the pod is gone already is success, and so is a namespace that is
// being deleted. An error that is ErrBlocked says why.
func Evict(ctx context.Context, c client.Client, namespace string, pod rollout.Pod) error {
	ctx, cancel := context.WithTimeoutCause(ctx, evictTimeout, errNoAnswer)
	defer cancel()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: pod.Name}
	eviction := &policyv1.Eviction{
		ObjectMeta:    meta,
		DeleteOptions: &metav1.DeleteOptions{Preconditions: preconditions(pod)},
	}
	err := c.SubResource("eviction").Create(ctx, &corev1.Pod{ObjectMeta: meta}, eviction)
	switch {
	case err == nil, gone(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case apierrors.IsConflict(err):
		return fmt.Errorf("evict pod %s/%s: %w: %w", namespace, pod.Name, ErrChanged, err)
	case apierrors.IsInternalError(err) && strings.Contains(err.Error(), manyBudgets):
		return fmt.Errorf("evict pod %s/%s: %w: %w", namespace, pod.Name, ErrManyBudgets, err)
	case apierrors.IsTooManyRequests(err):
		return fmt.Errorf("evict pod %s/%s: %w: %s", namespace, pod.Name, ErrBlocked, blockedBecause(err))
	case errors.Is(context.Cause(ctx), errNoAnswer):
		return fmt.Errorf("evict pod %s/%s: %w: %w", namespace, pod.Name, ErrBlocked, errNoAnswer)
	default:
		return fmt.Errorf("evict pod %s/%s: %w", namespace, pod.Name, err)
	}
}

// manyBudgets is a part of the API server's message (the file named at gone).
const manyBudgets = "more than one PodDisruptionBudget"

// OfReplicaSet says that a target's pods are those of a ReplicaSet, so that a pod's successor has another name.
func OfReplicaSet(target v1alpha1.TargetReference) bool {
	return groupOf(target.APIVersion) == appsv1.GroupName && (target.Kind == KindDeployment || target.Kind == KindReplicaSet)
}

// Delete deletes a pod that is not ready and whose eviction is refused. Preconditions keep it from a pod that became ready, and from a successor.
func Delete(ctx context.Context, c client.Client, namespace string, pod rollout.Pod) error {
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod.Name}}
	err := c.Delete(ctx, object, client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.Version})
	switch {
	case err == nil, gone(err):
		return nil
	case apierrors.IsConflict(err):
		return fmt.Errorf("delete pod %s/%s: %w: %w", namespace, pod.Name, ErrChanged, err)
	}
	return fmt.Errorf("delete pod %s/%s: %w", namespace, pod.Name, err)
}

func preconditions(pod rollout.Pod) *metav1.Preconditions {
	if pod.Ready || pod.Version == "" {
		return &metav1.Preconditions{UID: &pod.UID}
	}
	return &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.Version}
}

// gone says that no pod of this name and UID exists any more. A conflict is also what a failed precondition on the resourceVersion gives, which
// the API server adds of its own for some pods, so the message must speak of the UID (k8s.io/kubernetes/pkg/registry/core/pod/storage/eviction.go,
// k8s.io/apiserver/pkg/storage, Preconditions.Check).
func gone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) && strings.Contains(err.Error(), "UID")
}

// blockedBecause is the API server's message with its causes, which name the budget.
func blockedBecause(err error) string {
	message := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			message += " " + cause.Message
		}
	}
	return message
}
