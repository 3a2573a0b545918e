//go:build e2e

package e2e_test

import (
	"cmp"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/stage"
)

// calibration is a negative control: the baseline against itself has nothing to gain. It shows how unlike each other the pods are, and the
// next trial's margins follow from that.
func calibration(t *testing.T) {
	s := play(t, "calibration", stage.Workload{})
	wanted := spec()
	wanted.Strategy = v1alpha1.Strategy{Type: v1alpha1.StrategyCalibrate}
	wanted.Rollout.Steps = []v1alpha1.Step{step(3, longHold)}
	s.create(wanted)
	s.awaitTrial("the trial of the baseline against itself", 1, startLimit, started)
	record := s.awaitEnd(1, v1alpha1.TrialReverted, v1alpha1.ReasonNoGain)
	if record.Purpose != v1alpha1.PurposeCalibrate || !equality.Semantic.DeepEqual(record.Candidate, declared().API()) {
		t.Errorf("the trial's purpose was %s, its candidate %+v; want %s with the declared settings", record.Purpose, record.Candidate, v1alpha1.PurposeCalibrate)
	}
	s.checkCohorts(record.Verdict, 3, 3)
	s.awaitReason(v1alpha1.ReasonTuned, soonLimit)
	s.checkQuiet()
	spreads := s.checkCalibrated()
	s.checkReverted()

	s.change(func(spec *v1alpha1.RuntimeTuningPolicySpec) { spec.Strategy = manual(100) })
	s.awaitTrial("a trial whose margins follow from it", 2, startLimit, started)
	s.checkMargins(spreads)
}

func (s *scene) checkCohorts(verdict *v1alpha1.Verdict, canary, control int32) {
	s.t.Helper()
	if verdict == nil || verdict.CanaryPods != canary || verdict.ControlPods != control {
		s.t.Errorf("the verdict is %+v, want one on %d canary and %d control pods", verdict, canary, control)
	}
}

// checkCalibrated wants the status to say how unlike each other all six pods are, and none of it to count as a failure of the baseline.
func (s *scene) checkCalibrated() []v1alpha1.Spread {
	s.t.Helper()
	status := s.policy().Status
	if status.Calibration == nil || status.Calibration.Pods != int32(s.replicas) || status.Calibration.At.IsZero() {
		s.t.Fatalf("status.calibration is %+v, want one of %d pods", status.Calibration, s.replicas)
	}
	spreads := status.Calibration.Spreads
	s.t.Logf("%s: from pod to pod %+v", s.namespace, spreads)
	for _, wanted := range []v1alpha1.SignalName{v1alpha1.SignalRequestLatency, v1alpha1.SignalCPUPerRequest} {
		if !slices.ContainsFunc(spreads, func(spread v1alpha1.Spread) bool { return spread.Signal == wanted }) {
			s.t.Errorf("status.calibration has %+v, and nothing of %s", spreads, wanted)
		}
	}
	if len(status.Rejected) > 0 {
		s.t.Errorf("rejected are %+v, want none: the baseline did not fail", status.Rejected)
	}
	return spreads
}

// checkMargins wants the running trial's margins to rest on the spreads.
func (s *scene) checkMargins(spreads []v1alpha1.Spread) {
	s.t.Helper()
	trial := s.policy().Status.Trial
	if trial == nil || len(trial.Margins) == 0 {
		s.t.Fatalf("trial %+v has no margins", trial)
	}
	for _, margin := range trial.Margins {
		for _, spread := range spreads {
			if spread.Signal == margin.Signal && spread.PodSpread != cmp.Or(margin.PodSpread, "0.0%") {
				s.t.Errorf("the margin of %s rests on a spread of %q, the calibration showed %s", margin.Signal, margin.PodSpread, spread.PodSpread)
			}
		}
	}
}
