// Package tuning chooses which candidate to try next. It is pure.
package tuning

import (
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// Knobs bound the settings.
type Knobs struct {
	TuneGOGC bool
	// MinGOGC and MaxGOGC bound Feedback; they are resolved: the policy's own bounds, or the defaults.
	MinGOGC, MaxGOGC settings.GOGC
	// ExplicitMin and ExplicitMax are bounds that the policy itself names; 0 for none. Manual and Sweep keep no others.
	ExplicitMin, ExplicitMax settings.GOGC
	TuneMemoryLimit          bool
	// MemoryLimitShare of the container's memory limit that a candidate gets as GOMEMLIMIT: 0.9 for 90 %.
	MemoryLimitShare float64
	// TuneProcessors lets GOMAXPROCS be set where the runtime's own choice is wrong; MaxProcessors is the most that is tried.
	TuneProcessors bool
	MaxProcessors  int32
}

// Objective is the one thing that candidates must improve, and by how much at least.
type Objective struct {
	// Minimize is GCCPU where it is empty.
	Minimize v1alpha1.Minimize
	// MinGain is the relative improvement, MinCPUGain the share of all CPU time that one of GC CPU time must come to.
	MinGain, MinCPUGain float64
}

// Rules are known from practice. A threshold of 0 switches its rule off.
type Rules struct {
	// LongPauseSeconds is the mean pause above which a GOGC below 100 is raised.
	LongPauseSeconds float64
	// RunnablePerProcessor is how many goroutines wait for each processor, and QuotaUse the share of the CPU limit in use below which, more
	// processors are proposed.
	RunnablePerProcessor, QuotaUse float64
}

// Strategy says where candidates come from.
type Strategy struct {
	// Type is Feedback where it is empty.
	Type v1alpha1.StrategyType
	// Manual candidates, in order.
	Manual []settings.Settings
	// Ladder of a Sweep, in percent.
	Ladder []int32
}

// Input is all that a proposal rests on.
type Input struct {
	Now      time.Time
	Baseline settings.Settings
	Footing  settings.Footing
	// GoVersion that the processes were built with, such as go1.26.8; empty where it is not known.
	GoVersion string
	Knobs     Knobs
	Objective Objective
	Rules     Rules
	Strategy  Strategy
	Observed  Observation
	// Streak is how many looks in a row, this one included, found the optimum outside of the deadband, as Proposal.OutsideDeadband tells.
	// Feedback waits for DeadbandLooks of them.
	Streak   int
	History  []v1alpha1.TrialRecord
	Rejected []v1alpha1.Rejection
	// Provable says that the policy's last step has enough pods for a proof now. What went well on too few before is then tried again.
	Provable bool
	// Retried is when a person last asked for another try; zero where nobody has. What failed before is not held against a candidate.
	Retried time.Time
	// Sweep is the table so far; nil where none was begun.
	Sweep *v1alpha1.Sweep
	// Calibrated says that a trial of the baseline against itself has come to its end.
	Calibrated bool
	// Seed of the order in which a sweep measures its rungs.
	Seed uint64
}

// Proposal is a candidate, or the reason why there is none.
type Proposal struct {
	// Candidate is nil where there is none.
	Candidate *settings.Settings
	// Purpose of the trial; Promote where there is no candidate.
	Purpose v1alpha1.TrialPurpose
	// Reason is one sentence for a person, at most 512 bytes.
	Reason string
	// Blocked is LeakSuspected or CPUThrottled where something is wrong that no setting cures; else empty.
	Blocked string
	// Predicted is the zero value where nothing is predicted.
	Predicted Prediction
	// OutsideDeadband says that Feedback sees an optimum that is worth a step, whether or not it was seen often enough for a trial.
	OutsideDeadband bool
	// Sweep is the table that was begun, or completed, by this call; nil where it is as it was.
	Sweep *v1alpha1.Sweep
}

// Propose gives the next candidate.
func Propose(in Input) Proposal {
	proposal := propose(in)
	if proposal.Purpose == "" {
		proposal.Purpose = v1alpha1.PurposePromote
	}
	return proposal
}

// propose looks for what no setting cures first. A leak makes canary and control pods differ by their age alone, so it ends every strategy;
// throttling ends all but an attempt to cure it with fewer processors.
func propose(in Input) Proposal {
	if message := leak(in.Observed); message != "" {
		return Proposal{Blocked: v1alpha1.ReasonLeakSuspected, Reason: message}
	}
	throttled := throttling(in)
	switch in.Strategy.Type {
	case v1alpha1.StrategyManual:
		return proposeManual(in, throttled)
	case "", v1alpha1.StrategyFeedback:
		return proposeFeedback(in, throttled)
	}
	switch {
	case throttled != "":
		return Proposal{Blocked: v1alpha1.ReasonCPUThrottled, Reason: throttled}
	case in.Strategy.Type == v1alpha1.StrategySweep:
		return proposeSweep(in)
	case in.Strategy.Type == v1alpha1.StrategyCalibrate:
		return proposeCalibration(in)
	}
	return Proposal{Reason: "this version does not know the strategy " + string(in.Strategy.Type)}
}

// proposeCalibration gives the baseline itself, once: nothing can be gained, so what differs between the cohorts is noise.
func proposeCalibration(in Input) Proposal {
	if in.Calibrated {
		return Proposal{Reason: "status.calibration has how unlike each other the pods are; set another spec.strategy.type to go on tuning"}
	}
	baseline := in.Baseline
	return Proposal{Candidate: &baseline, Purpose: v1alpha1.PurposeCalibrate, Reason: "the baseline is compared with itself, to learn how unlike each other the pods are"}
}

// equalInEffect says that the runtime would behave the same: GOGC unset is 100.
func equalInEffect(a, b settings.Settings) bool {
	a.GOGC, b.GOGC = a.EffectiveGOGC(), b.EffectiveGOGC()
	return a == b
}
