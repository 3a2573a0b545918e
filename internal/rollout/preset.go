package rollout

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

const (
	standardHold = 5 * time.Minute
	gradualHold  = 2 * time.Hour
	// gradualStart and gradualGrowth are the shares of the replicas in percent: 0.5, 0.75, 1.125 and so on up to gradualEnd.
	gradualStart, gradualGrowth, gradualEnd = 0.5, 1.5, 50
)

// PresetSteps are the steps that a preset stands for. Gradual steps that come to the same number of pods are one step, so a target of ten
// pods has four: 1, 2, 3 and 5.
func PresetSteps(preset v1alpha1.StepPreset, replicas int) ([]Step, error) {
	switch preset {
	case "", v1alpha1.StepsStandard:
		return []Step{{intstr.FromString("10%"), standardHold}, {intstr.FromString("25%"), standardHold}, {intstr.FromString("50%"), standardHold}}, nil
	case v1alpha1.StepsGradual:
		return gradualSteps(replicas), nil
	}
	return nil, fmt.Errorf("preset %q is not known: use %s or %s", preset, v1alpha1.StepsStandard, v1alpha1.StepsGradual)
}

func gradualSteps(replicas int) []Step {
	var steps []Step
	last := 0
	for percent := gradualStart; ; percent *= gradualGrowth {
		percent = min(percent, gradualEnd)
		pods := max(1, int(math.Ceil(float64(replicas)*percent/100)))
		if pods > last {
			steps = append(steps, Step{intstr.FromInt(pods), gradualHold})
			last = pods
		}
		if percent >= gradualEnd {
			return steps
		}
	}
}
