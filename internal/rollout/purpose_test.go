package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
)

// allRun fails where a living pod runs other settings.
func (m *manager) allRun(t *testing.T, want settings.Settings) {
	t.Helper()
	for range 60 {
		m.tick()
	}
	for _, pod := range m.find(func(pod *worldPod) bool { return !pod.Terminating }) {
		if !runs(pod.Pod, want) {
			t.Errorf("pod %s runs %s, want %s", pod.Name, pod.Settings.Canonical(), want.Canonical())
		}
		if pod.Cohort != "" {
			t.Errorf("pod %s is marked as %s, and no trial runs", pod.Name, pod.Cohort)
		}
	}
}

func (m *manager) holdsInvariants(t *testing.T) {
	t.Helper()
	for _, found := range m.found {
		t.Errorf("%s: %s", found.invariant, found.message)
	}
}

// TestRecommended: on too few pods for a proof a good trial goes back, and what it saw is for a person to decide on.
func TestRecommended(t *testing.T) {
	for _, replicas := range []int{2, 3, 4, 5} {
		m := newManager(newWorld(1, replicas), bold, &promoted)
		m.runUntil(time.Hour, nil)
		record := m.record
		if record == nil || record.Result != v1alpha1.TrialRecommended || record.Reason != v1alpha1.ReasonRecommended {
			t.Fatalf("%d replicas: %+v", replicas, record)
		}
		if record.Verdict == nil || !strings.Contains(record.Message, "spec.approved") || m.promoted {
			t.Errorf("%d replicas: promoted %v, %q with %+v", replicas, m.promoted, record.Message, record.Verdict)
		}
		if !strings.HasPrefix(record.Message, "GC CPU time per request ") || strings.Contains(record.Message, "(0%)") {
			t.Errorf("%d replicas: the gain does not lead: %q", replicas, record.Message)
		}
		m.allRun(t, promoted)
		m.holdsInvariants(t)
	}
}

// TestNothingToRecommend: without a gain there is nothing to decide on.
func TestNothingToRecommend(t *testing.T) {
	m := newManager(newWorld(1, 4), bold, &promoted)
	m.data.gain = 0
	m.runUntil(time.Hour, nil)
	if m.record == nil || m.record.Result != v1alpha1.TrialReverted || m.record.Reason != v1alpha1.ReasonNoGain {
		t.Errorf("%+v", m.record)
	}
}

// TestMeasure: a rung of a sweep is measured on the canary pods of the last step, and goes back.
func TestMeasure(t *testing.T) {
	m := newManagerFor(newWorld(1, 6), Opening{Candidate: bold, Purpose: v1alpha1.PurposeMeasure}, &promoted)
	m.runUntil(time.Hour, nil)
	record := m.record
	if record == nil || record.Result != v1alpha1.TrialMeasured || record.Reason != v1alpha1.ReasonMeasured || record.Purpose != v1alpha1.PurposeMeasure {
		t.Fatalf("%+v", record)
	}
	measured := m.measured
	if measured == nil || measured.Reason != v1alpha1.ReasonMeasured || len(measured.Canary) != 3 || len(measured.Control) != 3 {
		t.Fatalf("%+v", measured)
	}
	if pod := measured.Window.Pods[measured.Canary[0]]; !pod.Requests.OK() || measured.Window.Length < 20*time.Second {
		t.Errorf("the window holds %+v over %s", pod, measured.Window.Length)
	}
	if len(m.passed) > 0 || m.promoted {
		t.Errorf("passed steps %v, promoted %v", m.passed, m.promoted)
	}
	m.allRun(t, promoted)
	m.holdsInvariants(t)
}

// TestMeasureOfWhatHarms: the guards are on for a rung as for any candidate.
func TestMeasureOfWhatHarms(t *testing.T) {
	m := newManagerFor(newWorld(1, 6), Opening{Candidate: bold, Purpose: v1alpha1.PurposeMeasure}, &promoted)
	m.data.slow = 0.2
	m.runUntil(time.Hour, nil)
	if m.record == nil || m.record.Result != v1alpha1.TrialReverted || m.record.Reason != v1alpha1.ReasonLatencyBreached {
		t.Fatalf("%+v", m.record)
	}
	if m.measured != nil && m.measured.Reason == v1alpha1.ReasonMeasured {
		t.Errorf("measured %+v", m.measured)
	}
}

