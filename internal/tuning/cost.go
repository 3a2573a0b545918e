package tuning

import (
	"math"

	"github.com/gopacer/gopacer/internal/signal"
)

// MeasureCost sums up the pods of a window. It says false where no pod has all that a proposal needs.
func MeasureCost(pods []signal.Pod) (Cost, bool) {
	var cost Cost
	var gc, cpu float64
	measured := false
	for _, pod := range pods {
		if !pod.GCCPUSeconds.OK() || !pod.CPUSeconds.OK() || !pod.ResidentBytes.OK() || pod.CPUSeconds.Number <= 0 {
			continue
		}
		measured = true
		gc += pod.GCCPUSeconds.Number
		cpu += pod.CPUSeconds.Number
		cost.ResidentBytes = math.Max(cost.ResidentBytes, pod.ResidentBytes.Number)
		if pod.LiveHeapBytes.OK() && pod.StackAndGlobalBytes.OK() {
			cost.LiveHeapBytes = math.Max(cost.LiveHeapBytes, pod.LiveHeapBytes.Number)
			cost.RootBytes = math.Max(cost.RootBytes, pod.StackAndGlobalBytes.Number)
		}
	}
	if measured {
		cost.GCShare = math.Min(1, gc/cpu)
	}
	return cost, measured
}
