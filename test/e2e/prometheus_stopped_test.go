//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/cluster"
	"github.com/gopacer/gopacer/test/stage"
)

// startPrometheusLimit is for Prometheus to read back what it had stored.
const startPrometheusLimit = time.Minute

// TestPrometheusStopped takes Prometheus away in the middle of two trials. The one that is good so far holds, and goes back when it
// has been without data for too long. The other one's pods crash, which the Kubernetes API tells alone.
func TestPrometheusStopped(t *testing.T) {
	scenes := playAll(t, part{"no-data", stage.Workload{}}, part{"crash-loop", stage.Workload{Env: map[string]string{"CRASH_WHEN": "GOGC>100"}}})
	holding, crashing := scenes[0], scenes[1]
	patient := spec()
	patient.Strategy = manual(100)
	patient.Analysis.NoDataTimeout = after(20 * time.Second)
	patient.Rollout.Steps = []v1alpha1.Step{step(1, 10*time.Minute), step(3, hold)}
	holding.create(patient)
	holding.awaitTrial("the first trial to start", 1, startLimit, started)
	holding.awaitTrial("its step to be judged", 1, endLimit, judged)
	crash := spec()
	crash.Strategy = manual(badGOGC)
	crashing.create(crash)
	crashing.awaitTrial("the second trial to start", 1, startLimit, started)

	stopPrometheus(t)
	stopped := time.Now()
	t.Run("CrashLoop", func(t *testing.T) {
		s := crashing.in(t)
		s.awaitEnd(1, v1alpha1.TrialReverted, v1alpha1.ReasonRestarted)
		s.checkReverted()
		s.awaitReason(v1alpha1.ReasonPrometheusUnavailable, soonLimit)
	})
	t.Run("HoldsThenNoData", func(t *testing.T) { holding.in(t).checkNoData(stopped, patient.Analysis.NoDataTimeout.Duration) })
}

// checkNoData wants the trial to have stayed where it was for as long as the policy says, and then to have gone back.
func (s *scene) checkNoData(stopped time.Time, timeout time.Duration) {
	s.t.Helper()
	var held time.Duration
	s.awaitPolicy("the trial to go back", endLimit, func(policy *v1alpha1.RuntimeTuningPolicy) error {
		trial := policy.Status.Trial
		if trial == nil {
			return nil // it has ended already: its record shows how
		}
		if trial.End == nil {
			return errors.New("it still holds")
		}
		held = trial.End.At.Sub(stopped)
		return nil
	})
	record := s.awaitEnd(1, v1alpha1.TrialReverted, v1alpha1.ReasonNoData)
	// Status has whole seconds, and the last scrape came before the stop.
	if tolerance := 3*scrapeInterval + interval; held != 0 && held < timeout-tolerance {
		s.t.Errorf("the trial held for %s without data, want about %s", held, timeout)
	}
	if record.Verdict == nil || record.Verdict.Outcome != v1alpha1.OutcomeInvalid {
		s.t.Errorf("the last verdict is %+v, want Invalid", record.Verdict)
	}
	transitions, _ := s.watched.seen()
	for _, seen := range transitions {
		if seen.step > 0 || seen.stage == v1alpha1.StagePromoting {
			s.t.Errorf("without data the trial came to %+v", seen)
		}
	}
	s.checkReverted()
}

func stopPrometheus(t *testing.T) {
	t.Helper()
	if err := shared.cluster.Stop(t.Context(), cluster.Prometheus); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startPrometheusLimit)
		defer cancel()
		if err := shared.cluster.Start(ctx, cluster.Prometheus); err != nil {
			t.Errorf("start Prometheus again: %v", err)
		}
	})
}
