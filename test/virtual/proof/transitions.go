package proof

import (
	"github.com/gopacer/gopacer/api/v1alpha1"
)

// Transition of a trial from one state to another, with its reason. docs/trial.md lists them.
type Transition struct{ From, To, Reason string }

// The states of a trial, as the status shows them.
const (
	stateIdle     = "Idle"
	stateGather   = "Gather"
	stateWarmUp   = "WarmUp"
	stateJudge    = "Judge"
	stateWaves    = "Waves"
	stateLastLook = "LastLook"
	stateRevert   = "Revert"
)

func stateOf(trial *v1alpha1.Trial) string {
	switch {
	case trial == nil:
		return stateIdle
	case trial.Stage == v1alpha1.StageReverting:
		return stateRevert
	case trial.Stage == v1alpha1.StagePromoting && trial.VerifiedAt == nil:
		return stateWaves
	case trial.Stage == v1alpha1.StagePromoting:
		return stateLastLook
	case trial.VerifiedAt == nil:
		return stateGather
	case trial.WarmAt == nil:
		return stateWarmUp
	}
	return stateJudge
}

// countTransition compares two versions of a policy's status.
func (w *witness) countTransition(before, after *v1alpha1.RuntimeTuningPolicy) {
	var was, is *v1alpha1.Trial
	if before != nil {
		was = before.Status.Trial
	}
	if after != nil {
		is = after.Status.Trial
	}
	from, to := stateOf(was), stateOf(is)
	moved := from != to || was != nil && is != nil && (was.Step != is.Step || was.Number != is.Number)
	if !moved {
		return
	}
	w.transitions[Transition{from, to, reasonOf(was, is, after)}]++
}

// reasonOf a transition.
func reasonOf(was, is *v1alpha1.Trial, after *v1alpha1.RuntimeTuningPolicy) string {
	from, to := stateOf(was), stateOf(is)
	switch {
	case to == stateRevert:
		return is.End.Reason
	case from == stateIdle && to == stateWaves:
		return "Approved"
	case from == stateIdle:
		return string(is.Purpose)
	case to == stateIdle && after == nil:
		return "Gone"
	case to == stateIdle:
		return string(after.Status.History[0].Result)
	case to == stateWarmUp:
		return "Verified"
	case to == stateJudge:
		return "Warm"
	case to == stateWaves:
		return "Promoted"
	case to == stateLastLook:
		return "AllReplaced"
	case is.Step > was.Step:
		return "StepPassed"
	}
	return "PodLost"
}
