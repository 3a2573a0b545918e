package controllers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/workload"
)

func inStrategy(strategy v1alpha1.Strategy) func(*v1alpha1.RuntimeTuningPolicy) {
	return func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Strategy = strategy }
}

// TestSweep: every rung is measured, the best is tried, promoted, and the table stays.
func TestSweep(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(func(policy *v1alpha1.RuntimeTuningPolicy) {
		inStrategy(v1alpha1.Strategy{Type: v1alpha1.StrategySweep, Sweep: &v1alpha1.SweepStrategy{Ladder: []int32{35, 50, 100}}})(policy)
		policy.Spec.Schedule.Cooldown = seconds(0)
	})
	policy := w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool {
		return ended(policy) && policy.Status.History[0].Result == v1alpha1.TrialPromoted
	})
	sweep := policy.Status.Sweep
	if sweep == nil || len(sweep.Rungs) != 4 || sweep.Picked == nil || *sweep.Picked != 100 {
		t.Fatalf("the table is %s", dump(sweep))
	}
	for i, rung := range sweep.Rungs {
		if rung.GOGC != []int32{25, 35, 50, 100}[i] || rung.Result != v1alpha1.ReasonMeasured || rung.GCCPUPerRequest == "" || rung.AgainstModel != "" {
			t.Errorf("rung %d is %s", i, dump(rung))
		}
	}
	if got := w.running("100"); got != 6 {
		t.Errorf("%d pods run the best rung, want 6: %v", got, w.gogc())
	}
	measured := 0
	for _, record := range policy.Status.History {
		if record.Purpose == v1alpha1.PurposeMeasure && record.Result == v1alpha1.TrialMeasured {
			measured++
		}
	}
	if measured != 4 || policy.Status.Trials != 5 {
		t.Errorf("%d of %d trials measured a rung: %s", measured, policy.Status.Trials, dump(policy.Status.History))
	}
	trials := policy.Status.Trials
	w.pass(time.Hour)
	if policy := w.rest(); policy.Status.Trials != trials || policy.Status.Sweep == nil {
		t.Errorf("with a picked rung promoted it goes on: %s", dump(policy.Status))
	}
}

// TestSweepOfWhatHarms: a rung that breaks an objective goes back, has its reason in the table, and is not picked.
func TestSweepOfWhatHarms(t *testing.T) {
	w := newWorldInMemory(t)
	w.prometheus.alter = breach("100")
	w.tune(func(policy *v1alpha1.RuntimeTuningPolicy) {
		inStrategy(v1alpha1.Strategy{Type: v1alpha1.StrategySweep, Sweep: &v1alpha1.SweepStrategy{Ladder: []int32{50, 100}}})(policy)
		policy.Spec.Schedule.Cooldown = seconds(0)
	})
	policy := w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool {
		return ended(policy) && policy.Status.History[0].Result == v1alpha1.TrialPromoted
	})
	sweep := policy.Status.Sweep
	if sweep == nil || len(sweep.Rungs) != 3 || sweep.Rungs[2].Result != v1alpha1.ReasonLatencyBreached || sweep.Picked == nil || *sweep.Picked != 50 {
		t.Errorf("the table is %s", dump(sweep))
	}
}

