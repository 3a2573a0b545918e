package verdict

import (
	"math"
	"math/rand/v2"
	"testing"
)

func sized(sizes ...int) []stratum {
	var strata []stratum
	for i := 0; i < len(sizes); i += 2 {
		strata = append(strata, stratum{make([]float64, sizes[i]), make([]float64, sizes[i+1])})
	}
	return strata
}

// TestCutPairs holds against the published critical values of the Mann-Whitney statistic at 0.05, one-sided: as many pairs and one more.
func TestCutPairs(t *testing.T) {
	tests := []struct {
		strata []stratum
		cut    int
		whole  float64
	}{
		{sized(1, 1), 0, 0}, {sized(1, 9), 0, 0.8}, {sized(1, 19), 1, 0.9}, {sized(2, 2), 0, 1 - 2.0/6}, {sized(2, 3), 0, 0.8}, {sized(2, 5), 1, 1 - 2.0/21},
		{sized(3, 3), 1, 0.9}, {sized(3, 4), 1, 1 - 2.0/35}, {sized(3, 5), 2, 1 - 2.0/56}, {sized(4, 4), 2, 1 - 2.0/70}, {sized(5, 5), 5, 1 - 2.0/252},
		{sized(4, 8), 6, 1 - 2.0/495}, {sized(8, 4), 6, 1 - 2.0/495}, {sized(8, 8), 16, 1 - 2.0/12870}, {sized(10, 10), 28, 1}, {sized(20, 20), 139, 1},
		{sized(1, 1, 1, 1), 0, 0.5}, {sized(1, 2, 1, 2, 1, 2), 1, 1 - 2.0/27}, {sized(2, 2, 1, 1), 0, 1 - 2.0/12}, {sized(2, 2, 2, 2), 1, 1 - 2.0/36},
	}
	for _, test := range tests {
		cut, whole := cutPairs(test.strata)
		if cut != test.cut || math.Abs(whole-test.whole) > 2e-5 {
			t.Errorf("%d strata, the first %d v %d: %d pairs, whole %.4f; want %d, %.4f", len(test.strata), len(test.strata[0].canary), len(test.strata[0].control),
				cut, whole, test.cut, test.whole)
		}
	}
}

// TestCutPairsOfManyPods: beyond the exact distribution the normal one has to agree with it.
func TestCutPairsOfManyPods(t *testing.T) {
	for _, sizes := range [][]int{{21, 20}, {25, 25}, {10, 41}, {8, 30, 9, 30}} {
		strata := sized(sizes...)
		sum, want := 0.0, 0
		for _, chance := range rankDistribution(strata) {
			if sum += chance; sum > 0.05 {
				break
			}
			want++
		}
		if got, whole := cutPairs(strata); math.Abs(float64(got-want)) > 1 || whole != 1 {
			t.Errorf("%v: %d pairs are cut off, exactly %d", sizes, got, want)
		}
	}
	if got, _ := cutPairs(sized(1, 401)); got != 9 { // exactly 20: an interval that is too wide does no harm
		t.Errorf("1 v 401: %d pairs are cut off", got)
	}
}

func TestRankChances(t *testing.T) {
	for n := range 6 {
		for m := range 6 {
			counts := make([]float64, n*m+1)
			a := newArrangements(ascending(0, n+m), n)
			for more := true; more; more = a.step() {
				counts[int(a.sum())-n*(n-1)/2]++
			}
			for u, got := range rankChances(n, m) {
				if want := counts[u] / choose(n+m, n); math.Abs(got-want) > 1e-12 {
					t.Errorf("%d v %d: chance of %d is %v, want %v", n, m, u, got, want)
				}
			}
		}
	}
}

// TestIntervalCovers: the interval holds the true shift nine times out of ten, whatever the nodes do, and is not much wider than that.
func TestIntervalCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const trials, shift = 1500, 0.7
	for _, nodes := range []int{1, 3} {
		covered := 0
		for range trials {
			var canary, control []replicate
			for pod := range 18 {
				node := pod % nodes
				one := replicate{node: string(rune('a' + node)), log: 10*float64(node) + random.NormFloat64()}
				if pod < 6 {
					one.log += shift
					canary = append(canary, one)
				} else {
					control = append(control, one)
				}
			}
			if low, high, level := compare(canary, control).interval(); low <= shift && shift <= high && level == confidence {
				covered++
			}
		}
		if rate := float64(covered) / trials; rate < 0.88 || rate > 0.94 {
			t.Errorf("%d nodes: %.3f of the intervals hold the shift", nodes, rate)
		}
	}
}
