package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second))
}

func gogc(value int32) v1alpha1.RuntimeSettings {
	return v1alpha1.RuntimeSettings{GOGC: ptr.To(intstr.FromInt32(value))}
}

// samplePolicyWith has two steps of 20 seconds, a warm-up of as much, and a running trial.
func samplePolicyWith(trial *v1alpha1.Trial) *v1alpha1.RuntimeTuningPolicy {
	policy := &v1alpha1.RuntimeTuningPolicy{}
	seconds := func(n int) *metav1.Duration {
		return &metav1.Duration{Duration: time.Duration(n) * time.Second}
	}
	policy.Spec.Analysis = v1alpha1.Analysis{Interval: seconds(5), WarmUp: seconds(20)}
	policy.Spec.Rollout.Steps = []v1alpha1.Step{
		{Canary: intstr.FromInt32(1), Hold: seconds(20)}, {Canary: intstr.FromInt32(3), Hold: seconds(20)},
	}
	policy.Spec.Rollout.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	policy.Status.Trial = trial
	return policy
}

func newTrial() *v1alpha1.Trial {
	return &v1alpha1.Trial{
		Number: 1, Candidate: gogc(50), Previous: v1alpha1.Baseline{Settings: gogc(25)}, Reason: "GC is dear", Stage: v1alpha1.StageCanary,
		StartedAt: at(0), StepStartedAt: at(0),
	}
}

func passed(message string) *v1alpha1.Verdict {
	return &v1alpha1.Verdict{
		Outcome: v1alpha1.OutcomePass, Reason: v1alpha1.ReasonPassed, At: at(40),
		Checks: []v1alpha1.Check{{Name: "oom"}, {Name: "latency", Message: message}},
	}
}

// TestNarration follows a trial from its start to its end, a status at a time.
func TestNarration(t *testing.T) {
	trial := newTrial()
	var told narrator
	look := func(change func()) []string {
		change()
		var texts []string
		for _, line := range told.look(samplePolicyWith(trial)) {
			texts = append(texts, line.subject+": "+line.text)
		}
		return texts
	}
	expect := func(step string, change func(), want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, look(change)); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
		if again := look(func() {}); again != nil {
			t.Errorf("%s: told again: %q", step, again)
		}
	}
	expect("start", func() {}, "trial 1: tries GOGC=50 instead of GOGC=25. GC is dear",
		"trial 1: step 1 of 2: canary pods: 1, with control pods of the same age beside them")
	expect("open slot", func() { trial.Slots = []v1alpha1.Slot{{ID: "aaaaaaaa"}} })
	expect("taken slot", func() { trial.Slots[0].PodName = "checkout-a" }, "trial 1: pod checkout-a started with the candidate")
	expect("verified", func() { trial.VerifiedAt = ptr.To(at(10)) },
		"trial 1: verified: the processes themselves show the candidate; warming up for 20s")
	expect("warm", func() { trial.WarmAt = ptr.To(at(30)) }, "trial 1: warm: judged every 5s from now on")
	expect("judged", func() { trial.Verdict = passed("none slow") })
	expect("next step", func() { trial.Step, trial.VerifiedAt, trial.WarmAt = 1, nil, nil },
		"trial 1: step 1 of 2 passed. none slow", "trial 1: step 2 of 2: canary pods: 3, with control pods of the same age beside them")
	expect("promoted", func() { trial.Stage = v1alpha1.StagePromoting }, "trial 1: step 2 of 2 passed. none slow",
		"trial 1: PROMOTED: GOGC=50 is the new baseline; the other pods follow, 1 at a time")
	expect("reverting", func() {
		trial.Stage, trial.End = v1alpha1.StageReverting, &v1alpha1.TrialEnd{Reason: "LatencyBreached", Message: "all slow", At: at(90)}
	}, "trial 1: REVERTS: LatencyBreached. all slow")
}

func TestNarrationOfEnds(t *testing.T) {
	var told narrator
	policy := samplePolicyWith(nil)
	policy.Status.History = []v1alpha1.TrialRecord{
		{Number: 2, Candidate: v1alpha1.RuntimeSettings{GOMEMLIMIT: ptr.To(resource.MustParse("8Mi"))}, Result: v1alpha1.TrialReverted,
			Reason: v1alpha1.ReasonLatencyBreached, StartedAt: at(100), EndedAt: at(175)},
		{Number: 1, Candidate: gogc(50), Result: v1alpha1.TrialPromoted, StartedAt: at(0), EndedAt: at(90)},
	}
	policy.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: v1alpha1.ReasonTuned, Message: "nothing to gain"}}
	want := []line{
		{"trial 1", "ended after 1m30s: every pod runs GOGC=50"},
		{"trial 2", "ended after 1m15s: reverted for LatencyBreached, no pod runs GOMEMLIMIT=8MiB any more"},
		{"policy", "Tuned: nothing to gain"},
	}
	if diff := cmp.Diff(want, told.look(policy), cmp.AllowUnexported(line{})); diff != "" {
		t.Error(diff)
	}
	if again := told.look(policy); again != nil {
		t.Errorf("told again: %v", again)
	}
}

func TestOutlook(t *testing.T) {
	edit := func(change func(*v1alpha1.Trial)) *v1alpha1.RuntimeTuningPolicy {
		trial := newTrial()
		change(trial)
		return samplePolicyWith(trial)
	}
	for name, test := range map[string]struct {
		policy *v1alpha1.RuntimeTuningPolicy
		want   string
	}{
		"nothing yet": {samplePolicyWith(nil), "not looked"},
		"pods go":     {edit(func(*v1alpha1.Trial) {}), "replacing pods, until their processes show the candidate, for 35s"},
		"warming up":  {edit(func(trial *v1alpha1.Trial) { trial.VerifiedAt = ptr.To(at(20)) }), "5s left"},
		"judging":     {edit(func(trial *v1alpha1.Trial) { trial.VerifiedAt, trial.WarmAt = ptr.To(at(1)), ptr.To(at(22)) }), "judging, 7s left at least; no verdict yet"},
		"overdue":     {edit(func(trial *v1alpha1.Trial) { trial.VerifiedAt, trial.WarmAt = ptr.To(at(1)), ptr.To(at(2)) }), "0s left"},
		"fewer steps": {edit(func(trial *v1alpha1.Trial) {
			trial.Step, trial.VerifiedAt, trial.WarmAt = 7, ptr.To(at(1)), ptr.To(at(2))
		}), "step 8 of 2"},
		"waves": {edit(func(trial *v1alpha1.Trial) { trial.Stage = v1alpha1.StagePromoting }), "replacing the other pods for 35s"},
		"going back": {edit(func(trial *v1alpha1.Trial) {
			trial.Stage, trial.End = v1alpha1.StageReverting, &v1alpha1.TrialEnd{At: at(30)}
		}), "taking the canary pods back"},
	} {
		if got := outlook(test.policy, noon.Add(35*time.Second)); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestSettingsText(t *testing.T) {
	for want, settings := range map[string]v1alpha1.RuntimeSettings{
		"nothing set":                {},
		"GOGC=off":                   {GOGC: ptr.To(intstr.FromString("off"))},
		"GOGC=50, GOMEMLIMIT=461MiB": {GOGC: ptr.To(intstr.FromInt32(50)), GOMEMLIMIT: ptr.To(resource.MustParse("483183820"))},
		"GOMEMLIMIT=8MiB":            {GOMEMLIMIT: ptr.To(resource.MustParse("8Mi"))},
	} {
		if got := settingsText(settings); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
