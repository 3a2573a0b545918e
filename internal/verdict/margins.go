package verdict

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

const (
	// assurance is the chance with which a harmless candidate passes one guard, at one look, at the margin that was settled for it. All guards
	// must pass, about five with a say, but later looks see more. A wider margin would let more harm pass.
	assurance = 0.97
	// leastAssurance is the same for the widest margin that may be, below which a trial is not worth starting. Spreads are estimates of few
	// pods: a trial must not depend on one of them being a little high.
	leastAssurance = 0.90
	// shareStretch is how much more the share of requests above an edge moves than their time does: by ln(1/share) where the tail is
	// exponential, which is 3 to 7 for shares of 5% to 0.1%. The bound on margins is meant for times.
	shareStretch = 5
	// maxPods per cohort that a shortage looks for.
	maxPods = 250
)

// defaultMargins hold where the trial settled none. Errors have no relative margin, but a share that is always allowed.
var defaultMargins = [...]struct {
	signal  v1alpha1.SignalName
	allowed float64
}{
	{v1alpha1.SignalRequestLatency, 0.03},
	{v1alpha1.SignalTailLatency, 0.10},
	{v1alpha1.SignalSlowRequests, 0.10},
	{v1alpha1.SignalErrors, 0},
	{v1alpha1.SignalCPUPerRequest, 0.02},
	{v1alpha1.SignalStartupTime, 0.25},
}

// marginOf a signal: what the trial settled, else the default.
func (in Input) marginOf(signal v1alpha1.SignalName) Margin {
	if margin, ok := in.Margins[signal]; ok {
		return margin
	}
	for _, one := range defaultMargins {
		if one.signal == signal {
			return Margin{Allowed: one.allowed}
		}
	}
	return Margin{}
}

// MarginInput is what margins are settled from.
type MarginInput struct {
	// Defaults are the relative margins that the policy asks for, by signal: 0.03 for 3 %. Only these signals get one.
	Defaults map[v1alpha1.SignalName]float64
	// Max is what no margin of a time is widened beyond. That of a share of requests may be five times as wide, since it moves that much more.
	Max float64
	// Spreads from pod to pod, as measured.
	Spreads []v1alpha1.Spread
	// Canary and Control pods of the last step.
	Canary, Control int
}

// Shortage says that the pods are too few for what they differ by.
type Shortage struct {
	// Signal that is worst.
	Signal v1alpha1.SignalName
	// Pods that each cohort would need; 0 where no number would do.
	Pods int
	// Margin, relative, that the pods at hand could resolve; +Inf where they can resolve none.
	Margin float64
}

// SettleMargins gives each signal the larger of its default and what the pods at hand can resolve: the margin at which a candidate that
// does nothing passes the exact test of non-inferiority with a chance of 0.97. Where not even 0.9 is within the bound, it says what is short. The
// time to start keeps its default: it is measured but once a pod, and an estimate decides on it. Errors are never short of pods: a handful of
// failures in each pod makes a spread of nothing, and what they may rise by is bounded as a share of all requests besides.
func SettleMargins(in MarginInput) ([]v1alpha1.Margin, *Shortage) {
	var margins []v1alpha1.Margin
	var shortage *Shortage
	worst := 1.0
	for _, one := range defaultMargins {
		allowed, asked := in.Defaults[one.signal]
		if !asked {
			continue
		}
		spread := spreadOf(in.Spreads, one.signal)
		resolved := math.Expm1(resolvable(spread, in.Canary, in.Control, assurance))
		bound := math.Max(allowed, maxMargin(one.signal, in.Max))
		if spread > 0 && one.signal != v1alpha1.SignalStartupTime {
			allowed = math.Max(allowed, math.Min(bound, resolved))
			needed := math.Expm1(resolvable(spread, in.Canary, in.Control, leastAssurance))
			if excess := needed / bound; excess > worst && one.signal != v1alpha1.SignalErrors {
				worst = excess
				shortage = &Shortage{Signal: one.signal, Pods: podsFor(spread, bound), Margin: needed}
			}
		}
		margin := v1alpha1.Margin{Signal: one.signal, Allowed: percentUp(allowed)}
		if spread > 0 {
			margin.PodSpread = percentUp(spread)
		}
		margins = append(margins, margin)
	}
	return margins, shortage
}

func maxMargin(signal v1alpha1.SignalName, bound float64) float64 {
	switch signal {
	case v1alpha1.SignalTailLatency, v1alpha1.SignalSlowRequests, v1alpha1.SignalErrors:
		return math.Min(1, shareStretch*bound)
	}
	return bound
}

func spreadOf(spreads []v1alpha1.Spread, signal v1alpha1.SignalName) float64 {
	for _, spread := range spreads {
		if spread.Signal == signal {
			return parsePercent(spread.PodSpread)
		}
	}
	return 0
}

// podsFor is the least number of pods in each cohort at which the spread is resolved within a margin.
func podsFor(spread, margin float64) int {
	for pods := 1; pods <= maxPods; pods++ {
		if math.Expm1(resolvable(spread, pods, pods, leastAssurance)) <= margin {
			return pods
		}
	}
	return 0
}

// resolvable is the shift of the logarithm that the exact test tells from a harmless candidate's with the given assurance, for pods that
// differ by podSpread. It follows the power of Student's t at the level that the exact test really has (Johnson and Welch, Biometrika 31,
// 1940, 362), and adds what the exact test loses where few arrangements count against chance: one of twenty for 3 against 3 pods, which
// have to be apart completely. Simulation agrees within a tenth from 2 against 5 to 10 against 10 pods.
func resolvable(podSpread float64, canary, control int, assurance float64) float64 {
	least := LeastChance(canary, control)
	counted := math.Floor(Significance/least + 1e-9)
	if counted < 1 {
		return math.Inf(1)
	}
	const lost = 0.6
	freedom := canary + control - 2
	critical := studentQuantile(normalQuantile(counted*least), freedom)
	apart := critical + normalQuantile(1-assurance)*math.Sqrt(1+critical*critical/(2*float64(freedom))) + lost/math.Sqrt(counted)
	return apart * podSpread * width(canary, control)
}

// ParseMargins reads back what SettleMargins gave.
func ParseMargins(margins []v1alpha1.Margin) map[v1alpha1.SignalName]Margin {
	parsed := make(map[v1alpha1.SignalName]Margin, len(margins))
	for _, margin := range margins {
		parsed[margin.Signal] = Margin{Allowed: parsePercent(margin.Allowed), PodSpread: parsePercent(margin.PodSpread)}
	}
	return parsed
}

// parsePercent gives 0 for what is no percentage; the CRD admits none.
func parsePercent(percent v1alpha1.Percent) float64 {
	number, err := strconv.ParseFloat(strings.TrimSuffix(string(percent), "%"), 64)
	if err != nil || !finite(number) {
		return 0
	}
	return number / 100
}

// percentUp writes a share with one decimal, rounded up so that what was resolved stays so, and at most 100%.
func percentUp(share float64) v1alpha1.Percent {
	tenths := math.Ceil(1000*math.Min(1, share) - 1e-6)
	return v1alpha1.Percent(fmt.Sprintf("%.1f%%", math.Max(0, tenths)/10))
}
