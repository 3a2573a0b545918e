package workload

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// loadDaemonSet lists the pods before the revisions, so that a pod's revision is never too new to be known.
func loadDaemonSet(ctx context.Context, reader Reader, policy *v1alpha1.RuntimeTuningPolicy) (owner, []corev1.Pod, error) {
	var set appsv1.DaemonSet
	if err := fetch(ctx, reader, policy, &set); err != nil {
		return owner{}, nil, err
	}
	selected, pods, err := selectPods(ctx, reader, policy, set.Spec.Selector)
	if err != nil {
		return owner{}, nil, err
	}
	var revisions appsv1.ControllerRevisionList
	if err := reader.List(ctx, &revisions, selected...); err != nil {
		return owner{}, nil, fmt.Errorf("list the ControllerRevisions of DaemonSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	return ofDaemonSet(&set, revisions.Items, pods), pods, nil
}

// ofDaemonSet is pure. Its status does not name the current revision: that is the newest, and the number of one that comes back is raised
// (k8s.io/kubernetes/pkg/controller/daemon/update.go, constructHistory and dedupCurHistories).
func ofDaemonSet(set *appsv1.DaemonSet, revisions []appsv1.ControllerRevision, pods []corev1.Pod) owner {
	status, current := set.Status, newest(set, revisions)
	revision := revisionUnder(set)
	others := countUnlike(pods, revision, current)
	facts := Target{
		UID: set.UID, Replicas: status.DesiredNumberScheduled, Revision: current,
		RollingOut: status.ObservedGeneration < set.Generation || current == "" || others > 0,
		Scaling:    status.CurrentNumberScheduled != status.DesiredNumberScheduled,
	}
	called := KindDaemonSet + " " + set.Name
	owner := owner{Target: facts, called: called, template: &set.Spec.Template, revision: revision}
	if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		owner.successor = func(*corev1.Pod) types.UID { return current }
		if others > 0 {
			owner.PendingUpdate = pendingDeletion(called, others)
		}
	}
	return owner
}

func newest(set *appsv1.DaemonSet, revisions []appsv1.ControllerRevision) types.UID {
	latest, found := int64(0), ""
	for i := range revisions {
		if one := &revisions[i]; metav1.IsControlledBy(one, set) && one.Revision > latest {
			latest, found = one.Revision, one.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		}
	}
	return types.UID(found)
}
