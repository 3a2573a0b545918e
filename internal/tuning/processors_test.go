package tuning

import (
	"strings"
	"testing"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
)

func TestProcessors(t *testing.T) {
	waiting := func(in *Input) {
		in.Footing.CPULimitMilli, in.Observed.Processors, in.Observed.RunnablePerProcessor, in.Observed.CPUCores = 3500, present(2), present(2.1), present(2.7)
	}
	old := func(in *Input) {
		in.GoVersion, in.Footing.CPULimitMilli, in.Observed.Processors = "go1.24.11", 2500, present(4)
	}
	large := func(in *Input) { in.Observed.Processors, in.Observed.CPUCores = present(16), present(3.9) }
	tests := map[string]struct {
		edit func(*Input)
		want int32
	}{
		"nothing known":                   {func(*Input) {}, 0},
		"goroutines wait":                 {waiting, 4},
		"no more than wanted":             {func(in *Input) { waiting(in); in.Observed.RunnablePerProcessor = present(2) }, 0},
		"how many there are is not known": {func(in *Input) { waiting(in); in.Observed.Processors = signal.Value{} }, 0},
		"one processor":                   {func(in *Input) { waiting(in); in.Observed.Processors = present(1) }, 4},
		"how many wait is not known":      {func(in *Input) { waiting(in); in.Observed.RunnablePerProcessor = signal.Value{} }, 0},
		"the rule is off":                 {func(in *Input) { waiting(in); in.Rules.RunnablePerProcessor = 0 }, 0},
		"the limit is used":               {func(in *Input) { waiting(in); in.Footing.CPULimitMilli, in.Observed.CPUCores = 2500, present(2) }, 0},
		"how much is used is not known":   {func(in *Input) { waiting(in); in.Observed.CPUCores = signal.Value{} }, 0},
		"throttled by 1%":                 {func(in *Input) { waiting(in); in.Observed.ThrottledShare = present(0.01) }, 4},
		"throttled by more":               {func(in *Input) { waiting(in); in.Observed.ThrottledShare = present(0.011) }, 0},
		"as many as the limit":            {func(in *Input) { waiting(in); in.Observed.Processors = present(4) }, 0},
		"bounded":                         {func(in *Input) { waiting(in); in.Knobs.MaxProcessors = 3 }, 3},
		"bounded to what there is":        {func(in *Input) { waiting(in); in.Knobs.MaxProcessors = 2 }, 0},
		"bounded below what there is":     {func(in *Input) { waiting(in); in.Knobs.MaxProcessors = 1 }, 0},
		"unbounded":                       {func(in *Input) { waiting(in); in.Knobs.MaxProcessors = 0 }, 4},
		"without a limit":                 {func(in *Input) { waiting(in); in.Footing.CPULimitMilli = 0 }, 0},
		"an old Go":                       {old, 3},
		"the last old Go":                 {func(in *Input) { old(in); in.GoVersion = "go1.24" }, 3},
		"a new Go":                        {func(in *Input) { old(in); in.GoVersion = "go1.25rc1" }, 0},
		"an unknown Go":                   {func(in *Input) { old(in); in.GoVersion = "" }, 0},
		"a Go of one's own":               {func(in *Input) { old(in); in.GoVersion = "devel go1.20" }, 0},
		"an old Go that has as many":      {func(in *Input) { old(in); in.Observed.Processors = present(3) }, 0},
		"at least two":                    {func(in *Input) { old(in); in.Footing.CPULimitMilli = 500 }, 2},
		"two are as many":                 {func(in *Input) { old(in); in.Footing.CPULimitMilli, in.Observed.Processors = 500, present(2) }, 0},
		"an old Go, throttled":            {func(in *Input) { old(in); in.Observed.ThrottledShare = present(0.5) }, 3},
		"a new Go, throttled":             {func(in *Input) { old(in); in.GoVersion = "go1.26"; in.Observed.ThrottledShare = present(0.051) }, 3},
		"a new Go, hardly throttled":      {func(in *Input) { old(in); in.GoVersion = "go1.26"; in.Observed.ThrottledShare = present(0.05) }, 0},
		"a large node":                    {large, 8},
		"a large node, bounded":           {func(in *Input) { large(in); in.Knobs.MaxProcessors = 5 }, 5},
		"a large node, idle":              {func(in *Input) { large(in); in.Observed.CPUCores = present(0.1) }, 2},
		"a large node, in use":            {func(in *Input) { large(in); in.Observed.CPUCores = present(4) }, 0},
		"a large node, use is not known":  {func(in *Input) { large(in); in.Observed.CPUCores = signal.Value{} }, 0},
		"not so large a node":             {func(in *Input) { large(in); in.Observed.Processors, in.Observed.CPUCores = present(15), present(1) }, 0},
		"a large node, with a limit":      {func(in *Input) { large(in); in.Footing.CPULimitMilli = 4000 }, 0},
		"declared, and then promoted off": {func(in *Input) { large(in); in.Footing.Declared = in.Baseline; in.Footing.Declared.GOMAXPROCS = 8 }, 0},
		"as in the baseline":              {func(in *Input) { large(in); in.Baseline.GOMAXPROCS = 8 }, 0},
		"it failed": {func(in *Input) {
			large(in)
			in.History = []v1alpha1.TrialRecord{ended(*in, settings.Settings{GOGC: 50, GOMAXPROCS: 8}, v1alpha1.TrialReverted, v1alpha1.ReasonWorse)}
		}, 0},
		"a person decides": {func(in *Input) {
			large(in)
			in.History = []v1alpha1.TrialRecord{ended(*in, settings.Settings{GOGC: 50, GOMAXPROCS: 8}, v1alpha1.TrialRecommended, v1alpha1.ReasonGuardrailsOnly)}
		}, 0},
	}
	for name, test := range tests {
		in := input()
		in.Knobs.TuneProcessors, in.Knobs.MaxProcessors, in.Knobs.TuneGOGC = true, 64, false
		test.edit(&in)
		got := Propose(in)
		if test.want == 0 {
			if got.Candidate != nil {
				t.Errorf("%s: %s", name, got.Candidate.Canonical())
			}
			continue
		}
		want := in.Baseline
		want.GOMAXPROCS = test.want
		if got.Candidate == nil || *got.Candidate != want || !got.OutsideDeadband || got.Blocked != "" || got.Predicted != (Prediction{}) {
			t.Errorf("%s: %+v, want %s", name, got, want.Canonical())
		}
		in.Knobs.TuneProcessors = false
		kept := Propose(in)
		if kept.Candidate != nil || (kept.Blocked == "" && !strings.Contains(kept.Reason, "set knobs.gomaxprocs.mode to Tune to try GOMAXPROCS=")) {
			t.Errorf("%s, kept: %+v", name, kept)
		}
		in.Knobs.TuneProcessors, in.Streak = true, 2
		if early := Propose(in); early.Candidate != nil || !early.OutsideDeadband {
			t.Errorf("%s, early: %+v", name, early)
		}
	}
}

