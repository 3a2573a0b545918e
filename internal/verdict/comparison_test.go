package verdict

import (
	"math"
	"math/rand/v2"
	"testing"
)

// on gives pods of one node.
func on(node string, values ...float64) []replicate {
	var out []replicate
	for _, value := range values {
		out = append(out, replicate{node, value})
	}
	return out
}

func join(groups ...[]replicate) []replicate {
	var all []replicate
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}

func TestCompareWithinNodes(t *testing.T) {
	one := func(node string, n int) []replicate { return on(node, make([]float64, n)...) }
	tests := map[string]struct {
		canary, control []replicate
		strata          int
		imbalance       bool
		pods            [2]int
	}{
		"one node":                          {one("a", 3), one("a", 3), 1, false, [2]int{3, 3}},
		"nodes not known":                   {one("", 3), one("", 3), 1, false, [2]int{3, 3}},
		"a node not known":                  {join(one("a", 3), one("b", 3)), join(one("a", 3), one("", 3)), 1, false, [2]int{6, 6}},
		"three nodes of 1 v 1 never do":     {join(one("a", 1), one("b", 1), one("c", 1)), join(one("a", 1), one("b", 1), one("c", 1)), 1, true, [2]int{3, 3}},
		"three nodes of 1 v 2 can":          {join(one("a", 1), one("b", 1), one("c", 1)), join(one("a", 2), one("b", 2), one("c", 2)), 3, false, [2]int{3, 6}},
		"3 v 3 on one of two nodes just do": {join(one("a", 3), one("b", 1)), one("a", 3), 1, false, [2]int{3, 3}},
		"and with a control pod elsewhere":  {one("a", 3), join(one("a", 3), one("b", 1)), 1, false, [2]int{3, 3}},
		"3 v 2 do not":                      {join(one("a", 3), one("b", 1)), join(one("a", 2), one("c", 1)), 1, true, [2]int{4, 3}},
		"no node in common":                 {one("a", 4), one("b", 4), 1, true, [2]int{4, 4}},
		"no pods":                           {nil, nil, 1, false, [2]int{0, 0}},
	}
	for name, test := range tests {
		c := compare(test.canary, test.control)
		n, m := c.sizes()
		if len(c.strata) != test.strata || c.imbalance != test.imbalance || [2]int{n, m} != test.pods {
			t.Errorf("%s: %d strata, imbalance %t, %d v %d pods; want %+v", name, len(c.strata), c.imbalance, n, m, test)
		}
	}
}

// TestNodesCancel: what nodes do to their pods changes no figure of a comparison within nodes, and ruins one across them.
func TestNodesCancel(t *testing.T) {
	level := 0.0
	build := func() comparison {
		return compare(join(on("a", 1), on("b", 2+level), on("c", 3+2*level)), join(on("a", 2, 2.5), on("b", 3+level, 3.25+level), on("c", 4+2*level, 9+2*level)))
	}
	flat := build()
	level = 100
	steep := build()
	if flat.shift() != -1.125 || steep.shift() != flat.shift() {
		t.Errorf("shift %v on equal nodes, %v on unequal ones", flat.shift(), steep.shift())
	}
	if a, b := flat.chanceBelow(0), steep.chanceBelow(0); math.Abs(a-1.0/27) > 1e-12 || math.Abs(a-b) > 1e-12 {
		t.Errorf("chance %v on equal nodes, %v on unequal ones, want 1/27", a, b)
	}
	if a, b := flat.beyondChance(0), steep.beyondChance(0); math.Abs(a-b) > 1e-9 || a <= 0 {
		t.Errorf("beyond chance is %v on equal nodes, %v on unequal ones", a, b)
	}
	low, high, level90 := steep.interval()
	if low != -6 || high != -1 || level90 != 0.9 {
		t.Errorf("interval %v to %v at %v", low, high, level90)
	}
}

