package tuning

import (
	"fmt"
	"math"

	"github.com/gopacer/gopacer/internal/settings"
)

// ladder holds the values of GOGC that are tried. Between its rungs the effect is too small to be seen.
var ladder = []settings.GOGC{25, 35, 50, 75, 100, 150, 200, 300, 400, 500, 700, 1000}

const (
	// maxStep is how many times the present GOGC a candidate may be: the model is trusted for one doubling, then it is measured again.
	maxStep = 2
	// memoryShare of the memory limit that the process may fill as predicted; the rest is for what the model does not know.
	memoryShare = 0.85
	// fragmentation is resident memory over heap goal: the scavenger keeps a tenth (runtime/mgcscavenge.go, retainExtraPercent).
	fragmentation = 1.1
	// minMemoryLimitBytes below which a GOMEMLIMIT does more harm than good.
	minMemoryLimitBytes = 64 << 20
)

// Cost is what the garbage collector costs a pod of the target, as measured. Bytes are the largest of any pod.
type Cost struct {
	// GCShare of the CPU time, 0 to 1.
	GCShare float64
	// LiveHeapBytes after a collection, RootBytes of stacks and globals, ResidentBytes of the process; 0 where not measured.
	LiveHeapBytes, RootBytes, ResidentBytes float64
}

// proposeFeedback goes up the ladder as far as one doubling and the memory limit allow. The collector's CPU time falls as 1/GOGC
// (the cost model of https://go.dev/doc/gc-guide), so the gain is predicted from the ratio alone.
func proposeFeedback(in Input) Proposal {
	if !in.Knobs.TuneGOGC {
		return Proposal{Reason: "knobs.gogc.mode is Keep"}
	}
	if in.Baseline.GOGC == settings.Off {
		return Proposal{Reason: "GOGC is off: the collector runs for the memory limit alone"}
	}
	now := in.Baseline.EffectiveGOGC()
	reason := fmt.Sprintf("no GOGC above %s lies within a doubling, the bounds %s to %s and the memory limit", now, in.Knobs.MinGOGC, in.Knobs.MaxGOGC)
	for i := len(ladder) - 1; i >= 0; i-- {
		gogc := ladder[i]
		if gogc <= now || gogc > maxStep*now || gogc < in.Knobs.MinGOGC || gogc > in.Knobs.MaxGOGC || !fits(in, gogc) {
			continue
		}
		gain := 1 - float64(now)/float64(gogc)
		if gain < in.MinGain || gain*in.Cost.GCShare < in.MinCPUGain {
			return Proposal{Reason: "the collector takes so little CPU time that the next step promises no gain worth a trial"}
		}
		candidate := in.Baseline
		candidate.GOGC = gogc
		candidate.MemoryLimitBytes = memoryLimit(in, gogc)
		if rejected(in, candidate) {
			reason = fmt.Sprintf("%s failed on these resources less than seven days ago", candidate.Canonical())
			continue
		}
		return Proposal{Candidate: &candidate, PredictedGain: gain, Reason: fmt.Sprintf(
			"GC takes %.0f%% of the CPU time at GOGC=%s; GOGC=%s should take %.0f%% less of it", 100*in.Cost.GCShare, now, gogc, 100*gain)}
	}
	return Proposal{Reason: reason}
}

// fits says whether the process is predicted to stay within its memory limit.
func fits(in Input, gogc settings.GOGC) bool {
	limit := in.Footing.MemoryLimitBytes
	return limit == 0 || predictedResident(in.Cost, in.Baseline.EffectiveGOGC(), gogc) <= memoryShare*float64(limit)
}

// predictedResident scales the part of the memory that follows the heap goal, L + (L+R)·GOGC/100, and keeps the rest. Without a
// measured live heap all memory is taken to follow it.
func predictedResident(cost Cost, now, next settings.GOGC) float64 {
	if cost.LiveHeapBytes <= 0 {
		return cost.ResidentBytes * (100 + float64(next)) / (100 + float64(now))
	}
	goal := func(gogc settings.GOGC) float64 {
		return cost.LiveHeapBytes + (cost.LiveHeapBytes+cost.RootBytes)*float64(gogc)/100
	}
	rest := math.Max(0, cost.ResidentBytes-fragmentation*goal(now))
	return fragmentation*goal(next) + rest
}

// memoryLimit gives GOMEMLIMIT as a backstop: the share of the memory limit that the policy allows, and never so little that the
// predicted heap would run into it, since then the collector works without pause.
func memoryLimit(in Input, gogc settings.GOGC) int64 {
	if !in.Knobs.TuneMemoryLimit || in.Footing.MemoryLimitBytes == 0 {
		return in.Baseline.MemoryLimitBytes
	}
	limit := int64(in.Knobs.MemoryLimitShare * float64(in.Footing.MemoryLimitBytes))
	if limit < minMemoryLimitBytes || float64(limit) < predictedResident(in.Cost, in.Baseline.EffectiveGOGC(), gogc) {
		return in.Baseline.MemoryLimitBytes
	}
	return limit
}
