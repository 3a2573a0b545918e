// Package tuning chooses which candidate to try next. It is pure.
package tuning

import (
	"fmt"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// RejectionMemory is how long a candidate that failed is not proposed again.
const RejectionMemory = 7 * 24 * time.Hour

// Knobs bound the settings.
type Knobs struct {
	TuneGOGC         bool
	MinGOGC, MaxGOGC settings.GOGC
	TuneMemoryLimit  bool
	// MemoryLimitShare of the container's memory limit that a candidate gets as GOMEMLIMIT: 0.9 for 90 %.
	MemoryLimitShare float64
}

// Input is all that a proposal rests on.
type Input struct {
	Now      time.Time
	Baseline settings.Settings
	Footing  settings.Footing
	Knobs    Knobs
	// MinGain and MinCPUGain are what a candidate must promise: the share of GC CPU time, and of all CPU time.
	MinGain, MinCPUGain float64
	Cost                Cost
	// Manual candidates, in order; nil for the Feedback strategy.
	Manual  []settings.Settings
	History []v1alpha1.TrialRecord
}

// Proposal is a candidate, or the reason why there is none.
type Proposal struct {
	// Candidate is nil where there is none.
	Candidate *settings.Settings
	// Reason is one sentence for a person.
	Reason string
	// PredictedGain is the share of GC CPU time per request that the candidate is expected to save; 0 where nothing is predicted.
	PredictedGain float64
}

// Propose gives the next candidate.
func Propose(in Input) Proposal {
	if in.Manual != nil {
		return proposeManual(in)
	}
	return proposeFeedback(in)
}

// proposeManual gives the first candidate that was not tried on this footing and differs from the baseline and from what is declared. A
// key that a candidate leaves out keeps its baseline value.
func proposeManual(in Input) Proposal {
	for i, candidate := range in.Manual {
		complete := overlay(in.Baseline, candidate)
		declared := equalInEffect(overlay(in.Footing.Declared, candidate), in.Footing.Declared)
		if declared || equalInEffect(complete, in.Baseline) || tried(in, candidate) {
			continue
		}
		return Proposal{Candidate: &complete, Reason: fmt.Sprintf("candidate %d of %d of the policy: %s", i+1, len(in.Manual), complete.Canonical())}
	}
	return Proposal{Reason: "every candidate of the policy is the baseline or declared already, or was tried"}
}

func overlay(base, candidate settings.Settings) settings.Settings {
	if candidate.GOGC != 0 {
		base.GOGC = candidate.GOGC
	}
	if candidate.MemoryLimitBytes != 0 {
		base.MemoryLimitBytes = candidate.MemoryLimitBytes
	}
	return base
}

// equalInEffect says that the runtime would behave the same: GOGC unset is 100.
func equalInEffect(a, b settings.Settings) bool {
	return a.EffectiveGOGC() == b.EffectiveGOGC() && a.MemoryLimitBytes == b.MemoryLimitBytes
}

// tried says that a trial of the candidate on this footing came to an end that speaks of the candidate. What a candidate leaves out
// came from the baseline of that trial, which since may have changed.
func tried(in Input, candidate settings.Settings) bool {
	for _, record := range in.History {
		base := in.Baseline
		if record.Previous != nil {
			previous, err := settings.FromAPI(record.Previous.Settings)
			if err != nil {
				continue
			}
			base = previous
		}
		if speaksOf(in, record, overlay(base, candidate)) || speaksOf(in, record, overlay(in.Baseline, candidate)) {
			return true
		}
	}
	return false
}

// rejected says that a trial of the candidate failed by the candidate's own fault, on this footing, not long ago.
func rejected(in Input, candidate settings.Settings) bool {
	for _, record := range in.History {
		if record.Result == v1alpha1.TrialReverted && in.Now.Sub(record.EndedAt.Time) < RejectionMemory && speaksOf(in, record, candidate) {
			return true
		}
	}
	return false
}

// speaksOf says that the record is of this candidate, on this footing, and ended because of it.
func speaksOf(in Input, record v1alpha1.TrialRecord, candidate settings.Settings) bool {
	recorded, err := settings.FromAPI(record.Candidate)
	if err != nil || recorded != candidate || cameFromOutside(record.Reason) {
		return false
	}
	footing, err := settings.FootingFromAPI(record.Footing)
	return err == nil && footing == in.Footing
}

// cameFromOutside tells ends that say nothing of the candidate from those that it caused. An unknown reason counts against the
// candidate: the careful side is not to try again what may have harmed.
func cameFromOutside(reason string) bool {
	switch reason {
	case v1alpha1.ReasonSharedBreach, v1alpha1.ReasonSuperseded, v1alpha1.ReasonNoData, v1alpha1.ReasonSuspended,
		v1alpha1.ReasonPolicyDeleted, v1alpha1.ReasonNotAdmitted, v1alpha1.ReasonTooFewRequests, v1alpha1.ReasonUnevenTraffic,
		v1alpha1.ReasonModeChanged, v1alpha1.ReasonCanariesLost, v1alpha1.ReasonNoTraffic, v1alpha1.ReasonPrometheusUnavailable,
		v1alpha1.ReasonBaselineBreachesSLO, v1alpha1.ReasonWaitingForTarget:
		return true
	case v1alpha1.ReasonTargetNotFound, v1alpha1.ReasonContainerNotFound, v1alpha1.ReasonContainerAmbiguous,
		v1alpha1.ReasonProviderNotFound, v1alpha1.ReasonUnmanageableEnv, v1alpha1.ReasonSignalUnavailable, v1alpha1.ReasonSLOUnmeasured,
		v1alpha1.ReasonTooFewReplicas, v1alpha1.ReasonConflicted, v1alpha1.ReasonInvalidSpec:
		return true
	default:
		return false
	}
}