func TestChancesAndMargins(t *testing.T) {
	c := compare(on("", 1, 2, 3), on("", 4, 5, 6))
	tests := map[string]struct{ got, want float64 }{
		"below 0":               {c.chanceBelow(0), 0.05},
		"below 10":              {c.chanceBelow(10), 0.05},
		"below -1, a tie":       {c.chanceBelow(-1), 0.1},
		"below -2.01":           {c.chanceBelow(-2.01), 0.25},
		"below -6":              {c.chanceBelow(-6), 1},
		"above 0":               {c.chanceAbove(0), 1},
		"above -6":              {c.chanceAbove(-6), 0.05},
		"above -5, a tie":       {c.chanceAbove(-5), 0.1},
		"shift":                 {c.shift(), -3},
		"nobody to compare":     {compare(nil, on("", 1)).chanceBelow(0), 1},
		"stratified, all below": {compare(join(on("a", 1, 2), on("b", 11, 12)), join(on("a", 3, 4), on("b", 13, 14))).chanceBelow(0), 1.0 / 36},
	}
	for name, test := range tests {
		if math.Abs(test.got-test.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, test.got, test.want)
		}
	}
}

// TestStratifiedAgainstBruteForce counts combinations of all nodes by hand, and compares with drawn ones where there are too many.
func TestStratifiedAgainstBruteForce(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	for range 100 {
		strata := []stratum{{noise(random, 2, -1, 1), noise(random, 2, 0, 1)}, {noise(random, 1, 4, 1), noise(random, 3, 5, 1)}, {noise(random, 2, 0, 1), noise(random, 1, 0, 1)}}
		limit, below, all := 0.0, 0, 0
		for _, s := range strata {
			limit += total(s.canary)
		}
		walk := func(s stratum) (sums []float64) {
			pods := append(append([]float64{}, s.canary...), s.control...)
			for set := range 1 << len(pods) {
				sum, chosen := 0.0, 0
				for i, pod := range pods {
					if set&(1<<i) != 0 {
						sum, chosen = sum+pod, chosen+1
					}
				}
				if chosen == len(s.canary) {
					sums = append(sums, sum)
				}
			}
			return sums
		}
		for _, x := range walk(strata[0]) {
			for _, y := range walk(strata[1]) {
				for _, z := range walk(strata[2]) {
					all++
					if x+y+z <= limit+1e-9 {
						below++
					}
				}
			}
		}
		if got, want := lowerTail(strata), float64(below)/float64(all); math.Abs(got-want) > 1e-12 {
			t.Fatalf("%v: p=%v, want %v", strata, got, want)
		}
	}
	many := []stratum{{noise(random, 6, -0.3, 1), noise(random, 6, 0, 1)}, {noise(random, 6, 9, 1), noise(random, 6, 9, 1)}}
	if p := lowerTail(many); p < 0.001 || p > 0.9 || p != lowerTail(many) {
		t.Errorf("drawn: p=%v", p)
	}
	for i := range many[0].canary {
		many[0].canary[i], many[1].canary[i] = -100, -100
	}
	if p := lowerTail(many); p != 1.0/drawnArrangements || leastTail(many) != 1.0/drawnArrangements {
		t.Errorf("drawn, all below: p=%v, least %v", p, leastTail(many))
	}
	if least := leastTail(sized(2, 2, 1, 3)); math.Abs(least-1.0/24) > 1e-15 {
		t.Errorf("least chance of 2 v 2 and 1 v 3: %v", least)
	}
}

