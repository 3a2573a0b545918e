package controllers

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// TestConditions holds the shape that kstatus reads: Ready always; Reconciling and Stalled only while True, never both.
func TestConditions(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		summary
		reconciling, stalled bool
	}{
		{summary: well("Tuned", "all is well")},
		{summary: underWay("TrialRunning", "it tries"), reconciling: true},
		{summary: unwell("NoTraffic", "it is quiet")},
		{summary: stalled("Conflicted", "there are two"), stalled: true},
		{summary: underWay("Reverting", "it goes back"), reconciling: true},
		{summary: well("Tuned", "all is well")},
	}
	policy := newPolicy("policy")
	policy.Generation = 7
	for i, test := range tests {
		at := metav1.NewTime(noon.Add(time.Duration(i) * time.Hour))
		summarize(policy, test.summary, at)
		want := map[string]metav1.ConditionStatus{v1alpha1.ConditionReady: test.status}
		if test.reconciling {
			want[v1alpha1.ConditionReconciling] = metav1.ConditionTrue
		}
		if test.stalled {
			want[v1alpha1.ConditionStalled] = metav1.ConditionTrue
		}
		if len(policy.Status.Conditions) != len(want) || policy.Status.ObservedGeneration != 7 {
			t.Errorf("%s: %s", test.reason, dump(policy.Status))
		}
		for kind, status := range want {
			got := meta.FindStatusCondition(policy.Status.Conditions, kind)
			if got == nil || got.Status != status || got.Reason != test.reason || got.Message != test.message || got.ObservedGeneration != 7 {
				t.Errorf("%s: %s is %s", test.reason, kind, dump(got))
			}
		}
		if reasonOf(policy) != test.reason {
			t.Errorf("the reason is %s, want %s", reasonOf(policy), test.reason)
		}
		before := dump(policy.Status)
		summarize(policy, test.summary, metav1.NewTime(at.Add(time.Minute)))
		if after := dump(policy.Status); after != before {
			t.Errorf("%s said again: %s, before %s", test.reason, after, before)
		}
	}
	if got := reasonOf(newPolicy("new")); got != "" {
		t.Errorf("a policy that nobody looked at says %s", got)
	}
}