// TestCalibrate: the baseline against itself gains nothing, and no pod has to be taken back for it.
func TestCalibrate(t *testing.T) {
	m := newManagerFor(newWorld(1, 6), Opening{Candidate: promoted, Purpose: v1alpha1.PurposeCalibrate}, &promoted)
	m.data.gain = 0
	m.runUntil(time.Hour, nil)
	if m.record == nil || m.record.Result != v1alpha1.TrialReverted || m.record.Reason != v1alpha1.ReasonNoGain {
		t.Fatalf("%+v", m.record)
	}
	if m.measured == nil || len(m.measured.Canary) != 3 || len(m.measured.Control) != 3 {
		t.Fatalf("%+v", m.measured)
	}
	if m.evictions > 6 {
		t.Errorf("%d evictions: three canary and three control pods take six", m.evictions)
	}
	m.allRun(t, promoted)
	m.holdsInvariants(t)
}

// TestMeasuredIsNoWarning: only what went wrong is one.
func TestMeasuredIsNoWarning(t *testing.T) {
	for reason, want := range map[string]bool{v1alpha1.ReasonMeasured: false, v1alpha1.ReasonRecommended: false, v1alpha1.ReasonHarmed: true} {
		w := newWorld(1, 6)
		m := newManager(w, bold, &promoted)
		look, err := newMachine(*m.status().trial, w.view())
		if err != nil {
			t.Fatal(err)
		}
		look.revert(reason, "because the test says so")
		if events := look.decision.Events; len(events) != 1 || events[0].Warning != want {
			t.Errorf("%s: events %+v, want a warning: %v", reason, events, want)
		}
	}
}

// TestCalibrateNeverPromotes: not even where chance makes one cohort look better.
func TestCalibrateNeverPromotes(t *testing.T) {
	m := newManagerFor(newWorld(1, 6), Opening{Candidate: promoted, Purpose: v1alpha1.PurposeCalibrate}, &promoted)
	m.data.luck = 0.5
	m.runUntil(time.Hour, nil)
	if m.record == nil || m.record.Result != v1alpha1.TrialMeasured || m.promoted {
		t.Errorf("promoted %v: %+v", m.promoted, m.record)
	}
}

// TestCalibrateOnFewPods: chance that makes one cohort look better leaves nothing to approve, and what was measured is kept.
func TestCalibrateOnFewPods(t *testing.T) {
	for _, replicas := range []int{4, 5} {
		m := newManagerFor(newWorld(1, replicas), Opening{Candidate: promoted, Purpose: v1alpha1.PurposeCalibrate}, &promoted)
		m.data.luck = 0.5
		m.runUntil(time.Hour, nil)
		if m.record == nil || m.record.Result != v1alpha1.TrialMeasured || m.measured == nil || m.promoted {
			t.Errorf("%d replicas: promoted %v, measured %v: %+v", replicas, m.promoted, m.measured != nil, m.record)
		}
	}
}

// TestMeasureWaitsForBadWindows: a rung that may be doing harm is not measured before that is known.
func TestMeasureWaitsForBadWindows(t *testing.T) {
	w := newWorld(1, 6)
	w.plan.SLOs = append(w.plan.SLOs, verdict.SLO{Name: "queue", Query: true, Max: 10})
	m := newManagerFor(w, Opening{Candidate: bold, Purpose: v1alpha1.PurposeMeasure}, &promoted)
	nearlyHeld := func(trial *v1alpha1.Trial) bool {
		return trial.WarmAt != nil && m.now.Sub(trial.WarmAt.Time) >= 18*time.Second
	}
	if !m.reach(nearlyHeld, 20*time.Minute) {
		t.Fatal("the rung is never judged")
	}
	m.data.queue = 11
	m.runUntil(time.Hour, nil)
	if m.record == nil || m.record.Reason != v1alpha1.ReasonSharedBreach || m.measured != nil && m.measured.Reason == v1alpha1.ReasonMeasured {
		t.Errorf("%+v, measured %+v", m.record, m.measured)
	}
}