// TestCalibration: the baseline against itself gains nothing; what it showed of the pods is kept, and it is not run again.
func TestCalibration(t *testing.T) {
	w := newWorldInMemory(t)
	factor := 1.0
	w.prometheus.alter = func(_ string, pod *signal.Pod) {
		if factor += 0.01; factor > 1.06 {
			factor = 1
		}
		pod.RequestSeconds = present(pod.RequestSeconds.Number * factor)
	}
	w.tune(inStrategy(v1alpha1.Strategy{Type: v1alpha1.StrategyCalibrate}))
	policy := w.run(ended)
	record, calibration := policy.Status.History[0], policy.Status.Calibration
	if record.Purpose != v1alpha1.PurposeCalibrate || record.Reason != v1alpha1.ReasonNoGain || record.Result != v1alpha1.TrialReverted {
		t.Errorf("the record is %s", dump(record))
	}
	if calibration == nil || calibration.Pods != 6 {
		t.Fatalf("the calibration is %s", dump(calibration))
	}
	if diff := cmp.Diff(policy.Status.Target.Footing, calibration.Footing); diff != "" {
		t.Errorf("the calibration's footing is not the target's: %s", diff)
	}
	if !slices.ContainsFunc(calibration.Spreads, func(spread v1alpha1.Spread) bool {
		return spread.Signal == v1alpha1.SignalRequestLatency && spread.PodSpread != "0%" && spread.PodSpread != ""
	}) {
		t.Errorf("the spreads are %s", dump(calibration.Spreads))
	}
	if got := w.running("25"); got != 6 {
		t.Errorf("%d pods run the baseline, want 6: %v", got, w.gogc())
	}
	if len(policy.Status.Rejected) > 0 {
		t.Errorf("the baseline is rejected: %s", dump(policy.Status.Rejected))
	}
	w.pass(2 * time.Hour)
	if policy := w.rest(); policy.Status.Trials != 1 || reasonOf(policy) != v1alpha1.ReasonTuned {
		t.Errorf("it calibrates again: %s", dump(policy.Status))
	}
}

// TestCalibrationOfAnotherFooting: what was measured under other limits, or with other declared values, settles no margins, and is no reason not
// to calibrate.
func TestCalibrationOfAnotherFooting(t *testing.T) {
	footing := settings.Footing{Declared: settings.Settings{GOGC: 25}, MemoryLimitBytes: 1 << 30, CPULimitMilli: 2000}
	moved := func(change func(*settings.Footing)) v1alpha1.Footing {
		other := footing
		change(&other)
		return other.API()
	}
	tests := map[string]struct {
		on   v1alpha1.Footing
		want bool
	}{
		"the same":             {footing.API(), true},
		"another memory limit": {moved(func(f *settings.Footing) { f.MemoryLimitBytes *= 2 }), false},
		"no CPU limit":         {moved(func(f *settings.Footing) { f.CPULimitMilli = 0 }), false},
		"another GOGC":         {moved(func(f *settings.Footing) { f.Declared.GOGC = 50 }), false},
		"of an older version":  {v1alpha1.Footing{}, false},
	}
	for name, test := range tests {
		spreads := []v1alpha1.Spread{{Signal: v1alpha1.SignalRequestLatency, PodSpread: "3%"}}
		p := &pass{target: workload.Target{Footing: footing}, policy: &v1alpha1.RuntimeTuningPolicy{Status: v1alpha1.RuntimeTuningPolicyStatus{
			Calibration: &v1alpha1.Calibration{Footing: test.on, Pods: 6, Spreads: spreads},
		}}}
		if got := p.spreads(measurement{}); len(got) > 0 != test.want {
			t.Errorf("%s: the spreads are %v", name, got)
		}
		if got := p.calibrated(); got != test.want {
			t.Errorf("%s: calibrated is %t", name, got)
		}
	}
}

// TestCalibrationAgain: a person who asks for it after other trials gets another one.
func TestCalibrationAgain(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(func(policy *v1alpha1.RuntimeTuningPolicy) {
		inStrategy(v1alpha1.Strategy{Type: v1alpha1.StrategyCalibrate})(policy)
		policy.Spec.Schedule.Cooldown = seconds(0)
	})
	calibrated := w.run(ended).Status.Calibration
	if calibrated == nil {
		t.Fatal("nothing is calibrated")
	}
	w.edit(inStrategy(v1alpha1.Strategy{Type: v1alpha1.StrategyFeedback}))
	w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool {
		return policy.Status.Trial == nil && policy.Status.Trials == 2
	})
	w.edit(inStrategy(v1alpha1.Strategy{Type: v1alpha1.StrategyCalibrate}))
	policy := w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool {
		return policy.Status.Trial == nil && policy.Status.Trials == 3
	})
	if again := policy.Status.Calibration; !again.At.After(calibrated.At.Time) {
		t.Errorf("the calibration is of %s, want a new one", again.At)
	}
	w.pass(time.Hour)
	if policy := w.rest(); policy.Status.Trials != 3 || reasonOf(policy) != v1alpha1.ReasonTuned {
		t.Errorf("it calibrates again and again: %s", dump(policy.Status))
	}
}

