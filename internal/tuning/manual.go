package tuning

import (
	"fmt"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// proposeManual gives the first candidate that was not tried on this footing and differs from the baseline and from what is declared. A
// key that a candidate leaves out keeps its baseline value. Where the CPU limit throttles the pods, only candidates that move GOMAXPROCS are tried:
// they may be the cure, and no other can.
func proposeManual(in Input, throttled string) Proposal {
	outside := ""
	for i, candidate := range in.Strategy.Manual {
		complete := in.Baseline.Overlay(candidate)
		declared := equalInEffect(in.Footing.Declared.Overlay(candidate), in.Footing.Declared)
		if declared || equalInEffect(complete, in.Baseline) || tried(in, candidate) {
			continue
		}
		place := fmt.Sprintf("candidate %d of %d of the policy", i+1, len(in.Strategy.Manual))
		if bound := beyondExplicit(candidate.GOGC, in.Knobs); bound != "" {
			outside = fmt.Sprintf("; %s, GOGC=%s, lies %s", place, candidate.GOGC, bound)
			continue
		}
		if throttled != "" && complete.GOMAXPROCS == in.Baseline.GOMAXPROCS {
			return Proposal{Blocked: v1alpha1.ReasonCPUThrottled, Reason: throttled}
		}
		return Proposal{Candidate: &complete, Reason: shorten(place + ": " + complete.Canonical())}
	}
	return Proposal{Reason: "every candidate of the policy that may be tried is the baseline or declared already, or was tried" + outside}
}

// beyondExplicit says which bound of the policy's own a GOGC does not keep; empty where it keeps both. Off is above any.
func beyondExplicit(gogc settings.GOGC, knobs Knobs) string {
	switch {
	case gogc == 0:
		return ""
	case gogc != settings.Off && gogc < knobs.ExplicitMin:
		return "below knobs.gogc.min, " + knobs.ExplicitMin.String()
	case knobs.ExplicitMax != 0 && (gogc == settings.Off || gogc > knobs.ExplicitMax):
		return "above knobs.gogc.max, " + knobs.ExplicitMax.String()
	}
	return ""
}

// tried says that a trial of the candidate on this footing came to an end that speaks of the candidate. What a candidate leaves out
// came from the baseline of that trial, which since may have changed.
func tried(in Input, candidate settings.Settings) bool {
	for _, record := range in.History {
		if outgrown(in, record) {
			continue
		}
		base := in.Baseline
		if record.Previous != nil {
			previous, err := settings.FromAPI(record.Previous.Settings)
			if err != nil {
				continue
			}
			base = previous
		}
		if speaksOf(record, base.Overlay(candidate), in.Footing) || speaksOf(record, in.Baseline.Overlay(candidate), in.Footing) {
			return true
		}
	}
	return false
}
