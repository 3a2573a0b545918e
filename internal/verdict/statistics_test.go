package verdict

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// bruteForce is the permutation test by definition: all subsets of so many pods.
func bruteForce(canary, control []float64) float64 {
	all := append(append([]float64{}, canary...), control...)
	seen := 0.0
	for _, x := range canary {
		seen += x
	}
	asLow, subsets := 0, 0
	for set := uint(0); set < 1<<len(all); set++ {
		if bits.OnesCount(set) != len(canary) {
			continue
		}
		subsets++
		sum := 0.0
		for rest := set; rest != 0; rest &= rest - 1 {
			sum += all[bits.TrailingZeros(rest)]
		}
		if sum <= seen+1e-9 {
			asLow++
		}
	}
	return float64(asLow) / float64(subsets)
}

func ascending(from float64, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = from + float64(i)
	}
	return values
}

func TestPermutationTestKnownValues(t *testing.T) {
	tenth, fifth := 0.1, 0.2
	three := tenth + fifth // 0.30000000000000004
	tests := map[string]struct {
		canary, control []float64
		want            float64
	}{
		"3 v 3, all below":        {ascending(1, 3), ascending(10, 3), 0.05},
		"3 v 3, all above":        {ascending(10, 3), ascending(1, 3), 1},
		"3 v 3, one exchanged":    {[]float64{1, 2, 4}, []float64{3, 5, 6}, 0.1},
		"3 v 10, all below":       {ascending(1, 3), ascending(20, 10), 1.0 / 286},
		"2 v 20, all below":       {ascending(1, 2), ascending(30, 20), 1.0 / 231},
		"4 v 8, all below":        {ascending(1, 4), ascending(30, 8), 1.0 / 495},
		"1 v 20, below":           {ascending(1, 1), ascending(30, 20), 1.0 / 21},
		"1 v 1, below":            {ascending(1, 1), ascending(2, 1), 0.5},
		"ties count against it":   {[]float64{1, 1, 1}, []float64{1, 1, 1}, 1},
		"half a tie":              {[]float64{1, 2}, []float64{2, 3}, 2.0 / 6},
		"rounding is no evidence": {[]float64{0.3, 0.4}, []float64{three, 0.4}, 5.0 / 6},
		"no canary":               {nil, ascending(1, 3), 1},
		"no control":              {ascending(1, 3), nil, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := PermutationTest(test.canary, test.control); math.Abs(got-test.want) > 1e-12 {
				t.Errorf("p=%v, want %v", got, test.want)
			}
		})
	}
	if p := PermutationTest(ascending(1, 3), ascending(10, 3)); p > Significance {
		t.Errorf("complete separation of 3 v 3 gives p=%v, which has to be enough", p)
	}
}

func TestPermutationTestAgainstBruteForce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		canary, control := noise(random, 1+random.IntN(6), 0, 1), noise(random, 1+random.IntN(7), 0.3, 1)
		if random.IntN(3) == 0 { // ties
			for _, values := range [][]float64{canary, control} {
				for i := range values {
					values[i] = math.Round(values[i])
				}
			}
		}
		got, want := PermutationTest(canary, control), bruteForce(canary, control)
		if math.Abs(got-want) > 1e-12 {
			t.Fatalf("%v against %v: p=%v, want %v", canary, control, got, want)
		}
		if least := LeastChance(len(canary), len(control)); got < least*(1-1e-12) || got > 1 {
			t.Fatalf("p=%v outside %v to 1", got, least)
		}
	}
}

// TestPermutationTestDrawn compares drawn arrangements, for cohorts with 350 thousand of them, with all of them.
func TestPermutationTestDrawn(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, shift := range []float64{0, -0.6, -2} {
		canary, control := noise(random, 11, shift, 1), noise(random, 10, 0, 1)
		want := bruteForce(canary, control)
		got := PermutationTest(canary, control)
		if tolerance := 4*math.Sqrt(want*(1-want)/drawnArrangements) + 2.0/drawnArrangements; math.Abs(got-want) > tolerance {
			t.Errorf("shift %v: p=%v, all arrangements give %v", shift, got, want)
		}
		if again := PermutationTest(canary, control); again != got {
			t.Errorf("p=%v, and asked again %v", got, again)
		}
	}
	if got := PermutationTest(ascending(0, 40), ascending(100, 40)); got != 1.0/drawnArrangements {
		t.Errorf("complete separation of 40 v 40: p=%v, want the least that can be drawn", got)
	}
}

