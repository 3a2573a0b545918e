package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// newStatefulSet of two replicas is settled.
func newStatefulSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "checkout", Namespace: "shop", UID: "set", Generation: 3},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: appLabels}, Template: podTemplate(),
			PodManagementPolicy: appsv1.OrderedReadyPodManagement,
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](0)},
			},
		},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 3, Replicas: 2, CurrentRevision: "checkout-new", UpdateRevision: "checkout-new"},
	}
}

// podUnder is a pod that a workload controls itself.
func podUnder(owner client.Object, kind, name, revision string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: owner.GetNamespace(), Labels: map[string]string{"app": "checkout", appsv1.ControllerRevisionHashLabelKey: revision},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(kind))},
		},
		Spec: podTemplate().Spec,
	}
}

// described are the names of pods with their revisions; those in brackets are pinned.
func described(target Target) []string {
	var found []string
	for _, pod := range target.Pods {
		text := pod.Name + " of " + string(pod.Revision)
		if pod.Pinned {
			text = "[" + text + "]"
		}
		found = append(found, text)
	}
	return found
}

func onDelete(set *appsv1.StatefulSet) {
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
}

func partition(set *appsv1.StatefulSet, at int32) {
	set.Spec.UpdateStrategy.RollingUpdate.Partition = &at
}

func TestOfStatefulSet(t *testing.T) {
	updating := func(set *appsv1.StatefulSet) { set.Status.CurrentRevision = "checkout-old" }
	for name, test := range map[string]struct {
		change func(*appsv1.StatefulSet)
		// revisions of the pods 0 and 1; checkout-new where they are not told.
		revisions []string
		want      func(*Target)
		pods      []string
		pending   string
	}{
		"settled": {},
		"one replica where none is said": {
			change: func(set *appsv1.StatefulSet) { set.Spec.Replicas, set.Status.Replicas = nil, 1 },
			want:   func(target *Target) { target.Replicas = 1 },
		},
		"scaling":       {change: func(set *appsv1.StatefulSet) { set.Status.Replicas = 1 }, want: func(target *Target) { target.Scaling = true }},
		"all at a time": {change: func(set *appsv1.StatefulSet) { set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }, want: func(target *Target) { target.InOrder = false }},
		"its controller has not seen the last change": {
			change: func(set *appsv1.StatefulSet) { set.Generation = 4 }, want: func(target *Target) { target.RollingOut = true },
		},
		"new": {
			change: func(set *appsv1.StatefulSet) {
				set.Status = appsv1.StatefulSetStatus{Replicas: 2, ObservedGeneration: 3}
			},
			want: func(target *Target) { target.Revision, target.RollingOut = "", true },
		},
		"rolling out": {
			change: updating, revisions: []string{"checkout-old", "checkout-new"}, want: func(target *Target) { target.RollingOut = true },
			pods: []string{"checkout-0 of checkout-old", "checkout-1 of checkout-new"},
		},
		"all pods are new, and not all Ready": {change: updating, want: func(target *Target) { target.RollingOut = true }},
		"stopped at a partition": {
			change:    func(set *appsv1.StatefulSet) { updating(set); partition(set, 1) },
			revisions: []string{"checkout-old", "checkout-new"}, want: func(target *Target) { target.RollingOut = true },
			pods: []string{"checkout-0 of checkout-old", "checkout-1 of checkout-new"}, pending: "partition 1",
		},
		"a pod under the partition is new already": {
			change: func(set *appsv1.StatefulSet) { updating(set); partition(set, 1) }, want: func(target *Target) { target.RollingOut = true },
			pods: []string{"[checkout-0 of checkout-new]", "checkout-1 of checkout-new"}, pending: "partition 1",
		},
		"a partition counts from the first ordinal": {
			change: func(set *appsv1.StatefulSet) {
				updating(set)
				partition(set, 1)
				set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 1}
			},
			want: func(target *Target) { target.RollingOut = true },
			pods: []string{"[checkout-0 of checkout-new]", "[checkout-1 of checkout-new]"}, pending: "partition 1",
		},
		"a partition, and nothing to update": {change: func(set *appsv1.StatefulSet) { partition(set, 2) }},
		"updated on deletion": {
			change:    func(set *appsv1.StatefulSet) { updating(set); onDelete(set) },
			revisions: []string{"checkout-old", "checkout-new"}, want: func(target *Target) { target.RollingOut = true },
			pods: []string{"[checkout-0 of checkout-old]", "checkout-1 of checkout-new"}, pending: "StatefulSet checkout that are of an older template: 1;",
		},
		"all were deleted, and the status lags for ever": {change: func(set *appsv1.StatefulSet) { updating(set); onDelete(set) }},
	} {
		t.Run(name, func(t *testing.T) {
			set := newStatefulSet()
			if test.change != nil {
				test.change(set)
			}
			if test.revisions == nil {
				test.revisions = []string{"checkout-new", "checkout-new"}
			}
			stranger := podUnder(newStatefulSet(), "StatefulSet", "checkout-2", "checkout-old")
			stranger.OwnerReferences[0].UID = "other"
			pods := []corev1.Pod{
				podUnder(set, "StatefulSet", "checkout-0", test.revisions[0]), podUnder(set, "StatefulSet", "checkout-1", test.revisions[1]), stranger,
			}
			got, err := assemble(newPolicy(""), ofStatefulSet(set, pods), pods)
			if err != nil {
				t.Fatal(err)
			}
			if test.pods == nil {
				test.pods = []string{"checkout-0 of checkout-new", "checkout-1 of checkout-new"}
			}
			if diff := cmp.Diff(test.pods, described(got)); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
			if (got.PendingUpdate != "") != (test.pending != "") || !strings.Contains(got.PendingUpdate, test.pending) {
				t.Errorf("pending update %q, want %q", got.PendingUpdate, test.pending)
			}
			want := Target{UID: "set", Replicas: 2, Container: "app", Revision: "checkout-new", StableNames: true, InOrder: true}
			if test.want != nil {
				test.want(&want)
			}
			got.Pods, got.PendingUpdate = nil, ""
			if diff := cmp.Diff(want, got, ignoreUnexported); diff != "" {
				t.Errorf("target (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLoadStatefulSet reads what a real API server returns.
func TestLoadStatefulSet(t *testing.T) {
	c, namespace := cluster(t)
	policy := newPolicy("")
	policy.Namespace, policy.Spec.TargetRef.Kind = namespace, "StatefulSet"
	_, err := Load(t.Context(), c, policy)
	checkRefusal(t, err, v1alpha1.ReasonTargetNotFound, "StatefulSet "+namespace+"/checkout")

	set := newStatefulSet()
	set.Namespace, set.UID, set.Generation = namespace, "", 0
	set.Spec.PodManagementPolicy, set.Spec.UpdateStrategy = "", appsv1.StatefulSetUpdateStrategy{} // as the API server fills them in
	status := set.Status
	create(t, c, set)
	set.Status = status
	if err := c.Status().Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	for name, revision := range map[string]string{"checkout-0": "checkout-new", "checkout-1": "checkout-old"} {
		pod := podUnder(set, "StatefulSet", name, revision)
		create(t, c, &pod)
	}
	got, err := Load(t.Context(), c, policy)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"checkout-0 of checkout-new", "checkout-1 of checkout-old"}, described(got)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	got.Pods = nil
	want := Target{UID: set.UID, Replicas: 2, Container: "app", Revision: "checkout-new", RollingOut: true, StableNames: true, InOrder: true}
	if diff := cmp.Diff(want, got, ignoreUnexported); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
}
