package verdict

import (
	"fmt"
	"math"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

const (
	// startupQuantile of the time to start that people ask for.
	startupQuantile = 0.9
	// alwaysSlower is by how many seconds a start may always be slower: kubelets look at readiness every few seconds.
	alwaysSlower = 2.0
)

// startupChance is how seldom pods of equal settings may start so much slower by chance. Canary and control pods start at different moments, on
// a node that is more or less busy, so the test must be hard: three pods against three can't fail it.
const startupChance = 0.01

// startupCheck compares the time from creation to readiness. It is measured once a pod, and no patience makes it more certain, so it fails
// where the pods are slower by more than the margin and beyond chance, and passes otherwise.
func startupCheck(in Input) (v1alpha1.Check, bool) {
	canary, control := startups(in.Canary), startups(in.Control)
	if len(canary) == 0 || len(control) == 0 {
		return v1alpha1.Check{}, false
	}
	margin := in.marginOf(v1alpha1.SignalStartupTime)
	p90, beside := startupP90(canary), startupP90(control)
	allowed := math.Max(math.Log1p(margin.Allowed), math.Log1p(alwaysSlower/beside))
	c := compare(canary, control)
	shift := c.shift()
	check := v1alpha1.Check{
		Name: string(v1alpha1.SignalStartupTime), Outcome: v1alpha1.OutcomePass, Reason: v1alpha1.ReasonPassed,
		Canary: seconds(p90), Control: seconds(beside), Effect: effectText(shift), Interval: c.intervalText(), Margin: marginText(allowed),
		Samples: int64(len(canary)),
	}
	check.Message = fmt.Sprintf("StartupTime of the canary pods %s, allowed %s; the slowest tenth took %s, control %s",
		effectOf(check), check.Margin, check.Canary, check.Control)
	if shift > allowed && math.Log(p90/beside) > allowed && c.chanceAbove(0) <= startupChance {
		check.Outcome, check.Reason = v1alpha1.OutcomeFail, v1alpha1.ReasonStartsSlowly
	}
	return check, true
}

// startups are the pods of which the time to start is known.
func startups(members []Member) []replicate {
	var known []replicate
	for _, m := range members {
		if took := m.FirstReadyAt.Sub(m.CreatedAt); !m.CreatedAt.IsZero() && !m.FirstReadyAt.IsZero() && took > 0 {
			known = append(known, replicate{node: m.Node, log: math.Log(took.Seconds())})
		}
	}
	return known
}

// startupP90 in seconds, to the millisecond.
func startupP90(pods []replicate) float64 {
	const millisecond = float64(time.Millisecond) / float64(time.Second)
	return math.Round(math.Exp(quantile(logs(pods), startupQuantile))/millisecond) * millisecond
}
