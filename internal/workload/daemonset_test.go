package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// newDaemonSet on two nodes is settled.
func newDaemonSet() *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "checkout", Namespace: "shop", UID: "set", Generation: 3},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: appLabels}, Template: podTemplate(),
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType},
		},
		Status: appsv1.DaemonSetStatus{ObservedGeneration: 3, DesiredNumberScheduled: 2, CurrentNumberScheduled: 2},
	}
}

func revisionNumbered(set *appsv1.DaemonSet, hash string, number int64) appsv1.ControllerRevision {
	return appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: set.Name + "-" + hash, Namespace: set.Namespace, Labels: map[string]string{"app": "checkout", appsv1.DefaultDaemonSetUniqueLabelKey: hash},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
		},
		Data:     runtime.RawExtension{Raw: []byte("{}")},
		Revision: number,
	}
}

func TestOfDaemonSet(t *testing.T) {
	deletes := func(set *appsv1.DaemonSet) { set.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType }
	for name, test := range map[string]struct {
		change func(*appsv1.DaemonSet)
		// revisions, the old one first; both where none are told.
		revisions []int64
		// old says that the first pod is of the old revision.
		old     bool
		want    func(*Target)
		pods    []string
		pending string
	}{
		"settled": {},
		"no revision yet": {
			revisions: []int64{}, want: func(target *Target) { target.Revision, target.RollingOut = "", true },
		},
		"the old one came back": {
			revisions: []int64{3, 2}, want: func(target *Target) { target.Revision, target.RollingOut = "old", true },
		},
		"a node more": {
			change: func(set *appsv1.DaemonSet) { set.Status.DesiredNumberScheduled = 3 },
			want:   func(target *Target) { target.Replicas, target.Scaling = 3, true },
		},
		"its controller has not seen the last change": {
			change: func(set *appsv1.DaemonSet) { set.Generation = 4 }, want: func(target *Target) { target.RollingOut = true },
		},
		"rolling out": {
			old: true, want: func(target *Target) { target.RollingOut = true }, pods: []string{"checkout-a of old", "checkout-b of new"},
		},
		"updated on deletion": {
			change: deletes, old: true, want: func(target *Target) { target.RollingOut = true },
			pods: []string{"[checkout-a of old]", "checkout-b of new"}, pending: "DaemonSet checkout that are of an older template: 1;",
		},
		"all were deleted": {change: deletes},
	} {
		t.Run(name, func(t *testing.T) {
			set := newDaemonSet()
			if test.change != nil {
				test.change(set)
			}
			if test.revisions == nil {
				test.revisions = []int64{1, 2}
			}
			other := newDaemonSet()
			other.UID = "other"
			revisions := []appsv1.ControllerRevision{revisionNumbered(other, "foreign", 9)}
			for i, number := range test.revisions {
				revisions = append(revisions, revisionNumbered(set, []string{"old", "new"}[i], number))
			}
			first := "new"
			if test.old {
				first = "old"
			}
			pods := []corev1.Pod{podUnder(set, "DaemonSet", "checkout-a", first), podUnder(set, "DaemonSet", "checkout-b", "new"), podUnder(other, "DaemonSet", "checkout-c", "foreign")}
			got, err := assemble(newPolicy(""), ofDaemonSet(set, revisions, pods), pods)
			if err != nil {
				t.Fatal(err)
			}
			if test.pods == nil {
				test.pods = []string{"checkout-a of new", "checkout-b of new"}
			}
			if diff := cmp.Diff(test.pods, described(got)); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
			if (got.PendingUpdate != "") != (test.pending != "") || !strings.Contains(got.PendingUpdate, test.pending) {
				t.Errorf("pending update %q, want %q", got.PendingUpdate, test.pending)
			}
			want := Target{UID: "set", Replicas: 2, Container: "app", Revision: "new"}
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

// TestLoadDaemonSet reads what a real API server returns.
func TestLoadDaemonSet(t *testing.T) {
	c, namespace := cluster(t)
	policy := newPolicy("")
	policy.Namespace, policy.Spec.TargetRef.Kind = namespace, "DaemonSet"
	_, err := Load(t.Context(), c, policy)
	checkRefusal(t, err, v1alpha1.ReasonTargetNotFound, "DaemonSet "+namespace+"/checkout")

	set := newDaemonSet()
	set.Namespace, set.UID, set.Generation = namespace, "", 0
	status := set.Status
	create(t, c, set)
	set.Status = status
	if err := c.Status().Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	for hash, number := range map[string]int64{"old": 1, "new": 2} {
		revision := revisionNumbered(set, hash, number)
		create(t, c, &revision)
	}
	for name, revision := range map[string]string{"checkout-a": "new", "checkout-b": "old"} {
		pod := podUnder(set, "DaemonSet", name, revision)
		create(t, c, &pod)
	}
	got, err := Load(t.Context(), c, policy)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"checkout-a of new", "checkout-b of old"}, described(got)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	got.Pods = nil
	want := Target{UID: set.UID, Replicas: 2, Container: "app", Revision: "new", RollingOut: true}
	if diff := cmp.Diff(want, got, ignoreUnexported); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
}
