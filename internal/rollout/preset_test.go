package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func TestPresetSteps(t *testing.T) {
	tests := []struct {
		preset   v1alpha1.StepPreset
		replicas int
		want     []int
	}{
		{"", 40, []int{4, 10, 20}},
		{v1alpha1.StepsStandard, 8, []int{1, 2, 4}},
		{v1alpha1.StepsGradual, 2, []int{1}},
		{v1alpha1.StepsGradual, 10, []int{1, 2, 3, 5}},
		{v1alpha1.StepsGradual, 1000, []int{5, 8, 12, 17, 26, 38, 57, 86, 129, 193, 289, 433, 500}},
	}
	for _, test := range tests {
		steps, err := PresetSteps(test.preset, test.replicas)
		if err != nil {
			t.Fatal(err)
		}
		plan := Plan{Steps: steps}
		var got []int
		for i, step := range steps {
			got = append(got, plan.CanaryPods(i, test.replicas))
			if want := map[bool]any{true: gradualHold, false: standardHold}[test.preset == v1alpha1.StepsGradual]; step.Hold != want {
				t.Errorf("preset %q holds a step for %s, want %s", test.preset, step.Hold, want)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("preset %q of %d replicas (-want +got):\n%s", test.preset, test.replicas, diff)
		}
	}
	if _, err := PresetSteps("Bold", 10); err == nil {
		t.Error("an unknown preset has steps")
	}
}
