package tuning

import (
	"math"
	"strings"
	"testing"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

func TestPick(t *testing.T) {
	changed := func(at int32, change func(*figures)) func(int32) v1alpha1.Rung {
		return func(gogc int32) v1alpha1.Rung {
			seen := readRung(asModelled(gogc))
			if gogc == at {
				change(&seen)
			}
			return seen.rung(gogc)
		}
	}
	tooFewCycles := func(gogc int32) v1alpha1.Rung {
		rung := asModelled(gogc)
		if gogc != 50 {
			rung.Result, rung.GCCPU, rung.GCCPUPerRequest = v1alpha1.ReasonTooFewGCCycles, "", ""
		}
		return rung
	}
	const none = int32(0)
	tests := map[string]struct {
		edit func(*Input)
		show func(int32) v1alpha1.Rung
		want int32
	}{
		"the least GC":                {nil, asModelled, 200},
		"the least GC by measurement": {nil, changed(200, func(f *figures) { f.gcSecondsPerRequest = 0.0006 }), 100},
		"the best failed": {nil, func(gogc int32) v1alpha1.Rung {
			return map[bool]v1alpha1.Rung{true: FailedRung(200, "OOMKilled"), false: asModelled(gogc)}[gogc == 200]
		}, 100},
		"too much CPU time":          {nil, changed(200, func(f *figures) { f.requestsPerCPUSecond = 245 }), 100},
		"just not too much":          {nil, changed(200, func(f *figures) { f.requestsPerCPUSecond = 245.1 }), 200},
		"CPU time unknown":           {nil, changed(200, func(f *figures) { f.requestsPerCPUSecond = math.NaN() }), 100},
		"GC unknown":                 {nil, changed(200, func(f *figures) { f.gcSecondsPerRequest = math.NaN() }), 100},
		"too few GC cycles":          {nil, tooFewCycles, none},
		"latency needs no GC cycles": {func(in *Input) { in.Objective.Minimize = v1alpha1.MinimizeLatency }, tooFewCycles, 200},
		"too little gained":          {func(in *Input) { in.Objective.MinGain = 0.76 }, asModelled, none},
		"enough gained":              {func(in *Input) { in.Objective.MinGain = 0.75 }, asModelled, 200},
		"no gain wanted, none made":  {func(in *Input) { in.Objective.MinGain, in.Objective.MinCPUGain, in.Baseline.GOGC = 0, 0, 200 }, asModelled, none},
		"too little of all CPU time": {func(in *Input) { in.Objective.MinCPUGain = 0.188 }, asModelled, none},
		"enough of all CPU time":     {func(in *Input) { in.Objective.MinCPUGain = 0.187 }, asModelled, 200},
		"memory, at what CPU time":   {func(in *Input) { in.Objective.Minimize, in.Baseline.GOGC = v1alpha1.MinimizeMemory, 200 }, asModelled, none},
		"memory, and CPU time":       {func(in *Input) { in.Objective.Minimize, in.Baseline.GOGC = v1alpha1.MinimizeMemory, 200 }, changed(100, func(f *figures) { f.requestsPerCPUSecond = 302 }), 100},
		"latency":                    {func(in *Input) { in.Objective.Minimize = v1alpha1.MinimizeLatency }, changed(100, func(f *figures) { f.p99Seconds = 0.01 }), 100},
		"latency, least CPU unasked": {func(in *Input) { in.Objective.Minimize, in.Objective.MinCPUGain = v1alpha1.MinimizeLatency, 0.9 }, asModelled, 200},
		"against the target at rest": {func(in *Input) { atRest(in) }, asModelled, 200},
		"its own rung failed": {func(in *Input) {
			in.Observed.GCCPUSecondsPerRequest, in.Observed.CPUSecondsPerRequest = present(0.001), present(0.004)
		}, func(gogc int32) v1alpha1.Rung {
			return map[bool]v1alpha1.Rung{true: FailedRung(50, "OOMKilled"), false: asModelled(gogc)}[gogc == 50]
		}, 200},
		"at rest it takes less CPU time": {func(in *Input) { atRest(in); in.Observed.CPUSecondsPerRequest = present(0.003) }, asModelled, none},
		"at rest it is better":           {func(in *Input) { atRest(in); in.Observed.GCCPUSecondsPerRequest = present(0.00026) }, asModelled, none},
		"at rest, latency is unknown":    {func(in *Input) { atRest(in); in.Objective.Minimize = v1alpha1.MinimizeLatency }, asModelled, none},
		"at rest, memory is the mean":    {func(in *Input) { atRest(in); in.Objective.Minimize = v1alpha1.MinimizeMemory }, asModelled, 100},
		"at rest, CPU time unmeasured":   {func(in *Input) { atRest(in); in.Observed.CPUSecondsPerRequest.State = "" }, asModelled, none},
	}
	for name, test := range tests {
		in := sweeping(50, 100, 200)
		if test.edit != nil {
			test.edit(&in)
		}
		last, _ := sweep(t, &in, test.show)
		picked := none
		if in.Sweep.Picked != nil {
			picked = *in.Sweep.Picked
		}
		if picked != test.want {
			t.Errorf("%s: %d, want %d", name, picked, test.want)
		}
		if picked == none && (last.Candidate != nil || !strings.Contains(last.Reason, "no rung is enough better than the baseline")) {
			t.Errorf("%s: %+v", name, last)
		}
	}
}

// atRest makes the baseline one that has no rung: GOGC=off.
func atRest(in *Input) {
	in.Baseline.GOGC, in.Observed.EffectiveGOGC, in.Strategy.Ladder = settings.Off, present(60), []int32{100, 200}
	in.Observed.CPUSecondsPerRequest, in.Observed.GCCPUSecondsPerRequest, in.Observed.MeanResidentBytes = present(0.004), present(0.001), present(300*mebibyte)
	in.Observed.LiveHeapBytes, in.Observed.ResidentBytes = present(60*mebibyte), present(150*mebibyte)
}

func TestStanding(t *testing.T) {
	of := func(perCPU, p99, memory float64) figures {
		return figures{requestsPerCPUSecond: perCPU, p99Seconds: p99, memoryBytes: memory}
	}
	unknown := math.NaN()
	tests := map[string]struct {
		a, b figures
		want bool
	}{
		"better in all":             {of(2, 1, 1), of(1, 2, 2), true},
		"better in CPU":             {of(2, 1, 1), of(1, 1, 1), true},
		"better in latency":         {of(1, 1, 1), of(1, 2, 1), true},
		"better in memory":          {of(1, 1, 1), of(1, 1, 2), true},
		"equal":                     {of(1, 1, 1), of(1, 1, 1), false},
		"worse in CPU":              {of(1, 1, 1), of(2, 2, 2), false},
		"worse in latency":          {of(2, 2, 1), of(1, 1, 2), false},
		"worse in memory":           {of(2, 1, 2), of(1, 2, 1), false},
		"unknown to both":           {of(2, unknown, 1), of(1, unknown, 1), true},
		"unknown to the first":      {of(2, unknown, 1), of(1, 1, 1), false},
		"unknown to the second":     {of(2, 1, 1), of(1, unknown, 1), false},
		"all is unknown":            {of(unknown, unknown, unknown), of(unknown, unknown, unknown), false},
		"CPU is unknown to neither": {of(unknown, 1, 1), of(unknown, 2, 1), true},
	}
	for name, test := range tests {
		if got := dominates(test.a, test.b); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestDominatedAndAgainstTheModel(t *testing.T) {
	in := sweeping(50, 100, 200)
	sweep(t, &in, func(gogc int32) v1alpha1.Rung {
		seen := readRung(asModelled(gogc))
		if gogc == 100 {
			seen = figures{requestsPerCPUSecond: 100, p99Seconds: 1, memoryBytes: 1000 * mebibyte, gcShare: 0.5, gcSecondsPerRequest: 0.0009}
		}
		return seen.rung(gogc)
	})
	for _, rung := range in.Sweep.Rungs {
		dominated := rung.Standing == v1alpha1.StandingDominated
		against := rung.AgainstModel == "GC CPU time per request is 0.90 times that at GOGC=50, where the model has 0.50: noise, or something else has changed"
		if odd := rung.GOGC == 100; dominated != odd || against != odd || !odd && rung.AgainstModel != "" {
			t.Errorf("%+v", rung)
		}
	}
}

func TestAgainstModel(t *testing.T) {
	at := func(gogc int32, text string) v1alpha1.Rung { return v1alpha1.Rung{GOGC: gogc, GCCPUPerRequest: text} }
	tests := map[string]struct {
		lower, rung v1alpha1.Rung
		against     bool
	}{
		"as the model":            {at(50, "2ms"), at(100, "1ms"), false},
		"a quarter of the fall":   {at(50, "2ms"), at(100, "1.75ms"), false},
		"less than a quarter":     {at(50, "2ms"), at(100, "1.752ms"), true},
		"no fall":                 {at(150, "2ms"), at(200, "2ms"), true},
		"a small fall, near by":   {at(100, "2ms"), at(110, "1.95ms"), false},
		"a rise":                  {at(50, "2ms"), at(100, "9ms"), true},
		"unknown":                 {at(50, ""), at(100, "9ms"), false},
		"the other one unknown":   {at(50, "1ms"), at(100, ""), false},
		"more than the model has": {at(50, "2ms"), at(100, "0.1ms"), false},
	}
	for name, test := range tests {
		if got := againstModel(test.lower, test.rung); (got != "") != test.against {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestASweepOfFailures has a table, and nothing to pick.
func TestASweepOfFailures(t *testing.T) {
	in := sweeping(50, 100)
	last, _ := sweep(t, &in, func(gogc int32) v1alpha1.Rung { return FailedRung(gogc, "OOMKilled") })
	if last.Candidate != nil || last.Sweep != nil || in.Sweep.Picked != nil || len(in.Sweep.Rungs) != 2 || in.Sweep.Rungs[0].Standing != "" {
		t.Errorf("%+v %+v", last, in.Sweep)
	}
}
