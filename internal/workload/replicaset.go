package workload

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// loadReplicaSet reads one that stands for itself. One that something controls is that one's affair.
func loadReplicaSet(ctx context.Context, reader Reader, policy *v1alpha1.RuntimeTuningPolicy) (owner, []corev1.Pod, error) {
	var set appsv1.ReplicaSet
	if err := fetch(ctx, reader, policy, &set); err != nil {
		return owner{}, nil, err
	}
	if above := metav1.GetControllerOf(&set); above != nil {
		return owner{}, nil, &Refusal{v1alpha1.ReasonInvalidSpec, fmt.Sprintf("ReplicaSet %s belongs to %s %s: delete this policy, and name that in another",
			set.Name, above.Kind, above.Name)}
	}
	_, pods, err := selectPods(ctx, reader, policy, set.Spec.Selector)
	return ofReplicaSet(&set, pods), pods, err
}

// ofReplicaSet is pure.
func ofReplicaSet(set *appsv1.ReplicaSet, pods []corev1.Pod) owner {
	replicas := ptr.Deref(set.Spec.Replicas, 1)
	facts := Target{
		UID: set.UID, Replicas: replicas, Revision: set.UID, RollingOut: set.Status.ObservedGeneration < set.Generation,
		Scaling: set.Status.Replicas != replicas,
	}
	owner := owner{Target: facts, called: KindReplicaSet + " " + set.Name, template: &set.Spec.Template}
	owner.revision = func(pod *corev1.Pod) types.UID {
		if !metav1.IsControlledBy(pod, set) {
			return ""
		}
		return set.UID
	}
	owner.watchImages(pods)
	return owner
}

// watchImages tells pods of an older template where no revision does: they stay when it changes, and run other images. What else the template
// says of a pod, admission may have changed.
func (o *owner) watchImages(pods []corev1.Pod) {
	declared := map[string]string{}
	for _, container := range o.template.Spec.Containers {
		declared[container.Name] = container.Image
	}
	outdated := func(pod *corev1.Pod) bool {
		for _, container := range pod.Spec.Containers {
			if image, ok := declared[container.Name]; ok && image != container.Image {
				return true
			}
		}
		return false
	}
	revision := o.revision
	o.successor = func(pod *corev1.Pod) types.UID {
		if outdated(pod) {
			return ""
		}
		return revision(pod)
	}
	count := 0
	for i := range pods {
		if pod := &pods[i]; revision(pod) != "" && pod.DeletionTimestamp == nil && outdated(pod) {
			count++
		}
	}
	if count > 0 {
		o.RollingOut = true
		o.PendingUpdate = fmt.Sprintf("pods of %s that run another image than its template says: %d; delete those pods, or take the change back", o.called, count)
	}
}
