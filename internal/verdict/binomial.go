package verdict

import "math"

// tail is the chance of at least k of n requests being bad where each is with probability p: the binomial distribution's upper tail.
// n and k need not be whole, since Prometheus extrapolates; they are rounded to the careful side.
func tail(n, k, p float64) float64 {
	n, k = math.Ceil(n), math.Floor(k)
	switch {
	case k <= 0 || p >= 1:
		return 1
	case p <= 0:
		return 0
	}
	sum := 0.0
	for i := k; i <= n; i++ {
		term := math.Exp(logChoose(n, i) + i*math.Log(p) + (n-i)*math.Log1p(-p))
		sum += term
		// Beyond the mean terms only fall; far beyond they are 0 from the first on, and a million of them must not be added up.
		if i > n*p && term <= sum*1e-12 {
			break
		}
	}
	return math.Min(1, sum)
}

func logChoose(n, k float64) float64 {
	all, _ := math.Lgamma(n + 1)
	chosen, _ := math.Lgamma(k + 1)
	left, _ := math.Lgamma(n - k + 1)
	return all - chosen - left
}
