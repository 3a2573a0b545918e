package verdict

import (
	"math"
	"testing"
	"time"
)

// tailByHand builds the distribution one request at a time.
func tailByHand(n, k int, p float64) float64 {
	chances := make([]float64, n+2)
	chances[0] = 1
	for range n {
		for bad := n; bad >= 0; bad-- {
			stays := chances[bad] * (1 - p)
			if bad > 0 {
				stays += chances[bad-1] * p
			}
			chances[bad] = stays
		}
	}
	sum := 0.0
	for bad := max(k, 0); bad <= n; bad++ {
		sum += chances[bad]
	}
	return sum
}

func TestTailAgainstTheDistribution(t *testing.T) {
	for _, n := range []int{1, 2, 7, 40, 150} {
		for _, p := range []float64{0.0005, 0.01, 0.1, 0.5, 0.9, 0.999} {
			for k := 0; k <= n; k++ {
				got, want := tail(float64(n), float64(k), p), tailByHand(n, k, p)
				if math.Abs(got-want) > 1e-10*math.Max(want, 1e-6) {
					t.Fatalf("tail(%d, %d, %v) = %v, want %v", n, k, p, got, want)
				}
			}
		}
	}
}

func TestTailExact(t *testing.T) {
	tests := map[string]struct{ n, k, p, want float64 }{
		"heads":                      {10, 5, 0.5, 0.623046875},
		"all heads":                  {10, 10, 0.5, 1.0 / 1024},
		"any of 100 at 1%":           {100, 1, 0.01, 1 - math.Pow(0.99, 100)},
		"none or more":               {100, 0, 0.01, 1},
		"below none":                 {100, -1, 0.01, 1},
		"more than there are":        {10, 11, 0.5, 0},
		"none allowed, one seen":     {100, 1, 0, 0},
		"none allowed, none seen":    {100, 0, 0, 1},
		"all allowed":                {100, 100, 1, 1},
		"all allowed, half seen":     {100, 50, 1, 1},
		"n is rounded up":            {9.2, 10, 0.5, 1.0 / 1024},
		"k is rounded down":          {10, 5.9, 0.5, 0.623046875},
		"less than one seen is none": {100, 0.9, 0.01, 1},
	}
	for name, test := range tests {
		if got := tail(test.n, test.k, test.p); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestTailOfManyRequests compares with the normal distribution, and must be through at once: a look at a busy service comes every few
// seconds. Adding up a thousand million terms would take minutes.
func TestTailOfManyRequests(t *testing.T) {
	started := time.Now()
	for _, n := range []float64{1e6, 1e8, 1e9, 1e15, 1e300} {
		for _, p := range []float64{0.001, 0.01, 0.5} {
			deviation := math.Sqrt(n * p * (1 - p))
			for _, z := range []float64{0, 1, 2, 3} {
				k := math.Round(n*p + z*deviation)
				want := normalTail((k-0.5-n*p)/deviation, (1-2*p)/deviation)
				if got := tail(n, k, p); n < 1e300 && math.Abs(got-want) > 0.01*want {
					t.Errorf("tail(%g, %g, %v) = %v, approximately %v", n, k, p, got, want)
				}
			}
			for _, k := range []float64{n * p * 1.9, n * (1 + p) / 2, n} {
				if got := tail(n, k, p); !(got < 1e-100) {
					t.Errorf("tail(%g, %g, %v) = %v", n, k, p, got)
				}
			}
		}
	}
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}

// TestTailWhereTheMethodChanges: the sum just below largeVariance and the approximation just above agree.
func TestTailWhereTheMethodChanges(t *testing.T) {
	for _, p := range []float64{0.0001, 0.01, 0.3, 0.9} {
		n := math.Floor(largeVariance / (p * (1 - p)))
		for _, z := range []float64{0.5, 2, 3.1, 5} {
			k := math.Round(n*p + z*math.Sqrt(n*p*(1-p)))
			summed, approximated := tail(n-2, k, p), tail(n+2/(p*(1-p)), k+math.Round(2/(1-p)), p)
			if math.Abs(summed-approximated) > 0.03*summed {
				t.Errorf("p=%v, z=%v: %v summed, %v approximated", p, z, summed, approximated)
			}
		}
	}
}

func FuzzTail(f *testing.F) {
	f.Add(1000.0, 20.0, 0.01)
	f.Add(99.5, 0.5, 0.0)
	f.Add(1e6, 1e6, 1.0)
	f.Add(1e300, 1e299, 0.01)
	f.Add(1e17, 1e15, 0.01)
	f.Fuzz(func(t *testing.T, n, k, p float64) {
		if !(n >= 0 && n <= 1e300) || !(k >= 0 && k <= n) || !(p >= 0 && p <= 1) {
			return
		}
		chance := tail(n, k, p)
		if !(chance >= 0 && chance <= 1) {
			t.Fatalf("tail(%v, %v, %v) = %v", n, k, p, chance)
		}
		if rarer := tail(n, k+1, p); rarer > chance+1e-4 {
			t.Fatalf("tail(%v, %v, %v) = %v, but %v for one more", n, k, p, chance, rarer)
		}
		if likelier := tail(n, k, math.Min(1, p*1.1)); likelier < chance-1e-4 {
			t.Fatalf("tail(%v, %v, %v) = %v, but %v for a greater chance", n, k, p, chance, likelier)
		}
	})
}
