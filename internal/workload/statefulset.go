package workload

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func loadStatefulSet(ctx context.Context, reader Reader, policy *v1alpha1.RuntimeTuningPolicy) (owner, []corev1.Pod, error) {
	var set appsv1.StatefulSet
	if err := fetch(ctx, reader, policy, &set); err != nil {
		return owner{}, nil, err
	}
	_, pods, err := selectPods(ctx, reader, policy, set.Spec.Selector)
	return ofStatefulSet(&set, pods), pods, err
}

// ofStatefulSet is pure. A pod's revision is the name of its ControllerRevision, which the status names as well. That status.currentRevision
// lags behind says little where updates wait for a deletion: its controller never sets it then (k8s.io/kubernetes/pkg/controller/
// statefulset/stateful_set_utils.go, completeRollingUpdate). So the pods are asked.
func ofStatefulSet(set *appsv1.StatefulSet, pods []corev1.Pod) owner {
	status, replicas := set.Status, ptr.Deref(set.Spec.Replicas, 1)
	update := types.UID(status.UpdateRevision)
	revision := revisionUnder(set)
	others := countUnlike(pods, revision, update)
	onDelete, staged := set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType, partitionOf(set) > 0
	updating := !onDelete && status.CurrentRevision != status.UpdateRevision
	facts := Target{
		UID: set.UID, Replicas: replicas, Revision: update, StableNames: true, InOrder: set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement,
		RollingOut: status.ObservedGeneration < set.Generation || update == "" || others > 0 || updating,
		Scaling:    status.Replicas != replicas,
	}
	called := KindStatefulSet + " " + set.Name
	switch {
	case onDelete && others > 0:
		facts.PendingUpdate = pendingDeletion(called, others)
	case staged && updating:
		facts.PendingUpdate = fmt.Sprintf("an update of %s stops at partition %d: set its updateStrategy.rollingUpdate.partition to 0, or take the update back",
			called, partitionOf(set))
	}
	return owner{Target: facts, called: called, template: &set.Spec.Template, revision: revision, successor: successorIn(set, revision)}
}

// pendingDeletion is what OnDelete makes of an update.
func pendingDeletion(called string, pods int) string {
	return fmt.Sprintf("pods of %s that are of an older template: %d; its updateStrategy is OnDelete: delete those pods, or take the update back", called, pods)
}

// revisionUnder reads the revision of pods that a workload controls itself.
func revisionUnder(controller metav1.Object) func(*corev1.Pod) types.UID {
	return func(pod *corev1.Pod) types.UID {
		if !metav1.IsControlledBy(pod, controller) {
			return ""
		}
		return revisionLabel(pod)
	}
}

// countUnlike counts the pods of another revision than the current one, those that are going left out.
func countUnlike(pods []corev1.Pod, revision func(*corev1.Pod) types.UID, current types.UID) int {
	count := 0
	for i := range pods {
		if of := revision(&pods[i]); of != "" && of != current && pods[i].DeletionTimestamp == nil {
			count++
		}
	}
	return count
}

func partitionOf(set *appsv1.StatefulSet) int {
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return 0
	}
	return int(ptr.Deref(rolling.Partition, 0))
}

// successorIn gives the revision that a pod's successor would have (newVersionedStatefulSetPod in the file that is named above). A pod that the
// rolling update will replace by itself counts as if it were of that revision already: its successor comes anyway.
func successorIn(set *appsv1.StatefulSet, revision func(*corev1.Pod) types.UID) func(*corev1.Pod) types.UID {
	first := 0
	if set.Spec.Ordinals != nil {
		first = int(set.Spec.Ordinals.Start)
	}
	return func(pod *corev1.Pod) types.UID {
		switch {
		case set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType:
			return types.UID(set.Status.UpdateRevision)
		case ordinalOf(pod) < first+partitionOf(set):
			return types.UID(set.Status.CurrentRevision)
		}
		return revision(pod)
	}
}

// ordinalOf is the number that a StatefulSet's pod has at the end of its name.
func ordinalOf(pod *corev1.Pod) int {
	ordinal, err := strconv.Atoi(pod.Name[strings.LastIndex(pod.Name, "-")+1:])
	if err != nil {
		return 0
	}
	return ordinal
}
