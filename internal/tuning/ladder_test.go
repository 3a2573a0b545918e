package tuning

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/internal/settings"
)

func TestRungs(t *testing.T) {
	tests := map[string]struct {
		from        float64
		to          direction
		least, most settings.GOGC
		want        []settings.GOGC
	}{
		"up from a rung":          {100, up, 25, 200, []settings.GOGC{150, 200}},
		"down from a rung":        {100, down, 25, 200, []settings.GOGC{75, 50, 35, 25}},
		"up, nothing left":        {200, up, 25, 200, nil},
		"down, nothing left":      {25, down, 25, 200, nil},
		"up to the end":           {300, up, 1, 10000, []settings.GOGC{400, 500}},
		"down to the end":         {16, down, 1, 10000, []settings.GOGC{12, 8}},
		"bounds are within":       {100, up, 150, 150, []settings.GOGC{150}},
		"into the bounds":         {10, up, 50, 75, []settings.GOGC{50, 75}},
		"down into the bounds":    {500, down, 50, 75, []settings.GOGC{75, 50}},
		"near ones are left out":  {140, up, 25, 200, []settings.GOGC{200}},
		"near ones below as well": {160, down, 75, 200, []settings.GOGC{100, 75}},
		"just outside":            {130.4, up, 25, 150, []settings.GOGC{150}},
		"just inside":             {130.5, up, 25, 150, nil},
		"bounds between rungs":    {30, up, 36, 74, []settings.GOGC{50}},
	}
	for name, test := range tests {
		if diff := cmp.Diff(test.want, rungs(test.from, test.to, test.least, test.most)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestBeyond(t *testing.T) {
	tests := []struct {
		from, gogc float64
		to         direction
		want       bool
	}{
		{100, 116, up, true}, {100, 115, up, false}, {100, 80, down, true}, {115, 100, down, false}, {116, 100, down, true}, {100, 50, up, false}, {50, 100, down, false},
	}
	for _, test := range tests {
		if got := beyond(test.from, test.gogc, test.to, deadband); got != test.want {
			t.Errorf("from %v to %v, %d: %t", test.from, test.gogc, test.to, got)
		}
	}
}

func TestStep(t *testing.T) {
	tests := map[string]struct {
		from  float64
		rungs []settings.GOGC
		want  settings.GOGC
	}{
		"one rung left":              {100, []settings.GOGC{150}, 150},
		"half the way, nearest":      {100, []settings.GOGC{150, 200}, 150}, // 141
		"at least one rung":          {150, []settings.GOGC{200}, 200},      // 173
		"half the way is far":        {8, []settings.GOGC{12, 16, 20, 25, 35}, 12},
		"not beyond half as high":    {16, []settings.GOGC{20, 25, 35, 50}, 20}, // 24, to which 25 is nearer
		"down, half the way":         {100, []settings.GOGC{75, 50}, 75},        // 71
		"down, no more than a third": {50, []settings.GOGC{35, 25, 20, 16, 12, 8}, 35},
		"down, two rungs":            {24, []settings.GOGC{20, 16, 12, 8}, 16},
		"a far first rung":           {10, []settings.GOGC{50, 75}, 50},
	}
	for name, test := range tests {
		if got := step(test.from, test.rungs); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestNearest: of the rungs within one and a half times, the one that is nearest in the logarithm.
func TestNearest(t *testing.T) {
	tests := []struct {
		from, wanted float64
		rungs        []settings.GOGC
		want         settings.GOGC
	}{
		{50, math.Log(1.5), []settings.GOGC{60, 75, 100}, 75},
		{51, math.Log(1.5), []settings.GOGC{60, 77, 100}, 60},
		{75, -math.Log(1.5), []settings.GOGC{60, 50, 35}, 50},
		{74, -math.Log(1.5), []settings.GOGC{60, 49, 35}, 60},
		{100, math.Log(1.2), []settings.GOGC{110, 120, 130, 140}, 120},
		{100, math.Log(1.24), []settings.GOGC{110, 120, 130, 140}, 120},
		{100, math.Log(1.26), []settings.GOGC{110, 120, 130, 140}, 130},
		{100, 0, []settings.GOGC{400}, 400},
	}
	for _, test := range tests {
		if got := nearest(test.from, test.wanted, test.rungs); got != test.want {
			t.Errorf("from %v by %v: %s, want %s", test.from, math.Exp(test.wanted), got, test.want)
		}
	}
}

// TestTheLadderIsDense: from each rung, and from between any two, the next one lies within a step.
func TestTheLadderIsDense(t *testing.T) {
	for i, gogc := range ladder[1:] {
		if ratio := float64(gogc) / float64(ladder[i]); ratio > maxStep || ratio <= 1+deadband {
			t.Errorf("%s after %s: %v", gogc, ladder[i], ratio)
		}
	}
}