// TestMeasureWhileStepsGrow: a trial that only measures has one step, also where an autoscaler makes a plan of more.
func TestMeasureWhileStepsGrow(t *testing.T) {
	m := newManagerFor(newWorld(1, 6), Opening{Candidate: bold, Purpose: v1alpha1.PurposeMeasure}, &promoted)
	if !m.reach(func(trial *v1alpha1.Trial) bool { return trial.WarmAt != nil }, 20*time.Minute) {
		t.Fatal("the rung never gets warm")
	}
	m.plan.Steps = append(m.plan.Steps, Step{intstr.FromInt32(4), time.Hour}, Step{intstr.FromInt32(5), time.Hour})
	m.runUntil(time.Hour, nil)
	if m.record == nil || m.record.Result != v1alpha1.TrialMeasured || len(m.passed) > 0 {
		t.Errorf("passed steps %v: %+v", m.passed, m.record)
	}
}

// TestRecommendedWhileTargetGrows: pods that came too late for the last step make no proof of it.
func TestRecommendedWhileTargetGrows(t *testing.T) {
	w := newWorld(1, 4)
	w.plan.Steps = []Step{{intstr.FromString("50%"), 20 * time.Second}}
	m := newManager(w, bold, &promoted)
	if !m.reach(func(trial *v1alpha1.Trial) bool { return trial.VerifiedAt != nil }, 20*time.Minute) {
		t.Fatal("the step is never verified")
	}
	m.replicas = 8
	m.runUntil(time.Hour, nil)
	if m.record == nil || m.record.Result != v1alpha1.TrialRecommended || !strings.Contains(m.record.Message, "2 canary with 2 control") {
		t.Errorf("%+v", m.record)
	}
}

// TestLimitsWhileWarmingUp: what no setting may do ends a trial at once, also before there is anything to compare.
func TestLimitsWhileWarmingUp(t *testing.T) {
	w := newWorld(1, 6)
	w.plan.WarmUp, w.plan.Interval = 5*time.Minute, time.Minute
	m := newManager(w, bold, &promoted)
	if !m.reach(func(trial *v1alpha1.Trial) bool { return trial.VerifiedAt != nil }, 20*time.Minute) {
		t.Fatal("the step is never verified")
	}
	m.data.limited = true
	broken := m.now
	if !m.reach(func(trial *v1alpha1.Trial) bool { return trial.Stage == v1alpha1.StageReverting }, time.Hour) {
		t.Fatal("the limiter was not seen")
	}
	if took := m.now.Sub(broken); took > GuardInterval || m.status().trial.End.Reason != v1alpha1.ReasonLimiterEnabled {
		t.Errorf("seen after %s, want at most %s: %+v", took, GuardInterval, m.status().trial.End)
	}
}

// TestLimitsAtTheEndOfWaves: the last pods are watched as closely as the first.
func TestLimitsAtTheEndOfWaves(t *testing.T) {
	w := newWorld(1, 6)
	w.plan.Interval = time.Minute
	m := newManager(w, bold, &promoted)
	finishing := func(trial *v1alpha1.Trial) bool {
		return trial.Stage == v1alpha1.StagePromoting && trial.VerifiedAt != nil
	}
	if !m.reach(finishing, time.Hour) {
		t.Fatal("the waves never come to their end")
	}
	m.data.limited = true
	broken := m.now
	if !m.reach(func(trial *v1alpha1.Trial) bool { return trial.Stage == v1alpha1.StageReverting }, time.Hour) {
		t.Fatal("the limiter was not seen")
	}
	if took := m.now.Sub(broken); took > GuardInterval {
		t.Errorf("seen after %s, want at most %s", took, GuardInterval)
	}
}

// TestApproved: what a person approved follows in waves, with the guards on.
func TestApproved(t *testing.T) {
	approve := func(replicas int) *manager {
		m := newManager(newWorld(1, replicas), bold, &promoted)
		decision := StartApproved(m.view(), Opening{Number: 2, Candidate: bold, Reason: "approved", Previous: m.previous})
		if decision.Baseline == nil || !decision.Changed || len(decision.Evict) > 0 || decision.Trial.Stage != v1alpha1.StagePromoting {
			t.Fatalf("%+v", decision)
		}
		m.save(decision)
		m.next = m.now
		return m
	}
	m := approve(3)
	m.runUntil(time.Hour, nil)
	if m.record == nil || m.record.Result != v1alpha1.TrialPromoted || m.record.Message != "approved by a person" {
		t.Fatalf("%+v", m.record)
	}
	m.allRun(t, bold)

	m = approve(3)
	m.data.slow = 0.2
	m.runUntil(time.Hour, nil)
	if m.record == nil || m.record.Result != v1alpha1.TrialReverted || m.record.Reason != v1alpha1.ReasonLatencyBreached {
		t.Fatalf("%+v", m.record)
	}
	m.allRun(t, promoted)
	if diff := cmp.Diff(throughJSON(m.previous), m.status().baseline); diff != "" {
		t.Errorf("the baseline (-previous +now):\n%s", diff)
	}
}

