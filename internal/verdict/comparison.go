package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// replicate is one pod's value, the logarithm of what was measured, since a setting changes things by a factor.
type replicate struct {
	node string
	log  float64
}

// comparison is of the pods of two cohorts.
type comparison struct {
	strata []stratum
	// imbalance says that so few nodes hold pods of both cohorts that the comparison had to be across nodes.
	imbalance bool
	// differences are all pairwise ones that may be taken, in order.
	differences []float64
}

// compare takes pods within nodes where that can prove anything: nodes differ in their processors, their neighbours and their caches, and
// a canary on the faster node is no better for it.
func compare(canary, control []replicate) comparison {
	c := comparison{strata: []stratum{{logs(canary), logs(control)}}}
	if within, nodes := byNode(canary, control); nodes > 1 {
		if len(within) > 0 && leastTail(within) <= Significance {
			c.strata = within
		} else {
			c.imbalance = true
		}
	}
	for _, s := range c.strata {
		c.differences = append(c.differences, differences(s.canary, s.control)...)
	}
	slices.SortFunc(c.differences, cmp.Compare[float64])
	return c
}

// byNode gives the nodes that hold pods of both cohorts, and how many nodes there are in all; 0 where a pod's node is not known.
func byNode(canary, control []replicate) (within []stratum, nodes int) {
	byName := map[string]stratum{}
	for _, r := range canary {
		s := byName[r.node]
		s.canary = append(s.canary, r.log)
		byName[r.node] = s
	}
	for _, r := range control {
		s := byName[r.node]
		s.control = append(s.control, r.log)
		byName[r.node] = s
	}
	if _, unknown := byName[""]; unknown {
		return nil, 0
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if s := byName[name]; len(s.canary) > 0 && len(s.control) > 0 {
			within = append(within, s)
		}
	}
	return within, len(byName)
}

func logs(replicates []replicate) []float64 {
	out := make([]float64, 0, len(replicates))
	for _, r := range replicates {
		out = append(out, r.log)
	}
	return out
}

// shift is the Hodges-Lehmann estimate of how far the canary pods lie above the control pods.
func (c comparison) shift() float64 {
	if len(c.differences) == 0 {
		return math.NaN()
	}
	return median(c.differences)
}

// interval of the shift at the usual confidence, or with the confidence that there is where the pods are too few.
func (c comparison) interval() (low, high, level float64) {
	cut, whole := cutPairs(c.strata)
	level = confidence
	if cut == 0 {
		cut, level = 1, whole
	}
	return c.differences[cut-1], c.differences[len(c.differences)-cut], level
}

// chanceBelow is the chance of the canary pods lying as far as they do below the control pods and margin, if they lie just there.
func (c comparison) chanceBelow(margin float64) float64 {
	return lowerTail(c.moved(1, margin))
}

// chanceAbove is the chance of the canary pods lying as far as they do above the control pods and margin, if they lie just there.
func (c comparison) chanceAbove(margin float64) float64 {
	return lowerTail(c.moved(-1, margin))
}

// moved takes margin from the canary pods, and turns all around where sign is negative.
func (c comparison) moved(sign, margin float64) []stratum {
	moved := make([]stratum, 0, len(c.strata))
	for _, s := range c.strata {
		one := stratum{canary: make([]float64, 0, len(s.canary)), control: make([]float64, 0, len(s.control))}
		for _, value := range s.canary {
			one.canary = append(one.canary, sign*(value-margin))
		}
		for _, value := range s.control {
			one.control = append(one.control, sign*value)
		}
		moved = append(moved, one)
	}
	return moved
}

// sizes are the numbers of pods that the comparison rests on.
func (c comparison) sizes() (canary, control int) {
	for _, s := range c.strata {
		canary, control = canary+len(s.canary), control+len(s.control)
	}
	return canary, control
}

// width is the standard deviation of a difference of the cohorts' means where that of a pod is 1.
func width(canary, control int) float64 { return math.Sqrt(1/float64(canary) + 1/float64(control)) }

// beyondChance is the shift that pods which differ by podSpread, if that is known, and by what is seen of them now, next to never show
// in a look of a whole trial if the cohorts are alike. What is known was measured over a longer time, in which much evens out, so that it
// can't stand in for what is seen; but twice as much, look after look, is beyond chance however few the pods are.
func (c comparison) beyondChance(podSpread float64) float64 {
	seen, freedom := residualDeviation(c.strata)
	wide := width(c.sizes())
	bound := math.Ln2
	if freedom > 0 {
		bound = math.Min(bound, studentQuantile(seenSpreads, freedom)*seen*wide)
	}
	return math.Max(bound, knownSpreads*podSpread*wide)
}

const (
	// knownSpreads is how many standard deviations of the pods' lasting differences are beyond chance; they are drawn once a trial.
	knownSpreads = 3
	// seenSpreads is the same for differences seen at one look, of which a trial has many: a chance of 1 in 5000.
	seenSpreads = 3.54
)

// intervalText is such as "-0.9% to +4.4%"; with the confidence where it is not the usual one, and empty where there is none: of one pod against
// one nothing is known but the effect.
func (c comparison) intervalText() string {
	low, high, level := c.interval()
	if level < 1e-9 {
		return ""
	}
	text := effectText(low) + " to " + effectText(high)
	if level < confidence-1e-9 {
		text += fmt.Sprintf(" (%.0f%%)", 100*level)
	}
	return text
}

// effectOf a check, with its interval in brackets where it has one.
func effectOf(check v1alpha1.Check) string {
	if check.Interval == "" {
		return check.Effect
	}
	return check.Effect + " (" + check.Interval + ")"
}

// maxEffect bounds what an effect is written as: 10000 times as much.
const maxEffect = 9999

// effectText is the logarithm of a factor as a change in percent.
func effectText(log float64) string {
	tenths := math.Round(1000 * math.Min(maxEffect, math.Expm1(log)))
	if tenths == 0 {
		tenths = 0 // never -0
	}
	return fmt.Sprintf("%+.1f%%", tenths/10)
}
