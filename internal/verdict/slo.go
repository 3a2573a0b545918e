package verdict

import (
	"fmt"
	"math"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

const (
	// MinRequests of a cohort below which a share of requests says nothing.
	MinRequests = 100
	// maxNeededRequests bounds what neededRequests asks for: beyond it a trial would wait too long.
	maxNeededRequests = 10_000
	// BreachChance is the chance, at exactly the allowed share, of at least as many bad requests as were seen, below which the limit
	// counts as broken. One slow request in a short window is not a breach, a burst is, at any traffic.
	BreachChance = 0.001
)

// sloCheck fails where either window shows a breach, whatever is missing beside it, and passes only where all evidence is within the
// limit, there are recent requests, and every canary pod answered some: the pod that answers none may be the one that hangs.
func sloCheck(slo SLO, in Input) v1alpha1.Check {
	evidence, recent := sloOn(slo, podsOf(in.Evidence, in.Canary)), sloOn(slo, podsOf(in.Recent, in.Canary))
	control, recentControl := sloOn(slo, podsOf(in.Evidence, in.Control)), sloOn(slo, podsOf(in.Recent, in.Control))
	check, beside, shown := evidence, control, in.Evidence
	blind := evidence.Outcome != v1alpha1.OutcomeFail && recent.Reason == v1alpha1.ReasonNoData
	if recent.Outcome == v1alpha1.OutcomeFail || blind {
		check, beside, shown = recent, recentControl, in.Recent
	}
	check.Control, check.Query = beside.Canary, queryOf(shown, slo.signal())
	switch {
	case check.Outcome == v1alpha1.OutcomeFail &&
		(control.Outcome == v1alpha1.OutcomeFail && !clearlyWorse(slo, in, shown, in.Evidence) ||
			recentControl.Outcome == v1alpha1.OutcomeFail && !clearlyWorse(slo, in, shown, in.Recent)):
		check.Reason = v1alpha1.ReasonSharedBreach
		check.Message += "; the control pods break it too"
	case check.Outcome == v1alpha1.OutcomePass:
		if name := silentPod(slo, in.Evidence, in.Canary); name != "" {
			check.Outcome, check.Reason = v1alpha1.OutcomeInvalid, v1alpha1.ReasonTooFewRequests
			check.Message = fmt.Sprintf("%s: canary pod %s has answered no request since the warm-up", slo.Name, name)
		}
	}
	return check
}

// blameChance is the chance of an excess over the control pods' bad requests, if both cohorts are alike, from which on a breach of both is
// the canary's own. Were any breach of the control pods an excuse, one of theirs that is barely there would cover a far worse canary.
const blameChance = 0.01

// clearlyWorse compares the least that may have been bad of the canary pods in one window with the most that may have been of the control pods
// in another.
func clearlyWorse(slo SLO, in Input, ofCanary, ofControl *signal.Window) bool {
	canary, control := measure(slo, podsOf(ofCanary, in.Canary)), measure(slo, podsOf(ofControl, in.Control))
	return excessChance(canary.badLow, canary.requests, control.badHigh, control.requests, 1) < blameChance
}

func silentPod(slo SLO, window *signal.Window, members []Member) string {
	for i, pod := range podsOf(window, members) {
		if measure(slo, []signal.Pod{pod}).requests <= 0 {
			return members[i].Name
		}
	}
	return ""
}

// OnPods checks one objective on pods of a window: on a baseline before a trial, or on all pods in the waves of a promotion. Like
// Judge it passes only where every pod has fresh samples.
func OnPods(slo SLO, window *signal.Window, members []Member) v1alpha1.Check {
	check := sloOn(slo, podsOf(window, members))
	if slo.Query {
		check = queryOn(slo, podsOf(window, members))
	}
	if check.Outcome != v1alpha1.OutcomePass {
		return check
	}
	if name, why := stalePod(window, 0, members); name != "" {
		check.Outcome, check.Reason = v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData
		check.Message = fmt.Sprintf("%s: pod %s: %s", slo.Name, name, why)
	}
	return check
}

func sloOn(slo SLO, pods []signal.Pod) v1alpha1.Check {
	check := v1alpha1.Check{Name: slo.Name, Limit: percent(slo.AllowedShare), Outcome: v1alpha1.OutcomeInvalid, Reason: v1alpha1.ReasonNoData}
	bad := measure(slo, pods)
	if bad.requests > 0 {
		check.Canary, check.Samples = shareText(bad), wholeNumber(bad.requests)
		check.Message = fmt.Sprintf("%s: %s of %.0f requests %s, allowed %s", slo.Name, shareText(bad), bad.requests, slo.badWord(), check.Limit)
		check.Outcome, check.Reason = decide(slo, bad)
	}
	switch {
	case check.Outcome == v1alpha1.OutcomeFail: // what is missing can't undo a breach
	case bad.unusable != "":
		check.Outcome, check.Reason, check.Message = v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData, slo.Name+": "+bad.unusable
	case check.Reason == v1alpha1.ReasonTooFewRequests:
		check.Message += fmt.Sprintf(" (needs %.0f requests)", slo.neededRequests())
	case check.Reason == v1alpha1.ReasonCoarseBuckets:
		check.Message += fmt.Sprintf(" (the histogram has no edge between %s and %s)", seconds(bad.belowEdge), seconds(bad.aboveEdge))
	}
	return check
}

func decide(slo SLO, bad measured) (v1alpha1.Outcome, string) {
	switch {
	case bad.shareLow() > slo.AllowedShare && tail(bad.requests, bad.badLow, slo.AllowedShare) < BreachChance:
		return v1alpha1.OutcomeFail, slo.breachReason()
	case bad.requests < MinRequests:
		return v1alpha1.OutcomeInvalid, v1alpha1.ReasonTooFewRequests
	case bad.requests < slo.neededRequests():
		return v1alpha1.OutcomeInconclusive, v1alpha1.ReasonTooFewRequests
	case bad.shareHigh() <= slo.AllowedShare:
		return v1alpha1.OutcomePass, v1alpha1.ReasonPassed
	case bad.betweenBuckets && bad.shareLow() <= slo.AllowedShare:
		return v1alpha1.OutcomeInconclusive, v1alpha1.ReasonCoarseBuckets
	default:
		return v1alpha1.OutcomeInconclusive, v1alpha1.ReasonInconclusive
	}
}

// neededRequests is how many requests it takes until a single bad one stays within the allowed share: 2000 for 0.05%. With fewer, none
// bad is what a far worse share shows too. Where none is allowed the first bad one ends the trial, and MinRequests do.
func (s SLO) neededRequests() float64 {
	if s.AllowedShare <= 0 {
		return MinRequests
	}
	return math.Min(maxNeededRequests, math.Max(MinRequests, 1/s.AllowedShare))
}

func (s SLO) breachReason() string {
	if s.ThresholdSeconds > 0 {
		return v1alpha1.ReasonLatencyBreached
	}
	return v1alpha1.ReasonErrorsBreached
}

func (s SLO) signal() v1alpha1.SignalName {
	if s.ThresholdSeconds > 0 {
		return v1alpha1.SignalSlowRequests
	}
	return v1alpha1.SignalErrors
}

func (s SLO) badWord() string {
	if s.ThresholdSeconds > 0 {
		return "took longer than " + seconds(s.ThresholdSeconds)
	}
	return "failed"
}

func percent(share float64) string { return fmt.Sprintf("%.3g%%", 100*share) }

func shareText(m measured) string {
	if m.badHigh-m.badLow < 0.5 {
		return percent(m.shareLow())
	}
	return percent(m.shareLow()) + " to " + percent(m.shareHigh())
}

func seconds(s float64) string {
	if math.IsInf(s, 1) {
		return "infinity"
	}
	return time.Duration(s * float64(time.Second)).String()
}
