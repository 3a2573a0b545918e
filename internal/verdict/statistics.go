package verdict

import (
	"cmp"
	"math"
	"slices"
)

// HodgesLehmann estimates by how much a lies above b: the median of all pairwise differences. One odd pod does not move it far.
func HodgesLehmann(a, b []float64) float64 {
	return median(differences(a, b))
}

func differences(a, b []float64) []float64 {
	all := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			all = append(all, x-y)
		}
	}
	return all
}

// PermutationTest is the one-sided exact permutation test: the chance, were canary and control alike, that a split of all pods has a
// canary mean at least as low as the one seen. It assumes nothing of the distribution. Its least value is LeastChance,
// or one in drawnArrangements for large cohorts.
func PermutationTest(canary, control []float64) float64 {
	return lowerTail([]stratum{{canary, control}})
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

// normalQuantile is the value that a standard normal variable exceeds with the given chance.
func normalQuantile(chance float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*chance) }

// studentQuantile is the value that Student's t exceeds with the same chance as a standard normal variable exceeds z, by Wallace's
// approximation (Annals of Mathematical Statistics 30, 1959, 1124). Below one degree of freedom nothing is beyond chance.
func studentQuantile(z float64, freedom int) float64 {
	if freedom < 1 {
		return math.Inf(1)
	}
	degrees := float64(freedom)
	return math.Sqrt(degrees * math.Expm1(z*z/degrees))
}

// residualDeviation is the standard deviation of a pod's value once the strata's own levels and one difference between canary and
// control are taken out of it, and its degrees of freedom: the residual of a two-way layout without interaction.
func residualDeviation(strata []stratum) (deviation float64, freedom int) {
	squares, weights, weighted := 0.0, 0.0, 0.0
	freedom = -1
	for _, s := range strata {
		weight := 1 / (1/float64(len(s.canary)) + 1/float64(len(s.control)))
		weights += weight
		weighted += weight * s.difference()
		freedom += len(s.canary) + len(s.control) - 1
	}
	for _, s := range strata {
		weight := 1 / (1/float64(len(s.canary)) + 1/float64(len(s.control)))
		off := s.difference() - weighted/weights
		squares += squaresAround(s.canary) + squaresAround(s.control) + weight*off*off
	}
	if freedom < 1 {
		return 0, 0
	}
	return math.Sqrt(squares / float64(freedom)), freedom
}

func (s stratum) difference() float64 { return mean(s.canary) - mean(s.control) }

func squaresAround(values []float64) float64 {
	squares, middle := 0.0, mean(values)
	for _, value := range values {
		squares += (value - middle) * (value - middle)
	}
	return squares
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile interpolates between the two values that lie nearest.
func quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.SortedFunc(slices.Values(values), cmp.Compare[float64])
	position := share * float64(len(sorted)-1)
	below := int(position)
	if above := position - float64(below); above > 0 {
		return sorted[below]*(1-above) + sorted[below+1]*above
	}
	return sorted[below]
}

func total(values []float64) float64 {
	sum := 0.0
	for _, value := range values {
		sum += value
	}
	return sum
}

func mean(values []float64) float64 { return total(values) / float64(len(values)) }