// TestProcessorsComeFirst, since they change what the collector costs; what there is to say of them otherwise follows the reason.
func TestProcessorsComeFirst(t *testing.T) {
	in := input()
	in.Knobs.TuneProcessors, in.Observed.Processors, in.Observed.CPUCores = true, present(64), present(1.5)
	got := Propose(in)
	if got.Candidate == nil || got.Candidate.Canonical() != "GOGC=50,GOMAXPROCS=3" ||
		got.Reason != "GOMAXPROCS is 64 where 1.5 CPUs are in use, and no CPU limit tells the runtime: GOMAXPROCS=3" {
		t.Errorf("%+v", got)
	}
	in.Baseline.GOMAXPROCS, in.Observed.Processors = 3, present(3)
	if got := Propose(in); got.Candidate == nil || got.Candidate.GOGC != 75 || got.Candidate.GOMAXPROCS != 3 {
		t.Errorf("then GOGC: %+v", got)
	}
	in.Knobs.TuneGOGC = false
	if got := Propose(in); got.Reason != "knobs.gogc.mode is Keep; GOMAXPROCS is left to the runtime" {
		t.Errorf("%q", got.Reason)
	}
	in.Knobs.TuneProcessors = false
	if got := Propose(in); got.Reason != "knobs.gogc.mode is Keep" {
		t.Errorf("%q", got.Reason)
	}
	in.Knobs.TuneProcessors, in.Observed.Processors, in.Baseline.GOMAXPROCS = true, present(64), 0
	in.Rejected = []v1alpha1.Rejection{{Settings: settings.Settings{GOGC: 50, GOMAXPROCS: 3}.API(), Footing: in.Footing.API(), Until: later()}}
	if got := Propose(in); got.Reason != "knobs.gogc.mode is Keep; GOGC=50,GOMAXPROCS=3 failed on these resources less than seven days ago" {
		t.Errorf("%q", got.Reason)
	}
}

func TestProcessorsReasons(t *testing.T) {
	in := input()
	in.Knobs.TuneProcessors = true
	in.Footing.CPULimitMilli, in.Observed.Processors, in.Observed.RunnablePerProcessor, in.Observed.CPUCores = 3500, present(2), present(2.1), present(1)
	if got := Propose(in).Reason; got != "2.1 goroutines wait for each of 2 processors while 1.0 of 4 CPUs are in use: GOMAXPROCS=4" {
		t.Errorf("%q", got)
	}
	in.GoVersion, in.Observed.Processors = "go1.20", present(8)
	if got := Propose(in).Reason; got != "GOMAXPROCS is 8 under a CPU limit of 4: GOMAXPROCS=4" {
		t.Errorf("%q", got)
	}
}
