package main

import "math"

// quantile95 of the standard normal distribution, two-sided.
const quantile95 = 1.959964

// wilson is the 95 % interval of a chance of which hits of n were seen (Wilson, Journal of the American Statistical Association 22, 1927, 209). It
// does not collapse where none, or all, were hits.
func wilson(hits, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	trials, share := float64(n), float64(hits)/float64(n)
	spread := quantile95 * quantile95 / trials
	middle := (share + spread/2) / (1 + spread)
	half := quantile95 / (1 + spread) * math.Sqrt(share*(1-share)/trials+spread/(4*trials))
	return math.Max(0, middle-half), math.Min(1, middle+half)
}