// TestApproval: on too few pods for a proof a good candidate is recommended, once, and a person's approval promotes it.
func TestApproval(t *testing.T) {
	w := newWorldInMemory(t)
	w.deploy(4)
	w.policy(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Schedule.Cooldown = seconds(0) })
	w.pass(10 * time.Minute)
	policy := w.run(ended)
	recommendation := policy.Status.Recommendation
	if record := policy.Status.History[0]; record.Result != v1alpha1.TrialRecommended || recommendation == nil || recommendation.Verdict == nil {
		t.Fatalf("the record is %s, the recommendation %s", dump(record), dump(recommendation))
	}
	if got := w.running("25"); got != 4 {
		t.Errorf("%d pods run the baseline, want 4: %v", got, w.gogc())
	}
	w.pass(time.Hour)
	waiting := w.rest()
	if waiting.Status.Trials != 1 || reasonOf(waiting) != v1alpha1.ReasonRecommended || waiting.Status.Recommendation == nil {
		t.Fatalf("it does not wait for a person: %s", dump(waiting.Status))
	}
	other := recommendation.Settings.DeepCopy()
	other.GOGC.IntVal++
	w.edit(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Approved = other })
	if policy := w.rest(); policy.Status.Trials != 1 {
		t.Errorf("it promotes what nobody tried: %s", dump(policy.Status))
	}
	w.edit(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Approved = recommendation.Settings.DeepCopy() })
	policy = w.run(inStage(v1alpha1.StagePromoting))
	if ready := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionReady); !strings.Contains(ready.Message, "approved by a person") {
		t.Errorf("Ready is %s", dump(ready))
	}
	policy = w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool {
		return policy.Status.Trials == 2 && policy.Status.Trial == nil
	})
	if record := policy.Status.History[0]; record.Result != v1alpha1.TrialPromoted || policy.Status.Baseline.Source != v1alpha1.BaselinePromoted {
		t.Errorf("the record is %s", dump(record))
	}
	if got := w.running("35"); got != 4 {
		t.Errorf("%d pods run what was approved, want 4: %v", got, w.gogc())
	}
	w.pass(time.Minute)
	if policy := w.rest(); policy.Status.Recommendation != nil {
		t.Errorf("the recommendation stays: %s", dump(policy.Status.Recommendation))
	}
}

// TestRecommendedAndGrown: what was recommended on too few pods is tried again by itself once there are enough for a proof, and promoted.
func TestRecommendedAndGrown(t *testing.T) {
	w := newWorldInMemory(t)
	w.recommended()
	w.scale(6)
	w.pass(10 * time.Minute)
	policy := w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool {
		return policy.Status.Trials == 2 && policy.Status.Trial == nil
	})
	if record := policy.Status.History[0]; record.Result != v1alpha1.TrialPromoted || record.Verdict == nil || record.Verdict.CanaryPods != 3 {
		t.Errorf("the record is %s", dump(record))
	}
	w.pass(time.Minute)
	if policy := w.rest(); policy.Status.Recommendation != nil {
		t.Errorf("the recommendation stays: %s", dump(policy.Status.Recommendation))
	}
}

// TestRecommendedStandsInModeRecommend: no trial may start there, so that the evidence of the one that ran is kept.
func TestRecommendedStandsInModeRecommend(t *testing.T) {
	w := newWorldInMemory(t)
	recommendation := w.recommended()
	w.edit(inMode(v1alpha1.ModeRecommend))
	w.scale(6)
	w.pass(10 * time.Minute)
	if policy := w.rest(); dump(policy.Status.Recommendation) != dump(recommendation) || policy.Status.Trials != 1 {
		t.Errorf("it recommends %s", dump(policy.Status.Recommendation))
	}
}

