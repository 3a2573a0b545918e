package verdict

import "math"

// largeVariance is where the normal distribution, corrected for skewness, is as good as the sum, which would take ever longer: without
// it a count that nobody can have counted would stop the manager for good.
const largeVariance = 1e6

// tail is the chance of at least k of n requests being bad where each is with probability p: the binomial distribution's upper tail.
// n and k need not be whole, since Prometheus extrapolates; they are rounded to the careful side.
func tail(n, k, p float64) float64 {
	n, k = math.Ceil(n), math.Floor(k)
	switch {
	case k <= 0 || p >= 1:
		return 1
	case p <= 0:
		return 0
	case n*p*(1-p) > largeVariance:
		deviation := math.Sqrt(n * p * (1 - p))
		return normalTail((k-0.5-n*p)/deviation, (1-2*p)/deviation)
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

// normalTail is the upper tail of the normal distribution with the first term of the Edgeworth series.
func normalTail(z, skewness float64) float64 {
	const beyond = 38 // there the chance is less than the smallest float64
	if z > beyond {
		return 0
	}
	chance := 0.5*math.Erfc(z/math.Sqrt2) + skewness/6*(z*z-1)*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
	return math.Max(0, math.Min(1, chance))
}

func logChoose(n, k float64) float64 {
	all, _ := math.Lgamma(n + 1)
	chosen, _ := math.Lgamma(k + 1)
	left, _ := math.Lgamma(n - k + 1)
	return all - chosen - left
}
