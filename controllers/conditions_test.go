package controllers

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
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

// TestKeepFigures: figures that alone are other ones make no news; settings, reasons and words do.
func TestKeepFigures(t *testing.T) {
	policy := &v1alpha1.RuntimeTuningPolicy{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
	at := metav1.NewTime(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	first := *unwell(v1alpha1.ReasonCPUThrottled, "the CPU limit throttles the pods in 6.0% of its periods at GOGC=50, for 1.5ms").asMeasured()
	summarize(policy, first, at)
	for _, test := range []struct {
		name    string
		summary summary
		keeps   bool
	}{
		{"other figures", *unwell(first.reason, "the CPU limit throttles the pods in 12.3% of its periods at GOGC=50, for 21.07s").asMeasured(), true},
		{"figures that are not measured", unwell(first.reason, "the CPU limit throttles the pods in 12.3% of its periods at GOGC=50, for 21.07s"), false},
		{"another setting", *unwell(first.reason, "the CPU limit throttles the pods in 6.0% of its periods at GOGC=75, for 1.5ms").asMeasured(), false},
		{"other words", *unwell(first.reason, "the CPU limit throttled the pods in 6.0% of its periods at GOGC=50, for 1.5ms").asMeasured(), false},
		{"another reason", *unwell(v1alpha1.ReasonLeakSuspected, "the CPU limit throttles the pods in 7.0% of its periods at GOGC=50, for 1.5ms").asMeasured(), false},
	} {
		changed := policy.DeepCopy()
		summarize(changed, test.summary, at)
		if kept := equality.Semantic.DeepEqual(policy.Status, changed.Status); kept != test.keeps {
			t.Errorf("%s: kept is %t, want %t", test.name, kept, test.keeps)
		}
	}
	policy.Generation = 4
	changed := policy.DeepCopy()
	summarize(changed, *unwell(first.reason, "the CPU limit throttles the pods in 9.0% of its periods at GOGC=50, for 1.5ms").asMeasured(), at)
	if got := changed.Status.Conditions[0].Message; !strings.Contains(got, "9.0%") {
		t.Errorf("the message of another spec is kept: %q", got)
	}
}