// recommended deploys a target of too few pods for a proof, and runs its trial to the recommendation.
func (w *world) recommended() *v1alpha1.Recommendation {
	w.t.Helper()
	w.deploy(4)
	w.policy(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Schedule.Cooldown = seconds(0) })
	w.pass(10 * time.Minute)
	w.run(ended)
	w.pass(10 * time.Minute)
	recommendation := w.rest().Status.Recommendation
	if recommendation == nil || recommendation.Verdict == nil {
		w.t.Fatalf("nothing is recommended: %s", dump(w.get().Status))
	}
	return recommendation
}

func (w *world) approve(recommendation *v1alpha1.Recommendation) {
	w.t.Helper()
	w.edit(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Approved = recommendation.Settings.DeepCopy() })
}

// TestApprovedOnceOnly: what broke an objective in its waves is not promoted again and again because spec.approved still says so.
func TestApprovedOnceOnly(t *testing.T) {
	w := newWorldInMemory(t)
	w.approve(w.recommended())
	w.prometheus.alter = breach("35")
	policy := w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool {
		return policy.Status.Trials == 2 && policy.Status.Trial == nil
	})
	if record := policy.Status.History[0]; record.Result != v1alpha1.TrialReverted || record.Reason != v1alpha1.ReasonLatencyBreached {
		t.Fatalf("the record is %s", dump(record))
	}
	for range 3 {
		w.pass(time.Hour)
		policy = w.rest()
	}
	if policy.Status.Trials != 2 || policy.Status.Recommendation != nil || w.running("25") != 4 {
		t.Errorf("it is promoted again, or recommended still: %v, %s", w.gogc(), dump(policy.Status))
	}
}

// TestApprovedAgain: an approved candidate that something else took back follows once the cooldown is over.
func TestApprovedAgain(t *testing.T) {
	w := newWorldInMemory(t)
	w.approve(w.recommended())
	w.run(inStage(v1alpha1.StagePromoting))
	w.edit(func(policy *v1alpha1.RuntimeTuningPolicy) {
		policy.Spec.Suspend, policy.Spec.Schedule.Cooldown = v1alpha1.SuspendRevert, seconds(3600)
	})
	w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool { return policy.Status.Trial == nil })
	w.edit(suspending(v1alpha1.SuspendNone))
	w.pass(30 * time.Minute)
	if policy := w.rest(); policy.Status.Trials != 2 || reasonOf(policy) != v1alpha1.ReasonCooldown {
		t.Errorf("it does not wait: %s", dump(policy.Status))
	}
	w.pass(31 * time.Minute)
	policy := w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool {
		return policy.Status.Trials == 3 && policy.Status.Trial == nil
	})
	if policy.Status.History[0].Result != v1alpha1.TrialPromoted {
		t.Errorf("it ended with %s", dump(policy.Status.History[0]))
	}
}

// TestApprovedInTrouble: what a person approved waits until the target is measured and well, and is not promoted where it was not tried.
func TestApprovedInTrouble(t *testing.T) {
	for name, test := range map[string]struct {
		trouble func(*world)
		reason  string
	}{
		"no answer":        {answering(errDown), v1alpha1.ReasonPrometheusUnavailable},
		"objective broken": {func(w *world) { w.prometheus.alter = breach("25") }, v1alpha1.ReasonBaselineBreachesSLO},
		"a leak": {func(w *world) {
			w.prometheus.alter = func(_ string, pod *signal.Pod) {
				pod.MaxFileDescriptors, pod.OpenFileDescriptors = present(100), present(90)
			}
		}, v1alpha1.ReasonLeakSuspected},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldInMemory(t)
			recommendation := w.recommended()
			test.trouble(w)
			w.approve(recommendation)
			if policy := w.rest(); policy.Status.Trials != 1 || reasonOf(policy) != test.reason || policy.Status.Recommendation == nil {
				t.Errorf("it is %s", dump(policy.Status))
			}
		})
	}
}

