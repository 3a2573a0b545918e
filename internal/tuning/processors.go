package tuning

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	// containerAware is the minor version of Go 1 from which on the runtime takes GOMAXPROCS from the CPU limit, and from max(2, limit) at least
	// (https://go.dev/doc/go1.25#runtime). It follows the limit only where the environment does not set GOMAXPROCS.
	containerAware = 25
	minProcessors  = 2
	// largeNode is the GOMAXPROCS from which on a container without a CPU limit, using less than idleShare of it, is one on a large node.
	largeNode = 16
	idleShare = 0.25
	// headroom over the CPU in use that such a container gets.
	headroom = 2
)

// processorsStep proposes a GOMAXPROCS where the runtime's own choice is wrong, and says in a note why it does not otherwise. Fewer processors are
// a cure for throttling; more are never proposed under it.
func processorsStep(in Input, throttled string) (step *Proposal, note string) {
	wanted, because := wantedProcessors(in, throttled)
	switch {
	case wanted == 0 && in.Knobs.TuneProcessors:
		return nil, "; GOMAXPROCS is left to the runtime"
	case wanted == 0:
		return nil, ""
	case !in.Knobs.TuneProcessors:
		return nil, fmt.Sprintf("; %s: set knobs.gomaxprocs.mode to Tune to try GOMAXPROCS=%d", because, wanted)
	}
	candidate := in.Baseline
	candidate.GOMAXPROCS = wanted
	switch {
	case equalInEffect(candidate, in.Baseline), equalInEffect(candidate, in.Footing.Declared):
		return nil, ""
	case rejected(in, candidate):
		return nil, "; " + candidate.Canonical() + " failed on these resources less than seven days ago"
	case unproven(in, candidate):
		return nil, "; " + candidate.Canonical() + " went well on too few pods for a proof: a person decides about it"
	}
	return &Proposal{Candidate: &candidate, OutsideDeadband: true, Reason: fmt.Sprintf("%s: GOMAXPROCS=%d", because, wanted)}, ""
}

// wantedProcessors is the GOMAXPROCS that the pods should have, with the reason; 0 where what they have will do.
func wantedProcessors(in Input, throttled string) (wanted int32, because string) {
	if !above(in.Observed.Processors, 0) {
		return 0, ""
	}
	if in.Footing.CPULimitMilli > 0 {
		wanted, because = processorsUnderLimit(in, throttled)
	} else {
		wanted, because = processorsWithoutLimit(in)
	}
	has := in.Observed.Processors.Number
	more := float64(wanted) > has
	if in.Knobs.MaxProcessors > 0 {
		wanted = min(wanted, in.Knobs.MaxProcessors)
	}
	if wanted == 0 || more != (float64(wanted) > has) {
		return 0, "" // the bound leaves nothing to gain
	}
	return wanted, because
}

// processorsUnderLimit is the limit, where the runtime does not know it, or where goroutines wait though it is not used up.
func processorsUnderLimit(in Input, throttled string) (wanted int32, because string) {
	has, limit := in.Observed.Processors.Number, ceilLimit(in.Footing.CPULimitMilli)
	minor, known := minorNumber(in.GoVersion)
	unaware := known && minor < containerAware
	switch {
	case has > float64(max(limit, minProcessors)) && (throttled != "" || unaware):
		return max(limit, minProcessors), fmt.Sprintf("GOMAXPROCS is %.0f under a CPU limit of %d", has, limit)
	case throttled == "" && has < float64(limit) && waitsForProcessors(in):
		return limit, fmt.Sprintf("%.1f goroutines wait for each of %.0f processors while %.1f of %d CPUs are in use",
			in.Observed.RunnablePerProcessor.Number, has, in.Observed.CPUCores.Number, limit)
	}
	return 0, ""
}

// processorsWithoutLimit is twice the CPU in use, on a large node of which little is used: the collector alone takes a quarter of GOMAXPROCS.
func processorsWithoutLimit(in Input) (wanted int32, because string) {
	has, used := in.Observed.Processors.Number, in.Observed.CPUCores
	if has < largeNode || !used.OK() || !(used.Number < idleShare*has) {
		return 0, ""
	}
	return max(int32(math.Ceil(headroom*used.Number)), minProcessors),
		fmt.Sprintf("GOMAXPROCS is %.0f where %.1f CPUs are in use, and no CPU limit tells the runtime", has, used.Number)
}

// waitsForProcessors says that goroutines wait though the CPU limit is not used up, nor throttles.
func waitsForProcessors(in Input) bool {
	seen, rules := in.Observed, in.Rules
	limit := float64(in.Footing.CPULimitMilli) / 1000
	return rules.RunnablePerProcessor > 0 && above(seen.RunnablePerProcessor, rules.RunnablePerProcessor) &&
		seen.CPUCores.OK() && seen.CPUCores.Number < rules.QuotaUse*limit && !above(seen.ThrottledShare, throttledPauses)
}

// minorNumber of go1.26.8 is 26.
func minorNumber(version string) (int, bool) {
	digits, ok := strings.CutPrefix(minorVersion(version), "go1.")
	if !ok {
		return 0, false
	}
	minor, err := strconv.Atoi(digits)
	return minor, err == nil
}
