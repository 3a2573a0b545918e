package verdict

import "math"

const (
	// confidence of intervals; each end is wrong with half of what is left.
	confidence = 0.90
	// exactPairs of pods bound the exact distribution: beyond, the normal one errs by less than a pair, and counts would no longer be
	// whole numbers in a float64.
	exactPairs = 400
)

// rankDistribution gives the chance of each value of the Mann-Whitney statistic, the number of pairs in which the canary pod lies above
// the control pod, summed over strata, if canary and control are alike. The counts are the coefficients of a Gaussian binomial (Mann and
// Whitney, Annals of Mathematical Statistics 18, 1947, 50).
func rankDistribution(strata []stratum) []float64 {
	all := []float64{1}
	for _, s := range strata {
		all = convolve(all, rankChances(len(s.canary), len(s.control)))
	}
	return all
}

func rankChances(n, m int) []float64 {
	counts := make([]float64, n*m+1)
	counts[0] = 1
	for i := 1; i <= n; i++ {
		for u := n * m; u >= m+i; u-- { // times 1-q^(m+i)
			counts[u] -= counts[u-m-i]
		}
		for u := i; u <= n*m; u++ { // over 1-q^i
			counts[u] += counts[u-i]
		}
	}
	all := choose(n+m, n)
	for u := range counts {
		counts[u] /= all
	}
	return counts
}

func convolve(a, b []float64) []float64 {
	out := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		for j, y := range b {
			out[i+j] += x * y
		}
	}
	return out
}

// cutPairs is how many of the ordered pairwise differences may be cut off at each end for an interval of the given confidence, and the
// confidence with none cut off.
func cutPairs(strata []stratum) (cut int, whole float64) {
	pairs, variance := 0, 0.0
	for _, s := range strata {
		n, m := len(s.canary), len(s.control)
		pairs += n * m
		variance += float64(n*m*(n+m+1)) / 12
	}
	if pairs > exactPairs {
		cut := math.Floor(float64(pairs)/2 - normalQuantile((1-confidence)/2)*math.Sqrt(variance))
		return int(math.Max(0, cut)), 1
	}
	chances := rankDistribution(strata)
	sum := 0.0
	for u := 0; 2*u < pairs; u++ {
		sum += chances[u]
		// 3 against 3 pods have their least chance at exactly 0.05: rounding must not take that from them.
		if sum > (1-confidence)/2+1e-9 {
			break
		}
		cut = u + 1
	}
	return cut, math.Max(0, 1-2*chances[0])
}