// TestRecommendationOutlivesMode: what a trial found waits for a person in mode Recommend too, and mode Observe declines it.
func TestRecommendationOutlivesMode(t *testing.T) {
	w := newWorldInMemory(t)
	recommendation := w.recommended()
	w.edit(inMode(v1alpha1.ModeRecommend))
	w.approve(recommendation)
	if policy := w.rest(); policy.Status.Trials != 1 || policy.Status.Recommendation == nil || policy.Status.Recommendation.Verdict == nil {
		t.Fatalf("in mode Recommend it is %s", dump(policy.Status))
	}
	w.edit(inMode(v1alpha1.ModeObserve))
	if policy := w.rest(); policy.Status.Recommendation != nil {
		t.Errorf("in mode Observe it is %s", dump(policy.Status))
	}
	w.edit(inMode(v1alpha1.ModeAuto))
	if policy := w.rest(); policy.Status.Trials != 1 || reasonOf(policy) != v1alpha1.ReasonTuned {
		t.Errorf("what was declined is promoted, or tried again: %s", dump(policy.Status))
	}
}

// TestApprovedOnAnotherFooting: a manager that was away while the template changed promotes nothing that was tried on the old one.
func TestApprovedOnAnotherFooting(t *testing.T) {
	w := newWorldInMemory(t)
	w.approve(w.recommended())
	w.rollOut(func(template *corev1.PodTemplateSpec) { template.Spec.Containers[0].Env[1].Value = "30" })
	w.pass(time.Hour)
	if w.mustTurn(); w.get().Status.Trials != 1 {
		t.Errorf("it promotes what was tried on another footing: %s", dump(w.get().Status))
	}
}

// TestRecommendationOutlivesManager: a manager that starts anew counts its looks anew, and keeps what it recommended meanwhile.
func TestRecommendationOutlivesManager(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(inMode(v1alpha1.ModeRecommend))
	recommended := w.rest()
	if recommended.Status.Recommendation == nil {
		t.Fatalf("nothing is recommended: %s", dump(recommended.Status))
	}
	w.restart()
	w.mustTurn()
	if policy := w.get(); policy.ResourceVersion != recommended.ResourceVersion {
		t.Errorf("the status is written: %s", dump(policy.Status))
	}
}

// TestRejection: a candidate that harmed is remembered in a list of its own, with what it failed on.
func TestRejection(t *testing.T) {
	w := newWorldInMemory(t)
	w.prometheus.alter = breach("35")
	w.tune(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Schedule.Cooldown = seconds(0) })
	policy := w.run(ended)
	rejected := policy.Status.Rejected
	if len(rejected) != 1 || rejected[0].Settings.GOGC.IntValue() != 35 || rejected[0].Reason != v1alpha1.ReasonLatencyBreached || rejected[0].Until.IsZero() {
		t.Fatalf("rejected are %s", dump(rejected))
	}
	w.pass(time.Hour)
	if policy := w.rest(); policy.Status.Trials != 1 || !strings.Contains(dump(policy.Status.Conditions), "seven days") {
		t.Errorf("it is tried again: %s", dump(policy.Status))
	}
}

// TestMarginsOfTrial: a trial has its margins from its start on, widened where the pods are unlike each other.
func TestMarginsOfTrial(t *testing.T) {
	w := newWorldInMemory(t)
	factor := 1.0
	w.prometheus.alter = func(_ string, pod *signal.Pod) {
		if factor += 0.01; factor > 1.05 {
			factor = 1
		}
		pod.RequestSeconds = present(pod.RequestSeconds.Number * factor)
	}
	w.tune(nil)
	policy := w.run(slotsTaken)
	margins := map[v1alpha1.SignalName]v1alpha1.Margin{}
	for _, margin := range policy.Status.Trial.Margins {
		margins[margin.Signal] = margin
	}
	if got := margins[v1alpha1.SignalCPUPerRequest].Allowed; got != "2.0%" {
		t.Errorf("the margin of CPU is %q, want the default of 2.0%%", got)
	}
	if got := margins[v1alpha1.SignalRequestLatency]; got.PodSpread == "" || got.Allowed == "3.0%" || got.Allowed == "" {
		t.Errorf("the margin of latency is %+v, want a wider one than 3%%", got)
	}
}
