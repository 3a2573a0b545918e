package tuning

import (
	"math"

	"github.com/gopacer/gopacer/internal/signal"
)

// MeasureCost sums up the pods of a window. It says false where no pod has all that a proposal needs. A live heap counts only where
// every pod shows one: the largest pod may be the one that does not.
func MeasureCost(pods []signal.Pod) (Cost, bool) {
	var cost Cost
	var gc, cpu float64
	measured, heaps := false, true
	for _, pod := range pods {
		if !pod.GCCPUSeconds.OK() || !pod.CPUSeconds.OK() || !pod.ResidentBytes.OK() || pod.CPUSeconds.Number <= 0 || pod.ResidentBytes.Number <= 0 {
			continue
		}
		measured = true
		gc += pod.GCCPUSeconds.Number
		cpu += pod.CPUSeconds.Number
		cost.ResidentBytes = math.Max(cost.ResidentBytes, pod.ResidentBytes.Number)
		heaps = heaps && pod.LiveHeapBytes.OK() && pod.StackAndGlobalBytes.OK()
		cost.LiveHeapBytes = math.Max(cost.LiveHeapBytes, pod.LiveHeapBytes.Number)
		cost.RootBytes = math.Max(cost.RootBytes, pod.StackAndGlobalBytes.Number)
	}
	if measured {
		cost.GCShare = math.Max(0, math.Min(1, gc/cpu))
	}
	if !heaps {
		cost.LiveHeapBytes, cost.RootBytes = 0, 0
	}
	return cost, measured
}
