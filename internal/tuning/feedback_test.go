package tuning

import (
	"math"
	"strings"
	"testing"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

func TestFeedbackProposes(t *testing.T) {
	const share = 966367641 // nine tenths of 1 GiB
	tests := map[string]struct {
		edit func(*Input)
		want settings.Settings
		gain float64
	}{
		"a doubling":                 {func(*Input) {}, settings.Settings{GOGC: 100, MemoryLimitBytes: share}, 0.5},
		"unset is 100":               {func(in *Input) { in.Baseline.GOGC = 0 }, settings.Settings{GOGC: 200, MemoryLimitBytes: share}, 0.5},
		"the largest rung in reach":  {func(in *Input) { in.Baseline.GOGC = 60 }, settings.Settings{GOGC: 100, MemoryLimitBytes: share}, 0.4},
		"from between rungs":         {func(in *Input) { in.Baseline.GOGC = 30 }, settings.Settings{GOGC: 50, MemoryLimitBytes: share}, 0.4},
		"from far below":             {func(in *Input) { in.Baseline.GOGC, in.Knobs.MinGOGC = 5, 1 }, settings.Settings{GOGC: 8, MemoryLimitBytes: share}, 0.375},
		"bounded above":              {func(in *Input) { in.Knobs.MaxGOGC = 99 }, settings.Settings{GOGC: 75, MemoryLimitBytes: share}, 1.0 / 3},
		"the bound itself":           {func(in *Input) { in.Knobs.MaxGOGC = 100 }, settings.Settings{GOGC: 100, MemoryLimitBytes: share}, 0.5},
		"the lower bound itself":     {func(in *Input) { in.Knobs.MinGOGC = 100 }, settings.Settings{GOGC: 100, MemoryLimitBytes: share}, 0.5},
		"memory for one rung only":   {func(in *Input) { in.Footing.MemoryLimitBytes = 280 * mebibyte }, settings.Settings{GOGC: 75, MemoryLimitBytes: 264241152}, 1.0 / 3},
		"no memory limit, no limit":  {func(in *Input) { in.Footing.MemoryLimitBytes = 0 }, settings.Settings{GOGC: 100}, 0.5},
		"the limit is not tuned":     {func(in *Input) { in.Knobs.TuneMemoryLimit = false }, settings.Settings{GOGC: 100}, 0.5},
		"the baseline's limit stays": {func(in *Input) { in.Knobs.TuneMemoryLimit, in.Baseline.MemoryLimitBytes = false, 500*mebibyte }, settings.Settings{GOGC: 100, MemoryLimitBytes: 500 * mebibyte}, 0.5},
		"a share that is too small":  {func(in *Input) { in.Knobs.MemoryLimitShare = 0.1 }, settings.Settings{GOGC: 100}, 0.5},
		"a share that is no share":   {func(in *Input) { in.Knobs.MemoryLimitShare = 1.1 }, settings.Settings{GOGC: 100}, 0.5},
		"the whole limit":            {func(in *Input) { in.Knobs.MemoryLimitShare = 1 }, settings.Settings{GOGC: 100, MemoryLimitBytes: 1024 * mebibyte}, 0.5},
		"a tiny container": {func(in *Input) {
			in.Footing.MemoryLimitBytes = 64 * mebibyte
			in.Cost = Cost{GCShare: 0.25, ResidentBytes: 10 * mebibyte}
		}, settings.Settings{GOGC: 100}, 0.5},
		"gain as small as may be": {func(in *Input) { in.MinGain, in.MinCPUGain = 0.5, 0.125 }, settings.Settings{GOGC: 100, MemoryLimitBytes: share}, 0.5},
		"all CPU time":            {func(in *Input) { in.Cost.GCShare = 1 }, settings.Settings{GOGC: 100, MemoryLimitBytes: share}, 0.5},
		"declared lies in reach": {func(in *Input) {
			in.Knobs.TuneMemoryLimit, in.Footing.Declared.GOGC = false, 0
		}, settings.Settings{GOGC: 75}, 1.0 / 3},
		"no root bytes": {func(in *Input) { in.Cost.RootBytes = 0 }, settings.Settings{GOGC: 100, MemoryLimitBytes: share}, 0.5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := input()
			test.edit(&in)
			got := Propose(in)
			if got.Candidate == nil || *got.Candidate != test.want || math.Abs(got.PredictedGain-test.gain) > 1e-9 {
				t.Errorf("%v, %q, gain %v; want %v, gain %v", got.Candidate, got.Reason, got.PredictedGain, test.want, test.gain)
			}
		})
	}
}

