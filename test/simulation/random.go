package simulation

import (
	"math"
	"math/rand/v2"
)

// fewExpected is where the normal distribution is not good enough for a count.
const fewExpected = 30

// poisson draws a count of so many expected events.
func poisson(random *rand.Rand, expected float64) float64 {
	if expected > fewExpected {
		return math.Max(0, math.Round(expected+math.Sqrt(expected)*random.NormFloat64()))
	}
	// Knuth, TAOCP 2, 3.4.1 F: events come at exponential distances.
	limit, product, count := math.Exp(-expected), random.Float64(), 0.0
	for product > limit {
		product *= random.Float64()
		count++
	}
	return count
}

// binomial draws how many of n succeed, each with the chance.
func binomial(random *rand.Rand, n, chance float64) float64 {
	switch {
	case n <= 0 || chance <= 0:
		return 0
	case chance >= 1:
		return n
	case chance > 0.5:
		return n - binomial(random, n, 1-chance)
	case n*chance > fewExpected:
		drawn := math.Round(n*chance + math.Sqrt(n*chance*(1-chance))*random.NormFloat64())
		return math.Max(0, math.Min(n, drawn))
	}
	// Geometric distances between successes: as many draws as there are successes.
	count, position, distance := 0.0, 0.0, math.Log1p(-chance)
	for {
		position += math.Floor(math.Log(1-random.Float64())/distance) + 1
		if position > n {
			return count
		}
		count++
	}
}

// spread is the factor by which the mean of n values with that coefficient of variation misses its expectation.
func spread(random *rand.Rand, variation, n float64) float64 {
	if n < 1 {
		return 1
	}
	return math.Max(0, 1+variation/math.Sqrt(n)*random.NormFloat64())
}