// TestDrawnArrangementsAreFair counts how often each pod is drawn.
func TestDrawnArrangementsAreFair(t *testing.T) {
	const pods, chosen, draws = 30, 11, 20_000
	drawn := newArrangements(ascending(0, pods), chosen)
	random := generator(1)
	var counts [pods]int
	for range draws {
		drawn.shuffle(&random)
		before, sum := -1, 0.0
		for _, i := range drawn.chosen {
			if i <= before || i >= pods {
				t.Fatalf("%v is no combination", drawn.chosen)
			}
			counts[i]++
			before, sum = i, sum+float64(i)
		}
		if drawn.sum() != sum {
			t.Fatalf("the sum of %v is said to be %v", drawn.chosen, drawn.sum())
		}
	}
	const share = float64(chosen) / pods
	for i, count := range counts {
		if off := math.Abs(float64(count)/float64(draws) - share); off > 4.5*math.Sqrt(share*(1-share)/float64(draws)) {
			t.Errorf("pod %d is in %d of %d draws", i, count, draws)
		}
	}
}

func TestLeastChance(t *testing.T) {
	tests := []struct {
		canary, control int
		want            float64
	}{
		{0, 5, 1}, {5, 0, 1}, {-1, 3, 1}, {1, 1, 0.5}, {1, 19, 0.05}, {2, 2, 1.0 / 6}, {2, 4, 1.0 / 15}, {2, 5, 1.0 / 21}, {3, 3, 0.05},
		{2, 20, 1.0 / 231}, {4, 8, 1.0 / 495}, {8, 4, 1.0 / 495}, {10, 10, 1.0 / 184756},
	}
	for _, test := range tests {
		got := LeastChance(test.canary, test.control)
		if math.Abs(got-test.want) > 1e-15 {
			t.Errorf("LeastChance(%d, %d) = %v, want %v", test.canary, test.control, got, test.want)
		}
		if test.canary > 0 && test.control > 0 {
			if seen := PermutationTest(ascending(0, test.canary), ascending(100, test.control)); math.Abs(seen-got) > 1e-15 {
				t.Errorf("%d v %d, separated: p=%v, LeastChance %v", test.canary, test.control, seen, got)
			}
		}
	}
	if got := LeastChance(500, 500); got <= 0 || got > 1e-250 {
		t.Errorf("LeastChance(500, 500) = %v", got)
	}
}

func TestHodgesLehmann(t *testing.T) {
	tests := map[string]struct {
		a, b []float64
		want float64
	}{
		"one pair":         {[]float64{3}, []float64{1}, 2},
		"shifted":          {[]float64{1, 2, 3}, []float64{11, 12, 13}, -10},
		"even number":      {[]float64{1, 2}, []float64{0}, 1.5},
		"one odd pod":      {[]float64{1, 2, 1000}, []float64{11, 12, 13}, -10},
		"not the means'":   {[]float64{0, 0, 9}, []float64{0, 0, 0}, 0},
		"unequal cohorts":  {[]float64{5}, []float64{1, 2, 9}, 3},
		"order is nothing": {[]float64{3, 1, 2}, []float64{12, 13, 11}, -10},
	}
	for name, test := range tests {
		if got := HodgesLehmann(test.a, test.b); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
		if back := HodgesLehmann(test.b, test.a); back != -test.want {
			t.Errorf("%s, the other way round: %v, want %v", name, back, -test.want)
		}
	}
	if got := HodgesLehmann(nil, []float64{1}); !math.IsNaN(got) {
		t.Errorf("nothing to compare gives %v", got)
	}
}

func TestMedianLeavesItsInputAlone(t *testing.T) {
	values := []float64{3, 1, 2, 10}
	if got := median(values); got != 2.5 || values[0] != 3 {
		t.Errorf("median %v, input now %v", got, values)
	}
}

func FuzzPermutationTest(f *testing.F) {
	f.Add(uint8(3), uint8(3), uint64(1))
	f.Add(uint8(40), uint8(40), uint64(2))
	f.Add(uint8(0), uint8(9), uint64(3))
	f.Fuzz(func(t *testing.T, canaries, controls uint8, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		canary, control := noise(random, int(canaries)%60, 0, 3), noise(random, int(controls)%60, 0, 3)
		p := PermutationTest(canary, control)
		if !(p > 0 && p <= 1) {
			t.Fatalf("%d v %d: p=%v", len(canary), len(control), p)
		}
		for i := range canary {
			canary[i] -= 100
		}
		if lower := PermutationTest(canary, control); lower > p {
			t.Fatalf("%d v %d: p rises from %v to %v as the canary falls", len(canary), len(control), p, lower)
		}
	})
}

// noise gives normally distributed values.
func noise(random *rand.Rand, n int, mean, deviation float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = mean + deviation*random.NormFloat64()
	}
	return values
}
