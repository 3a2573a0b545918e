package workload

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
)

const reasonOOMKilled = "OOMKilled"

// podsOf keeps the owner's pods. Finished pods are left out: nothing runs in them, others have replaced them, and they may lie about for
// days (an eviction by the kubelet leaves them as Failed).
func (o owner) podsOf(pods []corev1.Pod, container string) []rollout.Pod {
	var kept []rollout.Pod
	for i := range pods {
		pod := &pods[i]
		revision := o.revision(pod)
		finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if revision == "" || finished {
			continue
		}
		facts := podFacts(pod, revision, container)
		facts.HandedOver = o.handedOver != nil && o.handedOver(pod)
		facts.Pinned = o.successor != nil && o.successor(pod) != revision
		kept = append(kept, facts)
	}
	slices.SortFunc(kept, func(a, b rollout.Pod) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Name, b.Name))
	})
	return kept
}

// remember keeps what a later write to one of the pods must not lose.
func (t *Target) remember(pods []corev1.Pod) {
	t.owners, t.costs = map[types.UID][]metav1.OwnerReference{}, map[types.UID]string{}
	for i := range pods {
		pod := &pods[i]
		t.owners[pod.UID] = pod.OwnerReferences
		if cost, set := pod.Annotations[corev1.PodDeletionCost]; set {
			t.costs[pod.UID] = cost
		}
	}
}

func podFacts(pod *corev1.Pod, revision types.UID, container string) rollout.Pod {
	facts := rollout.Pod{
		UID:         pod.UID,
		Name:        pod.Name,
		Version:     pod.ResourceVersion,
		Revision:    revision,
		CreatedAt:   pod.CreationTimestamp.Time,
		Node:        pod.Spec.NodeName,
		DropFirst:   pod.Annotations[corev1.PodDeletionCost] == dropFirst,
		Terminating: pod.DeletionTimestamp != nil,
		Given:       pod.Annotations[v1alpha1.AnnotationSettings] != "",
		Cohort:      pod.Labels[v1alpha1.LabelCohort],
		Health:      health(pod, container),
	}
	if facts.Ready && !restarted(pod) {
		facts.FirstReadyAt = facts.ReadyChangedAt
	}
	tuned := containerOf(pod, container)
	if tuned == nil {
		facts.Unreadable = fmt.Sprintf("there is no container %q", container)
		return facts
	}
	facts.MemoryLimitBytes = tuned.Resources.Limits.Memory().Value()
	var err error
	if facts.Settings, err = settings.Declared(tuned); err != nil {
		facts.Unreadable = err.Error()
	}
	return facts
}

func containerOf(pod *corev1.Pod, name string) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}

// restarted says that a container which the pod's readiness hangs on has started more than once. An init container that has ended is none, however
// often it failed before: the pod was not Ready yet. One that still runs is a sidecar (KEP-753).
func restarted(pod *corev1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].RestartCount > 0 {
			return true
		}
	}
	for i := range pod.Status.InitContainerStatuses {
		status := &pod.Status.InitContainerStatuses[i]
		if status.RestartCount > 0 && status.State.Terminated == nil {
			return true
		}
	}
	return false
}

func health(pod *corev1.Pod, container string) verdict.Health {
	var health verdict.Health
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			health.Ready = condition.Status == corev1.ConditionTrue
			health.ReadyChangedAt = condition.LastTransitionTime.Time
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.Name == container {
			health.Restarts = status.RestartCount
			health.OOMKilled = killedForMemory(status.State) || killedForMemory(status.LastTerminationState)
		}
	}
	return health
}

func killedForMemory(state corev1.ContainerState) bool {
	return state.Terminated != nil && state.Terminated.Reason == reasonOOMKilled
}
