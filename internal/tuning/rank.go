package tuning

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// fallSeen is the part of the fall that the model predicts from one rung to the next which must be seen, at least: less is noise, or against the
// model.
const fallSeen = 0.25

// rank completes a table, once: how each rung compares with the model and with the others, and which one the objective picks. The ranking stays
// as it is when the baseline moves on.
func rank(in Input, table *v1alpha1.Sweep) bool {
	var measured []*v1alpha1.Rung
	for i := range table.Rungs {
		if ranks(table.Rungs[i]) {
			measured = append(measured, &table.Rungs[i])
		}
	}
	if !slices.ContainsFunc(measured, func(r *v1alpha1.Rung) bool { return r.Standing == "" }) {
		return false
	}
	slices.SortFunc(measured, func(a, b *v1alpha1.Rung) int { return cmp.Compare(a.GOGC, b.GOGC) })
	for i, rung := range measured {
		if i > 0 {
			rung.AgainstModel = againstModel(*measured[i-1], *rung)
		}
		rung.Standing = v1alpha1.StandingPareto
		if slices.ContainsFunc(measured, func(other *v1alpha1.Rung) bool { return dominates(readRung(*other), readRung(*rung)) }) {
			rung.Standing = v1alpha1.StandingDominated
		}
	}
	table.Picked = pick(in, table, measured)
	return true
}

// againstModel compares a rung with the next lower one. The collector's CPU time of a request falls as 1/GOGC, as the number of cycles does.
func againstModel(lower, rung v1alpha1.Rung) string {
	predicted := float64(lower.GOGC) / float64(rung.GOGC)
	seen := readRung(rung).gcSecondsPerRequest / readRung(lower).gcSecondsPerRequest
	if !(seen > 1-fallSeen*(1-predicted)) {
		return ""
	}
	return fmt.Sprintf("GC CPU time per request is %.2f times that at GOGC=%d, where the model has %.2f: noise, or something else has changed", seen,
		lower.GOGC, predicted)
}

// dominates says that a is as good as b in CPU, latency and memory, and better in one. What is known of one alone can't be compared.
func dominates(a, b figures) bool {
	better := false
	for _, costs := range [][2]float64{
		{1 / a.requestsPerCPUSecond, 1 / b.requestsPerCPUSecond}, {a.p99Seconds, b.p99Seconds}, {a.memoryBytes, b.memoryBytes},
	} {
		bothUnknown := math.IsNaN(costs[0]) && math.IsNaN(costs[1])
		if !bothUnknown && !(costs[0] <= costs[1]) {
			return false
		}
		better = better || costs[0] < costs[1]
	}
	return better
}

// pick chooses the rung with the least of what the objective minimizes, among those that gain enough on the baseline, and take no more CPU time
// for a request than a trial allows.
func pick(in Input, table *v1alpha1.Sweep, measured []*v1alpha1.Rung) *int32 {
	base := baselineFigures(in, table)
	var best *v1alpha1.Rung
	for _, rung := range measured {
		seen := readRung(*rung)
		gain := 1 - in.Objective.cost(seen)/in.Objective.cost(base)
		ofCPU := in.Objective.MinCPUGain
		if in.Objective.minimizesGCCPU() {
			ofCPU = gain * base.gcShare
		}
		affordable := base.requestsPerCPUSecond <= (1+maxCPUGrowth)*seen.requestsPerCPUSecond
		if !(gain > 0 && gain >= in.Objective.MinGain && ofCPU >= in.Objective.MinCPUGain) || !affordable {
			continue
		}
		if best == nil || in.Objective.cost(seen) < in.Objective.cost(readRung(*best)) {
			best = rung
		}
	}
	if best == nil {
		return nil
	}
	picked := best.GOGC
	return &picked
}

// baselineFigures are those of the baseline's own rung; where it has none, what the target showed at rest, whose latency nobody measured.
func baselineFigures(in Input, table *v1alpha1.Sweep) figures {
	if rung, ok := rungAt(table, int32(in.Baseline.EffectiveGOGC())); ok && ranks(rung) {
		return readRung(rung)
	}
	seen := in.Observed
	return figures{
		requestsPerCPUSecond: 1 / orNaN(seen.CPUSecondsPerRequest), p99Seconds: math.NaN(), memoryBytes: orNaN(seen.MeanResidentBytes),
		gcShare: orNaN(seen.GCShare), gcSecondsPerRequest: orNaN(seen.GCCPUSecondsPerRequest), slowShare: math.NaN(),
	}
}

// sweptPrediction is what the picked rung showed against the baseline, with the range of the model: other hours differ.
func sweptPrediction(in Input, table *v1alpha1.Sweep, picked v1alpha1.Rung) Prediction {
	ratio := in.Objective.cost(readRung(picked)) / in.Objective.cost(baselineFigures(in, table))
	if !(ratio > 0 && ratio < 1) {
		return Prediction{}
	}
	return predict(ratio)
}

func (o Objective) minimizesGCCPU() bool {
	return o.Minimize != v1alpha1.MinimizeMemory && o.Minimize != v1alpha1.MinimizeLatency
}

// cost is what the objective lowers.
func (o Objective) cost(of figures) float64 {
	switch o.Minimize {
	case v1alpha1.MinimizeMemory:
		return of.memoryBytes
	case v1alpha1.MinimizeLatency:
		return of.p99Seconds
	}
	return of.gcSecondsPerRequest
}
