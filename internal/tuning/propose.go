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

// proposeManual gives the first candidate that is not the baseline and was not tried on this footing. A key that a candidate leaves
// out keeps its baseline value.
func proposeManual(in Input) Proposal {
	for i, candidate := range in.Manual {
		complete := overlay(in.Baseline, candidate)
		if complete == in.Baseline || equalInEffect(complete, in.Baseline) || tried(in, complete) {
			continue
		}
		return Proposal{Candidate: &complete, Reason: fmt.Sprintf("candidate %d of %d of the policy: %s", i+1, len(in.Manual), complete.Canonical())}
	}
	return Proposal{Reason: "every candidate of the policy is the baseline already or was tried"}
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

// tried says that a trial of the candidate on this footing came to an end that speaks of the candidate.
func tried(in Input, candidate settings.Settings) bool {
	for _, record := range in.History {
		if matches(in, record, candidate) && speaksOfCandidate(record.Reason) {
			return true
		}
	}
	return false
}

// rejected says that a trial of the candidate failed by the candidate's own fault, on this footing, not long ago.
func rejected(in Input, candidate settings.Settings) bool {
	for _, record := range in.History {
		if record.Result == v1alpha1.TrialReverted && in.Now.Sub(record.EndedAt.Time) < RejectionMemory &&
			matches(in, record, candidate) && speaksOfCandidate(record.Reason) {
			return true
		}
	}
	return false
}

func matches(in Input, record v1alpha1.TrialRecord, candidate settings.Settings) bool {
	recorded, err := settings.FromAPI(record.Candidate)
	if err != nil || recorded != candidate {
		return false
	}
	footing, err := settings.FootingFromAPI(record.Footing)
	return err == nil && footing == in.Footing
}

// speaksOfCandidate tells ends that the candidate caused from those that came from outside.
func speaksOfCandidate(reason string) bool {
	switch reason {
	case v1alpha1.ReasonSharedBreach, v1alpha1.ReasonSuperseded, v1alpha1.ReasonNoData, v1alpha1.ReasonSuspended,
		v1alpha1.ReasonPolicyDeleted, v1alpha1.ReasonNotAdmitted, v1alpha1.ReasonTooFewRequests, v1alpha1.ReasonUnevenTraffic,
		v1alpha1.ReasonModeChanged, v1alpha1.ReasonCanariesLost:
		return false
	default:
		return true
	}
}
