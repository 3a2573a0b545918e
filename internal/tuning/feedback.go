package tuning

import (
	"fmt"
	"math"
	"slices"

	"github.com/gopacer/gopacer/internal/settings"
)

// ladder holds the values of GOGC that are tried. Between its rungs the effect is too small to be seen, and from every value below the
// last there is a rung within a doubling.
var ladder = []settings.GOGC{2, 3, 4, 6, 8, 12, 16, 25, 35, 50, 75, 100, 150, 200, 300, 400, 500, 700, 1000}

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
	if reason := unfitForFeedback(in); reason != "" {
		return Proposal{Reason: reason}
	}
	now := in.Baseline.EffectiveGOGC()
	reason := fmt.Sprintf("no GOGC above %s lies within a doubling, the bounds %s to %s and the memory limit", now, in.Knobs.MinGOGC, in.Knobs.MaxGOGC)
	for _, gogc := range rungsAbove(now, in.Knobs) {
		candidate, fits := candidateAt(in, gogc)
		if !fits || equalInEffect(candidate, in.Footing.Declared) {
			continue
		}
		gain := 1 - float64(now)/float64(gogc)
		// Both gates are what must hold, so that what is not a number passes neither.
		if !(gain >= in.MinGain && gain*in.Cost.GCShare >= in.MinCPUGain && in.Cost.GCShare <= 1) {
			return Proposal{Reason: "the collector takes so little CPU time that the next step promises no gain worth a trial"}
		}
		if rejected(in, candidate) {
			reason = fmt.Sprintf("%s failed on these resources less than seven days ago", candidate.Canonical())
			continue
		}
		return Proposal{Candidate: &candidate, PredictedGain: gain, Reason: fmt.Sprintf(
			"GC takes %.0f%% of the CPU time at GOGC=%s; GOGC=%s should take %.0f%% less of it", 100*in.Cost.GCShare, now, gogc, 100*gain)}
	}
	return Proposal{Reason: reason}
}

// unfitForFeedback says why nothing can be proposed at all; empty where something can.
func unfitForFeedback(in Input) string {
	limited := in.Footing.MemoryLimitBytes != 0 || in.Baseline.MemoryLimitBytes != 0
	switch {
	case !in.Knobs.TuneGOGC:
		return "knobs.gogc.mode is Keep"
	case in.Baseline.GOGC == settings.Off:
		return "GOGC is off: the collector runs for the memory limit alone"
	case limited && !(in.Cost.ResidentBytes > 0):
		return "the resident memory of no pod is measured, so nothing tells what fits the memory limit"
	}
	return ""
}

// rungsAbove are the rungs above a GOGC that one trial may reach, the highest first.
func rungsAbove(now settings.GOGC, knobs Knobs) []settings.GOGC {
	var rungs []settings.GOGC
	for _, gogc := range slices.Backward(ladder) {
		if gogc > now && gogc <= maxStep*now && gogc >= knobs.MinGOGC && gogc <= knobs.MaxGOGC {
			rungs = append(rungs, gogc)
		}
	}
	return rungs
}

// candidateAt completes a GOGC with its GOMEMLIMIT. It says false where the process is predicted to outgrow the container's memory
// limit, or a GOMEMLIMIT that can't be raised: under that the collector would run for the limit, and a higher GOGC gain nothing.
func candidateAt(in Input, gogc settings.GOGC) (settings.Settings, bool) {
	need := predictedResident(in.Cost, in.Baseline.EffectiveGOGC(), gogc)
	limit := in.Footing.MemoryLimitBytes
	if limit != 0 && !(need <= memoryShare*float64(limit)) {
		return settings.Settings{}, false
	}
	candidate := in.Baseline
	candidate.GOGC = gogc
	if backstop := backstop(in); float64(backstop) >= need && backstop >= minMemoryLimitBytes {
		candidate.MemoryLimitBytes = backstop
	}
	return candidate, candidate.MemoryLimitBytes == 0 || float64(candidate.MemoryLimitBytes) >= need
}

// backstop is the GOMEMLIMIT that the policy allows: a share of the memory limit; 0 for none.
func backstop(in Input) int64 {
	share := in.Knobs.MemoryLimitShare
	if !in.Knobs.TuneMemoryLimit || !(share > 0 && share <= 1) {
		return 0
	}
	return int64(share * float64(in.Footing.MemoryLimitBytes))
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