// TestQueryInWaves: one look above the bound of a policy's own query is nothing, three in a row are a breach.
func TestQueryInWaves(t *testing.T) {
	w := newWorld(1, 8)
	w.plan.SLOs = append(w.plan.SLOs, verdict.SLO{Name: "queue", Query: true, Max: 10})
	w.data.queue = 1
	m := newManager(w, bold, &promoted)
	if !m.reach(inWaves, 20*time.Minute) {
		t.Fatal("never in waves")
	}
	counted := func(n int32) moment {
		return func(trial *v1alpha1.Trial) bool { return len(trial.BadWindows) == 1 && trial.BadWindows[0].Count == n }
	}
	m.data.queue = 11
	if !m.reach(counted(2), 40*time.Minute) {
		t.Fatalf("bad looks are not counted: %+v", m.status().trial)
	}
	m.data.queue = 10
	if !m.reach(func(trial *v1alpha1.Trial) bool { return len(trial.BadWindows) == 0 }, 40*time.Minute) || !inWaves(m.status().trial) {
		t.Fatal("a good look does not end the row")
	}
	m.data.queue = 11
	m.runUntil(2*time.Hour, nil)
	if m.record == nil || m.record.Result != v1alpha1.TrialReverted || m.record.Reason != v1alpha1.ReasonQueryBreached {
		t.Errorf("%+v", m.record)
	}
}

// TestGuardBetweenVerdicts: a breach is seen within seconds, however long the policy's interval is, and nothing is written before.
func TestGuardBetweenVerdicts(t *testing.T) {
	w := newWorld(1, 6)
	w.plan.Interval = time.Minute
	w.plan.Steps = []Step{{intstr.FromInt32(3), 10 * time.Minute}}
	m := newManager(w, bold, &promoted)
	judged := func(trial *v1alpha1.Trial) bool { return trial.Verdict != nil && trial.WarmAt != nil }
	if !m.reach(judged, 20*time.Minute) {
		t.Fatal("there was no verdict")
	}
	statuses := len(m.statuses)
	for range 20 {
		m.second()
	}
	if len(m.statuses) != statuses {
		t.Errorf("%d writes between two verdicts", len(m.statuses)-statuses)
	}
	m.data.slow = 0.2
	broken := m.now
	goesBack := func(trial *v1alpha1.Trial) bool { return trial.Stage == v1alpha1.StageReverting }
	if !m.reach(goesBack, time.Hour) {
		t.Fatal("the breach was not seen")
	}
	if took := m.now.Sub(broken); took > GuardInterval {
		t.Errorf("the breach was seen after %s, want at most %s", took, GuardInterval)
	}
}

// TestGoodWindows: a step passes only after as many good looks in a row as the policy asks for.
func TestGoodWindows(t *testing.T) {
	w := newWorld(1, 6)
	w.plan.GoodWindows = 6
	m := newManager(w, bold, &promoted)
	counted := func(n int32) moment { return func(trial *v1alpha1.Trial) bool { return trial.GoodWindows == n } }
	if !m.reach(counted(4), 20*time.Minute) {
		t.Fatal("good looks are not counted")
	}
	m.data.fault = "NaN"
	if !m.reach(counted(0), 20*time.Minute) {
		t.Fatal("a bad look does not begin the count anew")
	}
	m.data.fault = ""
	began := m.now
	passed := func(trial *v1alpha1.Trial) bool { return trial.Step == 1 }
	if !m.reach(passed, 20*time.Minute) {
		t.Fatal("the step never passed")
	}
	if took, least := m.now.Sub(began), 5*w.plan.Interval; took < least {
		t.Errorf("the step passed %s after a bad look, want at least %s", took, least)
	}
}