func TestBeyondChance(t *testing.T) {
	tests := map[string]struct {
		c      comparison
		spread float64
		want   float64
	}{
		"alike, spread not known": {compare(on("", 1, 1, 1), on("", 1, 1, 1)), 0, 0},
		"alike, spread known":     {compare(on("", 1, 1, 1), on("", 1, 1, 1)), 0.1, 0.3 * math.Sqrt(2.0/3)},
		"1 v 1, not known":        {compare(on("", 1), on("", 1)), 0, math.Ln2},
		"1 v 1, known":            {compare(on("", 1), on("", 9)), 0.1, math.Ln2},
		"1 v 1, known to differ":  {compare(on("", 1), on("", 9)), 0.2, 0.6 * math.Sqrt2},
		"seen":                    {compare(on("", 0, 0.02), on("", 5, 5)), 0, 0.01 * math.Sqrt(2*math.Expm1(3.54*3.54/2))},
		"seen more than known":    {compare(on("", 0, 0.02), on("", 5, 5)), 0.01, 0.01 * math.Sqrt(2*math.Expm1(3.54*3.54/2))},
		"seen beyond all bounds":  {compare(on("", 0, 2), on("", 5, 5)), 0.01, math.Ln2},
		"known more than seen":    {compare(on("", 0, 0.002), on("", 5, 5)), 1, 3},
	}
	for name, test := range tests {
		if got := test.c.beyondChance(test.spread); got != test.want && math.Abs(got-test.want) > 1e-9*test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestQuantiles(t *testing.T) {
	tests := map[string]struct{ got, want, tolerance float64 }{
		"normal, 5%":          {normalQuantile(0.05), 1.6448536, 1e-6},
		"normal, half":        {normalQuantile(0.5), 0, 1e-12},
		"normal, 97.5%":       {normalQuantile(0.975), -1.959964, 1e-5},
		"t of 10 at 5%":       {studentQuantile(1.6449, 10), 1.812, 0.05},
		"t of 4 at 1 in 5000": {studentQuantile(3.54, 4), 9.3, 0.1},
		"t of many":           {studentQuantile(2, 1e6), 2, 1e-4},
		"t of none":           {studentQuantile(2, 0), math.Inf(1), 0},
		"t of 1":              {studentQuantile(1, 1), math.Sqrt(math.E - 1), 1e-12},
		"P90 of ten":          {quantile(ascending(1, 10), 0.9), 9.1, 1e-12},
		"P90 of one":          {quantile([]float64{7}, 0.9), 7, 0},
		"all":                 {quantile(ascending(1, 4), 1), 4, 0},
		"residual of 2 v 2":   {first(residualDeviation([]stratum{{[]float64{1, 3}, []float64{2, 6}}})), math.Sqrt(5), 1e-12},
		"residual of 1 v 1":   {first(residualDeviation([]stratum{{[]float64{1}, []float64{2}}})), 0, 0},
		"residual of pairs":   {first(residualDeviation([]stratum{{[]float64{1}, []float64{2}}, {[]float64{7}, []float64{6}}})), 1, 1e-12},
		"of unequal pairs":    {first(residualDeviation([]stratum{{[]float64{0, 2}, []float64{1}}, {[]float64{0}, []float64{3}}})), math.Sqrt((2 + 18.0/7) / 2), 1e-12},
	}
	for name, test := range tests {
		if test.got != test.want && !(math.Abs(test.got-test.want) <= test.tolerance) {
			t.Errorf("%s: %v, want %v", name, test.got, test.want)
		}
	}
	if _, freedom := residualDeviation(sized(3, 3)); freedom != 4 {
		t.Errorf("3 v 3 pods leave %d degrees of freedom", freedom)
	}
	if _, freedom := residualDeviation(sized(1, 2, 1, 2)); freedom != 3 {
		t.Errorf("1 v 2 pods on two nodes leave %d degrees of freedom", freedom)
	}
}

func first(a float64, _ int) float64 { return a }

func TestEffectText(t *testing.T) {
	tests := map[float64]string{
		0: "+0.0%", math.Log(1.018): "+1.8%", math.Log(0.991): "-0.9%", -0.0004: "+0.0%", 0.0004: "+0.0%", 0.0006: "+0.1%", -0.0006: "-0.1%",
		math.Log(2): "+100.0%", 800: "+999900.0%", -800: "-100.0%",
	}
	for log, want := range tests {
		if got := effectText(log); got != want {
			t.Errorf("%v: %q, want %q", log, got, want)
		}
	}
	if got := compare(on("", 0, 0.01), on("", 0, 0)).intervalText(); got != "+0.0% to +1.0% (67%)" {
		t.Errorf("2 v 2: %q", got)
	}
	if got := compare(on("", 0, 0.01, 0), on("", 0, 0, 0.02)).intervalText(); got != "-2.0% to +1.0%" {
		t.Errorf("3 v 3: %q", got)
	}
	if got := compare(on("", 0), on("", 0.01)).intervalText(); got != "" {
		t.Errorf("1 v 1: %q", got)
	}
}
