package tuning

import (
	"math"

	"github.com/gopacer/gopacer/internal/settings"
)

const (
	// memoryShare of the memory limit that the process may fill as predicted; the rest is for what the model does not know.
	memoryShare = 0.85
	// minMemoryLimitBytes below which a GOMEMLIMIT does more harm than good.
	minMemoryLimitBytes = 64 << 20
	// limitDriven is the share of its GOGC below which a heap goal must be the work of the memory limit.
	limitDriven = 0.9
)

// candidateAt completes a GOGC with its GOMEMLIMIT. It says false where the process is predicted to outgrow the container's memory
// limit, or a GOMEMLIMIT that can't be raised: under that the collector would run for the limit, and a higher GOGC gain nothing.
func candidateAt(in Input, gogc settings.GOGC) (settings.Settings, bool) {
	need := predictedResident(in.Observed, presentGOGC(in), float64(gogc))
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

// presentGOGC is the GOGC that the collector works at. Under a memory limit that is what the heap goal amounts to, which GOGC=off leaves
// to the limit alone; 0 where GOGC is off and the heap goal is not measured.
func presentGOGC(in Input) float64 {
	effective := in.Observed.EffectiveGOGC
	if in.Baseline.GOGC == settings.Off {
		if !above(effective, 0) {
			return 0
		}
		return effective.Number
	}
	nominal := float64(in.Baseline.EffectiveGOGC())
	if in.Baseline.MemoryLimitBytes != 0 && above(effective, 0) && effective.Number < limitDriven*nominal {
		return effective.Number
	}
	return nominal
}

// predictedResident scales the part of the memory that follows the heap goal, L + (L+R)·GOGC/100 (https://go.dev/doc/gc-guide), and keeps the
// rest. Without a measured live heap all memory is taken to follow it. NaN where the resident memory is not measured.
func predictedResident(seen Observation, now, next float64) float64 {
	if !seen.ResidentBytes.OK() {
		return math.NaN()
	}
	if !above(seen.LiveHeapBytes, 0) || !seen.RootBytes.OK() {
		return seen.ResidentBytes.Number * (100 + next) / (100 + now)
	}
	goal := func(gogc float64) float64 {
		return seen.LiveHeapBytes.Number + (seen.LiveHeapBytes.Number+seen.RootBytes.Number)*gogc/100
	}
	rest := math.Max(0, seen.ResidentBytes.Number-fragmentation*goal(now))
	if seen.NonHeapBytes.OK() {
		rest = seen.NonHeapBytes.Number
	}
	return fragmentation*goal(next) + rest
}
