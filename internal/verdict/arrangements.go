package verdict

import (
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

// stratum holds the values of the pods of one node, or of all where nodes are not told apart.
type stratum struct{ canary, control []float64 }

// lowerTail is the chance, were canary and control alike on each node, that exchanging them within the nodes gives a sum of canary
// values at least as low as the one seen. What the nodes themselves do to their pods cancels.
func lowerTail(strata []stratum) float64 {
	seen, possible := 0.0, 1.0
	walks := make([]*arrangements, 0, len(strata))
	for _, s := range strata {
		seen += total(s.canary)
		possible *= choose(len(s.canary)+len(s.control), len(s.canary))
		walks = append(walks, newArrangements(slices.Concat(s.canary, s.control), len(s.canary)))
	}
	limit := seen + 1e-12*math.Max(1, math.Abs(seen))
	if possible <= maxArrangements {
		return float64(countAll(walks, limit)) / possible
	}
	return float64(countDrawn(walks, limit)) / drawnArrangements
}

// leastTail is the smallest value that lowerTail can give with strata of these sizes.
func leastTail(strata []stratum) float64 {
	least := 1.0
	for _, s := range strata {
		least *= LeastChance(len(s.canary), len(s.control))
	}
	if 1/least > maxArrangements {
		return 1.0 / drawnArrangements
	}
	return least
}

// countAll counts the combinations of arrangements whose sums together are at most limit.
func countAll(walks []*arrangements, limit float64) int {
	if len(walks) == 0 {
		if limit >= 0 {
			return 1
		}
		return 0
	}
	count := 0
	walks[0].first()
	for more := true; more; more = walks[0].step() {
		count += countAll(walks[1:], limit-walks[0].sum())
	}
	return count
}

// countDrawn counts among so many drawn combinations, the first being the one that was seen, so that the answer is never 0. The seed is
// fixed: a verdict must be reproducible.
func countDrawn(walks []*arrangements, limit float64) int {
	random := generator(0x9e3779b97f4a7c15)
	count := 1
	for range drawnArrangements - 1 {
		sum := 0.0
		for _, walk := range walks {
			walk.shuffle(&random)
			sum += walk.sum()
		}
		if sum <= limit {
			count++
		}
	}
	return count
}

// arrangements walks through the ways to choose some of a list of values.
type arrangements struct {
	values []float64
	chosen []int
	// sums[i] is the sum of the first i chosen values.
	sums []float64
}

func newArrangements(values []float64, k int) *arrangements {
	a := &arrangements{values: values, chosen: make([]int, k), sums: make([]float64, k+1)}
	a.first()
	return a
}

func (a *arrangements) sum() float64 { return a.sums[len(a.chosen)] }

// first chooses the first values.
func (a *arrangements) first() { a.fill(0, 0) }

// fill chooses consecutive values from the i-th on.
func (a *arrangements) fill(i, value int) {
	for j := i; j < len(a.chosen); j++ {
		a.chosen[j] = value + j - i
		a.sums[j+1] = a.sums[j] + a.values[a.chosen[j]]
	}
}

// step goes to the next combination in lexicographic order; false after the last.
func (a *arrangements) step() bool {
	k, n := len(a.chosen), len(a.values)
	for i := k - 1; i >= 0; i-- {
		if a.chosen[i] < n-k+i {
			a.fill(i, a.chosen[i]+1)
			return true
		}
	}
	return false
}

// shuffle draws a combination by selection sampling (Knuth, TAOCP 2, 3.4.2 S).
func (a *arrangements) shuffle(random *generator) {
	taken, k, n := 0, len(a.chosen), len(a.values)
	for i := 0; i < n && taken < k; i++ {
		if random.next()*float64(n-i) < float64(k-taken) {
			a.chosen[taken] = i
			a.sums[taken+1] = a.sums[taken] + a.values[i]
			taken++
		}
	}
}

// generator is Marsaglia's xorshift (Journal of Statistical Software 8, 2003, issue 14).
type generator uint64

func (g *generator) next() float64 {
	*g ^= *g << 13
	*g ^= *g >> 7
	*g ^= *g << 17
	return float64(*g>>11) / (1 << 53)
}
