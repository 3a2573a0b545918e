package tuning

import (
	"math"
	"strings"
	"testing"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// TestExactlyWorthIt: a rung that saves just what is asked for is worth a trial, one that saves a hair less is not.
func TestExactlyWorthIt(t *testing.T) {
	from, next, share := 50.0, 75.0, 0.25
	gain, saved := 1-from/next, share*(from/from-from/next)
	for name, test := range map[string]struct {
		change func(*Objective)
		worth  bool
	}{
		"just the gain":           {func(o *Objective) { o.MinGain = gain }, true},
		"a hair more gain":        {func(o *Objective) { o.MinGain = math.Nextafter(gain, 1) }, false},
		"just the CPU time":       {func(o *Objective) { o.MinCPUGain = saved }, true},
		"a hair more CPU time":    {func(o *Objective) { o.MinCPUGain = math.Nextafter(saved, 1) }, false},
		"nothing but an interest": {func(o *Objective) { o.MinGain, o.MinCPUGain = 0, 0 }, true},
	} {
		in := input()
		in.Knobs.MaxGOGC = 75
		test.change(&in.Objective)
		if got := Propose(in); (got.Candidate != nil) != test.worth {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestCureWithoutLimit: without a CPU limit there is no number of processors to advise.
func TestCureWithoutLimit(t *testing.T) {
	in := input()
	in.Observed.ThrottledShare, in.Observed.Processors = present(0.5), present(8)
	if got := Propose(in); got.Blocked != v1alpha1.ReasonCPUThrottled || strings.Contains(got.Reason, "GOMAXPROCS") {
		t.Errorf("without a limit: %+v", got)
	}
	in.Footing.CPULimitMilli = 2000
	if got := Propose(in); got.Blocked != v1alpha1.ReasonCPUThrottled || !strings.Contains(got.Reason, "set "+settings.EnvGOMAXPROCS+" to 2") {
		t.Errorf("with a limit of 2: %+v", got)
	}
}
