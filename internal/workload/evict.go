package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/internal/rollout"
)

// ErrBlocked says that a pod may not be evicted now, most often because of a PodDisruptionBudget. Try again later.
var ErrBlocked = errors.New("the API server does not allow it now")

// evictTimeout bounds an eviction. Where the API server answers 429 with a time to wait, as it does while a budget is being processed, the client
// waits and asks again, ten times over (client-go, rest.Request); and the API server itself tries ten seconds to evict a pending pod whose UID
// is another (EvictionsRetry in the file named at gone).
const evictTimeout = 5 * time.Second

var errNoAnswer = fmt.Errorf("no final answer within %s: a PodDisruptionBudget may be new, or the API server slow", evictTimeout)

// Evict asks the API server to evict a pod, by name and UID: a successor that took over the name is left alone. That the pod is gone already is
// success. An error that is ErrBlocked says why.
func Evict(ctx context.Context, c client.Client, namespace string, pod rollout.Pod) error {
	ctx, cancel := context.WithTimeoutCause(ctx, evictTimeout, errNoAnswer)
	defer cancel()
	uid := pod.UID
	meta := metav1.ObjectMeta{Namespace: namespace, Name: pod.Name}
	eviction := &policyv1.Eviction{
		ObjectMeta:    meta,
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
	}
	err := c.SubResource("eviction").Create(ctx, &corev1.Pod{ObjectMeta: meta}, eviction)
	switch {
	case err == nil, gone(err):
		return nil
	case apierrors.IsTooManyRequests(err):
		return fmt.Errorf("evict pod %s/%s: %w: %s", namespace, pod.Name, ErrBlocked, blockedBecause(err))
	case errors.Is(context.Cause(ctx), errNoAnswer):
		return fmt.Errorf("evict pod %s/%s: %w: %w", namespace, pod.Name, ErrBlocked, errNoAnswer)
	default:
		return fmt.Errorf("evict pod %s/%s: %w", namespace, pod.Name, err)
	}
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
