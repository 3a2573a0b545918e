package verdict

import (
	"fmt"
	"math"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

const (
	// BadLooks in a row are harm.
	BadLooks = 3
	// alwaysSlow and alwaysFailed are the shares by which slow and failed requests may rise whatever their margins say: what is that rare
	// nobody can tell from chance.
	alwaysSlow   = 0.001
	alwaysFailed = 0.0002
	// widestShare bounds how far the margin of a share is widened for the sake of counts too small to resolve it.
	widestShare = 0.5
	// neededBad requests of a pod make the relative standard error of their share a fifth; neededAtMost requests are enough whatever the share
	// is: 0.1% of them are two, and a tail that grows to where it matters shows.
	neededBad    = 25
	neededAtMost = 2000
)

// guard is a signal that must not get worse.
type guard struct {
	signal v1alpha1.SignalName
	read   func(*signal.Pod) reading
	// ofRequests says that the signal is a share of requests; floor is by how much it may always rise.
	ofRequests bool
	floor      float64
	// shift is added to the share before it is compared.
	shift float64
	// what it is of, where the signal's name alone does not say.
	of string
	// counted says that each pod needs a number of requests before it says anything.
	counted bool
	// show a value with its unit.
	show func(float64) string
}

// guards that the windows have measurements for.
func guards(slos []SLO, control []signal.Pod) []guard {
	edge := tailEdge(control)
	all := []guard{
		{signal: v1alpha1.SignalRequestLatency, show: milliseconds,
			read: func(p *signal.Pod) reading { return ratio(p.RequestSeconds, p.Requests) }},
		{signal: v1alpha1.SignalTailLatency, ofRequests: true, floor: alwaysSlow, counted: true, show: percent, of: " over " + seconds(edge),
			read: func(p *signal.Pod) reading { return shiftedShare(p, edge, scarceTail) }, shift: scarceTail},
	}
	for _, slo := range slos {
		if slo.ThresholdSeconds <= 0 || slo.Query {
			continue
		}
		edge, scarce := exactEdge(control, slo.ThresholdSeconds), math.Min(scarceTail, slo.AllowedShare)
		all = append(all, guard{signal: v1alpha1.SignalSlowRequests, ofRequests: true, floor: alwaysSlow, counted: true, show: percent, shift: scarce,
			of: " over " + seconds(edge), read: func(p *signal.Pod) reading { return shiftedShare(p, edge, scarce) }})
	}
	all = append(all,
		guard{signal: v1alpha1.SignalErrors, ofRequests: true, floor: alwaysFailed, show: percent, read: failedShare},
		guard{signal: v1alpha1.SignalCPUPerRequest, show: milliseconds,
			read: func(p *signal.Pod) reading { return ratio(p.CPUSeconds, p.Requests) }})
	return all
}

// look is one guard at one look.
type look struct {
	guard
	margin           Margin
	recent, evidence contrast
	// before is how many looks in a row were bad before this one.
	before int32
	// harmChance is the chance of a false alarm that a statistical test may have; 0 where it is off.
	harmChance float64
	judgeGain  bool
	query      string
}

// compareGuards looks at all guards that anything is measured for.
func compareGuards(in Input) []look {
	if len(in.Control) == 0 || len(in.Canary) == 0 {
		return nil
	}
	var looks []look
	recentCanary, recentControl := podsOf(in.Recent, in.Canary), podsOf(in.Recent, in.Control)
	canary, control := podsOf(in.Evidence, in.Canary), podsOf(in.Evidence, in.Control)
	for _, g := range guards(in.SLOs, control) {
		one := look{
			guard: g, margin: in.marginOf(g.signal), recent: in.contrast(recentCanary, recentControl, g.read), evidence: in.contrast(canary, control, g.read),
			before: badBefore(in.BadWindows, string(g.signal)), judgeGain: in.JudgeGain, query: queryOf(in.Evidence, g.signal),
		}
		if one.recent.measured() || one.evidence.measured() {
			looks = append(looks, one)
		}
	}
	return looks
}

func badBefore(windows []v1alpha1.BadWindows, check string) int32 {
	for _, one := range windows {
		if one.Check == check {
			return one.Count
		}
	}
	return 0
}

// allowed is how far the logarithm may rise: the settled margin, or what is always allowed of a share.
func (l look) allowed(c contrast) float64 {
	allowed := math.Log1p(l.margin.Allowed)
	if l.ofRequests {
		allowed = math.Max(allowed, math.Log1p(l.floor/(c.control.share()+l.shift)))
	}
	return allowed
}

// resolved widens what is allowed of a share to what its counts can resolve, within bounds: half as much again of something rare is
// little, and the objectives bound it besides.
func (l look) resolved(c contrast) float64 {
	allowed := l.allowed(c)
	if !l.ofRequests {
		return allowed
	}
	pods := float64(len(c.control.readings))
	share := c.control.share()
	left := share / (share + l.shift)
	noise := math.Sqrt(l.margin.PodSpread*l.margin.PodSpread + left*left*pods/(c.control.bad+pods*pseudoBad))
	canary, control := c.comparison.sizes()
	return math.Max(allowed, math.Min(math.Log1p(widestShare), resolvable(noise, canary, control, assurance)))
}

// bad says that the recent window lies above what is allowed and beyond what chance makes of such pods and such counts.
func (l look) bad() (bad, known bool) {
	if !l.recent.comparable() || l.recent.canary.of < MinRequests || l.recent.control.of < MinRequests {
		return false, false
	}
	allowed := l.allowed(l.recent)
	shift := l.recent.comparison.shift()
	bad = shift > allowed && shift > l.recent.comparison.beyondChance(l.margin.PodSpread)
	if bad && l.ofRequests {
		share := l.recent.control.share()
		times := (math.Exp(allowed)*(share+l.shift) - l.shift) / share
		bad = l.recent.excessChance(times) < BreachChance
	}
	return bad, true
}

// badLooksInARow counts this look. One that shows nothing neither counts nor ends the row.
func (l look) badLooksInARow() int32 {
	bad, known := l.bad()
	switch {
	case bad:
		return l.before + 1
	case known:
		return 0
	}
	return l.before
}

// harmful is the statistical test of being worse than allowed.
func (l look) harmful() bool {
	c := l.evidence.comparison
	if l.harmChance <= 0 || !l.evidence.comparable() || !(c.shift() > l.resolved(l.evidence)) {
		return false
	}
	return c.chanceAbove(l.resolved(l.evidence)) <= l.harmChance
}

// check gives the guard's answer: harm first, whatever else is missing.
func (l look) check(inARow int32) v1alpha1.Check {
	check := v1alpha1.Check{Name: string(l.signal), Outcome: v1alpha1.OutcomePass, Reason: v1alpha1.ReasonPassed, Query: l.query}
	if l.evidence.comparable() {
		l.describe(&check, l.evidence, l.resolved(l.evidence))
	}
	switch {
	case inARow >= BadLooks:
		l.describe(&check, l.recent, l.allowed(l.recent))
		check.Outcome, check.Reason = v1alpha1.OutcomeFail, v1alpha1.ReasonHarmed
		check.Message = fmt.Sprintf("%s%s %s for %d windows, allowed %s", l.signal, l.of, check.Effect, inARow, check.Margin)
	case l.harmful():
		check.Outcome, check.Reason = v1alpha1.OutcomeFail, v1alpha1.ReasonHarmed
		check.Message += fmt.Sprintf(": worse, by a test with a false alarm in %.0f looks", 1/l.harmChance)
	case !l.recentUsable() || !l.evidenceUsable():
		check.Outcome, check.Reason = v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData
		check.Message = fmt.Sprintf("%s%s is not measured on every pod", l.signal, l.of)
	case inARow > 0:
		l.describe(&check, l.recent, l.allowed(l.recent))
		check.Outcome, check.Reason = v1alpha1.OutcomeInconclusive, v1alpha1.ReasonWorse
		check.Message += fmt.Sprintf(", in %d of %d windows in a row so far", inARow, BadLooks)
	case l.judgeGain:
		l.judge(&check)
	}
	return check
}

// recentUsable tolerates pods without a request, but none without the measurement.
func (l look) recentUsable() bool {
	for _, cohort := range []cohortReading{l.recent.canary, l.recent.control} {
		if cohort.counts[unmeasured]+cohort.counts[unreadable] > 0 {
			return false
		}
	}
	return l.recent.measured()
}

// evidenceUsable asks for all pods where promotion rests on it.
func (l look) evidenceUsable() bool {
	if !l.judgeGain {
		return l.evidence.canary.counts[unmeasured]+l.evidence.canary.counts[unreadable]+
			l.evidence.control.counts[unmeasured]+l.evidence.control.counts[unreadable] == 0 && l.evidence.measured()
	}
	return l.evidence.comparable() && l.evidence.canary.counts[quiet]+l.evidence.control.counts[quiet] == 0
}

// judge asks for non-inferiority: that the canary pods lie below the control pods and the margin, beyond chance.
func (l look) judge(check *v1alpha1.Check) {
	needed := l.neededRequests()
	least := math.Min(l.evidence.canary.leastRequests(), l.evidence.control.leastRequests())
	if l.counted && least < needed {
		check.Outcome, check.Reason = v1alpha1.OutcomeInconclusive, v1alpha1.ReasonTooFewRequests
		check.Message += fmt.Sprintf(" (a pod has %.0f requests, needed %.0f)", least, needed)
		return
	}
	if chance := l.evidence.comparison.chanceBelow(l.resolved(l.evidence)); !(chance <= Significance) {
		check.Outcome, check.Reason = v1alpha1.OutcomeInconclusive, v1alpha1.ReasonNotProvenHarmless
		check.Message += fmt.Sprintf(": not proven harmless, p=%.3g", chance)
	}
}

// neededRequests of each pod: a share that is estimated to a fifth of itself, but no more than neededAtMost.
func (l look) neededRequests() float64 {
	return math.Min(neededAtMost, math.Ceil(neededBad/l.evidence.control.share()))
}

// describe fills in the numbers.
func (l look) describe(check *v1alpha1.Check, c contrast, allowed float64) {
	check.Canary, check.Control = l.show(l.figure(c.canary)), l.show(l.figure(c.control))
	check.Effect, check.Interval, check.Margin = effectText(c.comparison.shift()), c.comparison.intervalText(), marginText(allowed)
	check.Samples = wholeNumber(c.canary.of)
	check.Message = fmt.Sprintf("%s%s of the canary pods %s, allowed %s", l.signal, l.of, effectOf(*check), check.Margin)
}

// figure is the plain share of a cohort, or the median pod.
func (l look) figure(c cohortReading) float64 {
	if l.ofRequests {
		return c.bad / c.of
	}
	return math.Exp(median(logs(c.replicates)))
}

// marginText is such as +5%.
func marginText(log float64) string {
	return fmt.Sprintf("%+.3g%%", 100*math.Min(maxEffect, math.Expm1(log)))
}

// wholeNumber keeps what nobody can have counted within an int64.
func wholeNumber(count float64) int64 { return int64(math.Min(math.Max(0, count), math.MaxInt32)) }
