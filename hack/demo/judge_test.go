package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// TestCohortsAreThoseOfTheLastStepThatWasJudged follows a trial through two steps into its promotion.
func TestCohortsAreThoseOfTheLastStepThatWasJudged(t *testing.T) {
	var compared cohorts
	trial := newTrial()
	pods := func(canary, control string) {
		trial.Slots = append(trial.Slots, v1alpha1.Slot{ID: canary, PodName: canary})
		trial.Controls = append(trial.Controls, v1alpha1.CohortPod{PodName: control})
	}
	pods("a", "b")
	compared.note(trial)
	if diff := cmp.Diff(cohorts{}, compared, cmp.AllowUnexported(cohorts{})); diff != "" {
		t.Errorf("before the warm-up is over: %s", diff)
	}
	trial.WarmAt = ptr.To(at(30))
	compared.note(trial)
	trial.Step, trial.WarmAt = 1, nil
	pods("c", "d")
	compared.note(trial)
	trial.WarmAt = ptr.To(at(60))
	compared.note(trial)
	trial.Stage, trial.Controls, trial.WarmAt = v1alpha1.StagePromoting, nil, nil
	compared.note(trial)
	compared.note(nil)
	want := cohorts{canary: []string{"a", "c"}, control: []string{"b", "d"}, warm: noon.Add(time.Minute)}
	if diff := cmp.Diff(want, compared, cmp.AllowUnexported(cohorts{})); diff != "" {
		t.Error(diff)
	}
}
