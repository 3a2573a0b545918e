//go:build e2e

package e2e_test

import (
	"testing"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/stage"
)

const badGOGC = 150

// latencyBreach tries a candidate under which half of the requests are slow.
func latencyBreach(t *testing.T) {
	s := play(t, "latency", stage.Workload{Env: map[string]string{"SLOW_WHEN": "GOGC>100", "SLOW_SHARE": "0.5", "SLOW_BY": "400ms"}})
	wanted := spec()
	wanted.Strategy = manual(badGOGC)
	wanted.Rollout.Steps = []v1alpha1.Step{step(1, hold), step(3, hold)}
	s.create(wanted)
	s.awaitTrial("trial 1 to start", 1, startLimit, started)
	record := s.awaitEnd(1, v1alpha1.TrialReverted, v1alpha1.ReasonLatencyBreached)
	s.checkReverted()
	transitions, _ := s.watched.seen()
	for _, seen := range transitions {
		if seen.step > 0 {
			t.Errorf("the trial came to step %d, want it to end in the first", seen.step)
		}
	}
	if record.Verdict == nil || record.Verdict.Outcome != v1alpha1.OutcomeFail || len(record.Verdict.Checks) == 0 {
		t.Errorf("the record's verdict is %+v, want Fail with its numbers", record.Verdict)
	}
	// The only candidate has failed, and is not tried again.
	s.awaitReason(v1alpha1.ReasonTuned, startLimit)
	s.checkQuiet()
	if trials := s.policy().Status.Trials; trials != 1 {
		t.Errorf("there were %d trials, want 1", trials)
	}
}

// checkReverted wants every pod to be as declared, and the story told.
func (s *scene) checkReverted() {
	s.t.Helper()
	s.awaitPods(declared(), soonLimit)
	s.awaitEvents(v1alpha1.EventTrialStarted, v1alpha1.EventTrialReverting, v1alpha1.EventTrialReverted)
	s.checkTemplate()
	if baseline := s.policy().Status.Baseline; baseline == nil || baseline.Source != v1alpha1.BaselineDeclared {
		s.t.Errorf("the baseline is %+v, want the declared one", baseline)
	}
}

// overriddenInCode tries a candidate on a service that sets GOGC itself. Its environment shows the candidate, its process does not.
func overriddenInCode(t *testing.T) {
	s := play(t, "override", stage.Workload{Env: map[string]string{"OVERRIDE_GOGC": "25"}})
	wanted := spec()
	wanted.Strategy = manual(badGOGC)
	wanted.Rollout.Steps = []v1alpha1.Step{step(1, hold), step(3, hold)}
	s.create(wanted)
	s.awaitTrial("trial 1 to start", 1, startLimit, started)
	s.awaitEnd(1, v1alpha1.TrialReverted, v1alpha1.ReasonNotApplied)
	s.checkReverted()
}

// sharedBreach has an objective that all pods break from one moment on: it is made tighter than the service is. The canary is
// reverted but not blamed, nothing is tried while the breach lasts, and the candidate is tried again after it.
func sharedBreach(t *testing.T) {
	s := play(t, "shared", stage.Workload{Env: map[string]string{"SLOW_SHARE": "1", "SLOW_BY": "30ms"}})
	wanted := spec()
	wanted.Strategy = manual(100)
	wanted.Rollout.Steps = []v1alpha1.Step{step(3, 10*time.Minute)}
	s.create(wanted)
	s.awaitTrial("trial 1 to start", 1, startLimit, started)
	s.awaitTrial("the step to be judged", 1, endLimit, judged)
	s.change(func(spec *v1alpha1.RuntimeTuningPolicySpec) { spec.SLOs[0] = latency("10ms", "95%") })
	s.awaitEnd(1, v1alpha1.TrialReverted, v1alpha1.ReasonSharedBreach)
	s.checkReverted()

	s.awaitReason(v1alpha1.ReasonBaselineBreachesSLO, startLimit)
	pods := s.podIDs()
	s.checkQuiet()
	if status := s.policy().Status; status.Trials != 1 || status.Trial != nil {
		t.Errorf("trial %+v, the %dth, was started on a target that breaks its objective", status.Trial, status.Trials)
	}
	for id := range s.podIDs() {
		if !pods[id] {
			t.Errorf("pod %s is new: nothing may be replaced while the target breaks its objective", id)
		}
	}
	s.change(func(spec *v1alpha1.RuntimeTuningPolicySpec) { spec.SLOs[0] = latency("250ms", "95%") })
	s.awaitTrial("the candidate to be tried again", 2, startLimit, started)
}
