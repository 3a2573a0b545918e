package verdict

import (
	"cmp"
	"math"
	"slices"
)

const (
	// maxArrangements bounds the exact test.
	maxArrangements = 200_000
	// drawnArrangements are drawn at random where there are more. At a chance of 0.05 that errs by 0.0015, and since what was seen counts
	// as one of them, the test holds its level all the same.
	drawnArrangements = 20_000
)

// HodgesLehmann estimates by how much a lies above b: the median of all pairwise differences. One odd pod does not move it far.
func HodgesLehmann(a, b []float64) float64 {
	differences := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			differences = append(differences, x-y)
		}
	}
	return median(differences)
}

// PermutationTest is the one-sided exact permutation test: the chance, were canary and control alike, that a split of all pods has a
// canary mean at least as low as the one seen. It assumes nothing of the distribution. Its least value is LeastChance,
// or one in drawnArrangements for large cohorts.
func PermutationTest(canary, control []float64) float64 {
	all := append(append([]float64{}, canary...), control...)
	seen := total(canary)
	arrangements := newArrangements(len(all), len(canary))
	asLow, tried := 0, 0
	for arrangements.next() {
		sum := 0.0
		for _, i := range arrangements.chosen {
			sum += all[i]
		}
		if sum <= seen+1e-12*math.Max(1, math.Abs(seen)) {
			asLow++
		}
		tried++
	}
	return float64(asLow) / float64(tried)
}

// LeastChance is the smallest value that PermutationTest can give with so many pods: 1/C(canary+control, canary).
func LeastChance(canary, control int) float64 {
	if canary < 1 || control < 1 {
		return 1
	}
	return 1 / choose(canary+control, canary)
}

func choose(n, k int) float64 {
	result := 1.0
	for i := 1; i <= k; i++ {
		result = result * float64(n-k+i) / float64(i)
	}
	return math.Round(result)
}

// arrangements walks through the ways to choose k of n pods, in order. Where there are more than maxArrangements, it draws some
// with a fixed seed, the first being the one that was seen, so that the answer is never 0 and is the same each time.
type arrangements struct {
	n      int
	chosen []int
	fresh  bool
	left   int
	random uint64
	exact  bool
}

func newArrangements(n, k int) *arrangements {
	a := &arrangements{n: n, chosen: make([]int, k), fresh: true, left: drawnArrangements, random: 0x9e3779b97f4a7c15}
	for i := range a.chosen {
		a.chosen[i] = i
	}
	a.exact = choose(n, k) <= maxArrangements
	return a
}

func (a *arrangements) next() bool {
	if a.fresh {
		a.fresh = false
		return true
	}
	if a.exact {
		return a.step()
	}
	a.left--
	a.shuffle()
	return a.left > 0
}

// step goes to the next combination in lexicographic order.
func (a *arrangements) step() bool {
	k := len(a.chosen)
	for i := k - 1; i >= 0; i-- {
		if a.chosen[i] < a.n-k+i {
			a.chosen[i]++
			for j := i + 1; j < k; j++ {
				a.chosen[j] = a.chosen[j-1] + 1
			}
			return true
		}
	}
	return false
}

// shuffle draws a combination by selection sampling (Knuth, TAOCP 2, 3.4.2 S), with a fixed seed: a verdict must be reproducible.
func (a *arrangements) shuffle() {
	taken, k := 0, len(a.chosen)
	for i := 0; i < a.n && taken < k; i++ {
		a.random ^= a.random << 13
		a.random ^= a.random >> 7
		a.random ^= a.random << 17
		if float64(a.random>>11)/(1<<53)*float64(a.n-i) < float64(k-taken) {
			a.chosen[taken] = i
			taken++
		}
	}
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.SortedFunc(slices.Values(values), cmp.Compare[float64])
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

func total(values []float64) float64 {
	sum := 0.0
	for _, value := range values {
		sum += value
	}
	return sum
}

func mean(values []float64) float64 { return total(values) / float64(len(values)) }