func TestFeedbackProposesNothing(t *testing.T) {
	tests := map[string]struct {
		edit   func(*Input)
		reason string
	}{
		"knob kept":                 {func(in *Input) { in.Knobs.TuneGOGC = false }, "Keep"},
		"off":                       {func(in *Input) { in.Baseline.GOGC = settings.Off }, "GOGC is off"},
		"at the bound":              {func(in *Input) { in.Knobs.MaxGOGC = 50 }, "no GOGC above 50"},
		"above the bound":           {func(in *Input) { in.Baseline.GOGC = 400 }, "no GOGC above 400"},
		"above the ladder":          {func(in *Input) { in.Baseline.GOGC, in.Knobs.MaxGOGC = 1000, 10000 }, "no GOGC above 1000"},
		"the largest GOGC":          {func(in *Input) { in.Baseline.GOGC, in.Knobs.MaxGOGC = math.MaxInt32, 10000 }, "no GOGC above 2147483647"},
		"a doubling does not reach": {func(in *Input) { in.Knobs.MinGOGC = 101 }, "within a doubling"},
		"memory is full":            {func(in *Input) { in.Footing.MemoryLimitBytes = 210 * mebibyte }, "memory limit"},
		"memory unmeasured":         {func(in *Input) { in.Cost.ResidentBytes = 0 }, "resident memory"},
		"memory unmeasured under a GOMEMLIMIT": {func(in *Input) {
			in.Footing.MemoryLimitBytes, in.Baseline.MemoryLimitBytes, in.Cost.ResidentBytes = 0, mebibyte, 0
		}, "resident memory"},
		"memory not a number": {func(in *Input) { in.Cost.ResidentBytes = math.NaN() }, "resident memory"},
		"a low GOMEMLIMIT that must stay": {func(in *Input) {
			in.Knobs.TuneMemoryLimit, in.Baseline.MemoryLimitBytes = false, 200*mebibyte
		}, "memory limit"},
		"a low GOMEMLIMIT, a low share": {func(in *Input) {
			in.Knobs.MemoryLimitShare, in.Baseline.MemoryLimitBytes = 0.2, 200*mebibyte
		}, "memory limit"},
		"no gain wanted so small":     {func(in *Input) { in.MinGain = 0.51 }, "no gain worth a trial"},
		"little CPU time":             {func(in *Input) { in.Cost.GCShare = 0.019 }, "no gain worth a trial"},
		"no CPU time":                 {func(in *Input) { in.Cost.GCShare = 0 }, "no gain worth a trial"},
		"CPU time not a number":       {func(in *Input) { in.Cost.GCShare = math.NaN() }, "no gain worth a trial"},
		"more than all CPU time":      {func(in *Input) { in.Cost.GCShare = math.Inf(1) }, "no gain worth a trial"},
		"a minimum that is no number": {func(in *Input) { in.MinGain = math.NaN() }, "no gain worth a trial"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := input()
			test.edit(&in)
			if got := Propose(in); got.Candidate != nil || got.PredictedGain != 0 || !strings.Contains(got.Reason, test.reason) {
				t.Errorf("%v %q, want none for %q", got.Candidate, got.Reason, test.reason)
			}
		})
	}
}

func TestTheLadderReachesFromEverywhere(t *testing.T) {
	in := input()
	in.Knobs.MinGOGC, in.Knobs.MaxGOGC, in.Footing.MemoryLimitBytes = 1, 10000, 0
	in.Footing.Declared.GOGC = 5000
	for gogc := settings.GOGC(1); gogc <= ladder[len(ladder)-2]; gogc++ {
		in.Baseline.GOGC = gogc
		if got := Propose(in); got.Candidate == nil || got.PredictedGain < 0.2 {
			t.Errorf("from %s: %q, gain %v", gogc, got.Reason, got.PredictedGain)
		}
	}
}

// TestPredictedResident holds the formula of the runtime's heap goal, L + (L+R)·GOGC/100, with a tenth for the scavenger.
func TestPredictedResident(t *testing.T) {
	tests := map[string]struct {
		cost      Cost
		now, next settings.GOGC
		want      float64
	}{
		"the heap's share grows":      {Cost{LiveHeapBytes: 100, RootBytes: 20, ResidentBytes: 300}, 100, 200, 300 + 1.1*120},
		"what is not heap stays":      {Cost{LiveHeapBytes: 100, ResidentBytes: 1000}, 100, 150, 1000 + 1.1*50},
		"a heap not yet grown":        {Cost{LiveHeapBytes: 100, ResidentBytes: 50}, 100, 200, 330},
		"no live heap, all follows":   {Cost{ResidentBytes: 200}, 100, 200, 300},
		"roots without heap mean not": {Cost{RootBytes: 50, ResidentBytes: 200}, 100, 300, 400},
	}
	for name, test := range tests {
		if got := predictedResident(test.cost, test.now, test.next); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestRejectedCandidatesFallBack(t *testing.T) {
	in := input()
	in.Knobs.TuneMemoryLimit = false
	in.History = []v1alpha1.TrialRecord{ended(in, settings.Settings{GOGC: 100}, v1alpha1.TrialReverted, v1alpha1.ReasonNoGain)}
	if got := Propose(in); got.Candidate == nil || got.Candidate.GOGC != 75 {
		t.Errorf("after 100 failed: %v %q", got.Candidate, got.Reason)
	}
	in.History = append(in.History, ended(in, settings.Settings{GOGC: 75}, v1alpha1.TrialReverted, v1alpha1.ReasonOOMKilled))
	if got := Propose(in); got.Candidate != nil || got.Reason != "GOGC=75 failed on these resources less than seven days ago" {
		t.Errorf("after both failed: %v %q", got.Candidate, got.Reason)
	}
}
