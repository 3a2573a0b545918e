package verdict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

// trial draws a whole trial: the GC CPU time per request of each pod is lognormal around a factor, and so is each pod's traffic.
func trial(random *rand.Rand, canaries, controls int, factor, podDeviation float64) Input {
	in := passing()
	in.SLOs = nil
	in.Canary, in.Control = cohort("canary", canaries), cohort("control", controls)
	in.Recent, in.Evidence = window(in.Recent.Length), window(in.Evidence.Length)
	draw := func(members []Member, factor float64) {
		for _, member := range members {
			requests := 1000 * math.Exp(0.03*random.NormFloat64())
			pod := sample(0.02 * requests * factor * math.Exp(podDeviation*random.NormFloat64()))
			pod.Requests, pod.CPUSeconds, pod.RequestSeconds = present(requests), present(requests/10), present(requests/50)
			in.Recent.Pods[member.Name], in.Evidence.Pods[member.Name] = pod, pod
		}
	}
	draw(in.Canary, factor)
	draw(in.Control, 1)
	return in
}

// promoted is the share of simulated trials whose gain passes.
func promoted(trials, canaries, controls int, factor, podDeviation float64, gain Gain) float64 {
	random := rand.New(rand.NewPCG(uint64(canaries*100+controls), math.Float64bits(factor+podDeviation)))
	passed := 0
	for range trials {
		in := trial(random, canaries, controls, factor, podDeviation)
		in.Gain = gain
		if gainCheck(in).Outcome == v1alpha1.OutcomePass {
			passed++
		}
	}
	return float64(passed) / float64(trials)
}

// samplingError is three standard errors of a share.
func samplingError(share float64, trials int) float64 {
	return 3 * math.Sqrt(share*(1-share)/float64(trials))
}

// TestFalsePromotions: a candidate that does nothing is promoted in at most one of twenty trials, however unlike the pods are.
func TestFalsePromotions(t *testing.T) {
	const trials = 400
	for _, size := range [][2]int{{3, 3}, {4, 8}, {2, 10}} {
		for _, deviation := range []float64{0.01, 0.03, 0.06, 0.10} {
			rate := promoted(trials, size[0], size[1], 1, deviation, Gain{MinShare: 0.05, MinCPUShare: 0.01})
			if rate > Significance+samplingError(Significance, trials) {
				t.Errorf("%d v %d, pods differ by %v: %.3f of null trials are promoted", size[0], size[1], deviation, rate)
			}
		}
	}
}

// TestFalsePromotionsWithoutAMinimum asks for no minimum, so that the statistics alone decide: their level is exact, neither more, nor
// much less, which would be wasted power.
func TestFalsePromotionsWithoutAMinimum(t *testing.T) {
	const trials = 1500
	for _, size := range [][2]int{{3, 3}, {4, 4}, {6, 6}} {
		level := math.Floor(Significance/LeastChance(size[0], size[1])+1e-9) * LeastChance(size[0], size[1])
		rate := promoted(trials, size[0], size[1], 1, 0.05, Gain{})
		if math.Abs(rate-level) > samplingError(level, trials) {
			t.Errorf("%d v %d: %.4f of null trials are promoted, the test's level is %.4f", size[0], size[1], rate, level)
		}
	}
}

// TestHarmIsNotPromoted: a candidate that makes the collector dearer has next to no chance.
func TestHarmIsNotPromoted(t *testing.T) {
	if rate := promoted(1000, 3, 3, 1.3, 0.06, Gain{MinShare: 0.05, MinCPUShare: 0.01}); rate > 0.001 {
		t.Errorf("%.4f of harmful candidates are promoted", rate)
	}
}

func TestPower(t *testing.T) {
	tests := []struct {
		canaries, controls       int
		gain, deviation, atLeast float64
	}{
		{3, 3, 0.30, 0.06, 0.99},
		{3, 3, 0.50, 0.10, 0.99},
		{4, 8, 0.15, 0.06, 0.90},
		{8, 8, 0.15, 0.06, 0.95},
		{40, 40, 0.15, 0.06, 0.99}, // drawn arrangements
	}
	for _, test := range tests {
		trials := 250
		if test.canaries > 20 {
			trials = 10
		}
		rate := promoted(trials, test.canaries, test.controls, 1-test.gain, test.deviation, Gain{MinShare: 0.05, MinCPUShare: 0.01})
		if rate < test.atLeast {
			t.Errorf("%+v: %.3f of trials are promoted", test, rate)
		}
	}
}

// TestFalseReverts: a canary at a tenth below the allowed share is next to never reverted, over thirty looks that each see a fresh
// window; one at three times the allowed share is reverted within a few looks.
func TestFalseReverts(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	const trials, looks, requests = 200, 30, 900
	reverts, misses := 0, 0
	for range trials {
		good, bad := false, false
		for look := range looks {
			good = good || breaks(draws(random, requests, 0.009), requests)
			if look < 3 {
				bad = bad || breaks(draws(random, requests, 0.03), requests)
			}
		}
		if good {
			reverts++
		}
		if !bad {
			misses++
		}
	}
	if reverts > trials/20 {
		t.Errorf("%d of %d trials within the limit are reverted", reverts, trials)
	}
	if misses > 0 {
		t.Errorf("%d of %d trials at three times the limit are not reverted in three looks", misses, trials)
	}
}

func breaks(failed, requests int) bool {
	pod := signal.Pod{Requests: present(float64(requests)), FailedRequests: present(float64(failed))}
	return sloOn(errorsSLO, []signal.Pod{pod}).Outcome == v1alpha1.OutcomeFail
}

func draws(random *rand.Rand, n int, chance float64) int {
	hits := 0
	for range n {
		if random.Float64() < chance {
			hits++
		}
	}
	return hits
}
