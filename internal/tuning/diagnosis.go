package tuning

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

const (
	// throttledBlocks is the share of throttled periods above which nothing that is measured can be trusted, throttledPauses the one above
	// which a long pause is laid to it.
	throttledBlocks, throttledPauses = 0.05, 0.01
	// starved is the share of waits for a processor above 0.92 ms from which on a long pause is one of waiting: stopping the world takes
	// as long as it takes every processor's thread to run.
	starved = 0.10
)

// Diagnose says what is wrong with the target that no setting cures, in a word and a sentence; both empty where nothing is. It is what a person
// should hear of first where an objective is broken: a breach names the symptom, this the cause.
func Diagnose(in Input) (reason, message string) {
	if message := leak(in.Observed); message != "" {
		return v1alpha1.ReasonLeakSuspected, message
	}
	if message := cmp.Or(throttling(in), starvation(in)); message != "" {
		return v1alpha1.ReasonCPUThrottled, message
	}
	return "", ""
}

// throttling says that the CPU limit stops the pods so often that no setting but fewer processors can help; empty where it does not.
func throttling(in Input) string {
	if !above(in.Observed.ThrottledShare, throttledBlocks) {
		return ""
	}
	return fmt.Sprintf("the CPU limit throttles the pods in %s of its periods: %s", percent(in.Observed.ThrottledShare.Number), cpuCure(in))
}

// starvation says that pauses are long for want of CPU; empty where they are short, or long for another reason. A pause is as long as it
// takes to stop all processors, not as the heap is large (https://go.dev/doc/gc-guide), so GOGC is not the first suspect.
func starvation(in Input) string {
	seen := in.Observed
	if !longPause(in) {
		return ""
	}
	pause := fmt.Sprintf("a collection pauses for %s on average", milliseconds(seen.MeanPauseSeconds.Number))
	switch {
	case above(seen.ThrottledShare, throttledPauses):
		return fmt.Sprintf("%s, and the CPU limit throttles the pods in %s of its periods: %s", pause, percent(seen.ThrottledShare.Number), cpuCure(in))
	case above(seen.SlowSchedulingShare, starved):
		return fmt.Sprintf("%s, and %s of the goroutines that could run wait longer than 0.92 ms for a processor: %s", pause,
			percent(seen.SlowSchedulingShare.Number), cpuCure(in))
	}
	return ""
}

func longPause(in Input) bool {
	return in.Rules.LongPauseSeconds > 0 && above(in.Observed.MeanPauseSeconds, in.Rules.LongPauseSeconds)
}

func cpuCure(in Input) string {
	const problem = "that is a problem of CPU, which no GOGC cures; "
	limit := ceilLimit(in.Footing.CPULimitMilli)
	if limit > 0 && above(in.Observed.Processors, float64(limit)) {
		return fmt.Sprintf("%sset GOMAXPROCS to %d, the CPU limit: it is %.0f (knobs.gomaxprocs.mode Tune tries it), or raise the limit", problem, limit,
			in.Observed.Processors.Number)
	}
	return problem + "raise the CPU limit, or run more replicas"
}

// blockedByCPU is the proposal that proposes nothing.
func blockedByCPU(message string) Proposal {
	return Proposal{Blocked: v1alpha1.ReasonCPUThrottled, Reason: shorten(message)}
}

// ceilLimit is the CPU limit in whole CPUs, rounded up; 0 where there is none.
func ceilLimit(milli int64) int32 { return int32(min((milli+999)/1000, math.MaxInt32)) }

// percent has a digit behind the point where it is small.
func percent(share float64) string {
	if share < 0.1 {
		return fmt.Sprintf("%.1f%%", 100*share)
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.3gms", 1000*seconds) }
