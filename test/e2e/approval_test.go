//go:build e2e

package e2e_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/stage"
)

// smallService has three pods, too few to prove anything. What did well on one of them is recommended, and a person has it promoted.
func smallService(t *testing.T) {
	s := play(t, "small", stage.Workload{Replicas: 3})
	wanted := spec()
	wanted.Strategy = manual(promotedGOGC)
	wanted.Rollout.Steps = []v1alpha1.Step{step(1, hold)}
	wanted.Rollout.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	s.create(wanted)
	s.awaitTrial("trial 1 to start", 1, startLimit, started)
	record := s.awaitEnd(1, v1alpha1.TrialRecommended, v1alpha1.ReasonRecommended)
	if !strings.Contains(record.Message, "spec.approved") {
		t.Errorf("the trial's message is %q, and does not say how to go on", record.Message)
	}
	s.awaitReason(v1alpha1.ReasonRecommended, soonLimit)
	t.Logf("%s: %s", s.namespace, readyOf(s.policy()).Message)
	recommended := s.checkRecommended(record)
	s.awaitPods(declared(), soonLimit)
	s.checkQuiet()

	other := recommended.DeepCopy()
	other.GOGC = ptr.To(intstr.FromInt32(promotedGOGC + 1))
	s.change(func(spec *v1alpha1.RuntimeTuningPolicySpec) { spec.Approved = other })
	s.awaitReason(v1alpha1.ReasonRecommended, soonLimit)
	s.checkQuiet()
	if status := s.policy().Status; status.Trials != 1 {
		t.Fatalf("there were %d trials, want 1: what was approved is not what is recommended", status.Trials)
	}

	s.change(func(spec *v1alpha1.RuntimeTuningPolicySpec) { spec.Approved = recommended })
	promoted := s.awaitEnd(2, v1alpha1.TrialPromoted, v1alpha1.ReasonPromoted)
	tuned := s.checkPromoted(promoted)
	s.awaitPods(tuned, soonLimit)
	s.awaitGauge("go_gc_gogc_percent", promotedGOGC)
	s.awaitReason(v1alpha1.ReasonTuned, startLimit)
	if recommendation := s.policy().Status.Recommendation; recommendation != nil {
		t.Errorf("the recommendation is %+v, want none: it is the baseline", recommendation)
	}
	s.checkQuiet()
	s.checkTemplate()
}

// checkRecommended wants the candidate to be recommended with its evidence, and returns it.
func (s *scene) checkRecommended(record *v1alpha1.TrialRecord) *v1alpha1.RuntimeSettings {
	s.t.Helper()
	recommendation := s.policy().Status.Recommendation
	if recommendation == nil || recommendation.Verdict == nil || !equality.Semantic.DeepEqual(recommendation.Settings, record.Candidate) {
		s.t.Fatalf("the recommendation is %+v, want %+v with its verdict", recommendation, record.Candidate)
	}
	s.checkCohorts(recommendation.Verdict, 1, 1)
	if baseline := s.policy().Status.Baseline; baseline == nil || baseline.Source != v1alpha1.BaselineDeclared {
		s.t.Errorf("the baseline is %+v, want the declared one", baseline)
	}
	return recommendation.Settings.DeepCopy()
}
