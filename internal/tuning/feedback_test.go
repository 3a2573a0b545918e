package tuning

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
)

func TestLessGCCPU(t *testing.T) {
	const share = 966367641 // nine tenths of 1 GiB
	tests := map[string]struct {
		edit func(*Input)
		want settings.Settings
		mid  float64
	}{
		"half as high again":        {func(*Input) {}, settings.Settings{GOGC: 75, MemoryLimitBytes: share}, -1.0 / 3},
		"unset is 100":              {func(in *Input) { in.Baseline.GOGC = 0 }, settings.Settings{GOGC: 150, MemoryLimitBytes: share}, -1.0 / 3},
		"from between rungs":        {func(in *Input) { in.Baseline.GOGC = 30 }, settings.Settings{GOGC: 35, MemoryLimitBytes: share}, -1.0 / 7},
		"from far below":            {func(in *Input) { in.Baseline.GOGC = 5 }, settings.Settings{GOGC: 25, MemoryLimitBytes: share}, -0.8},
		"the bound itself":          {func(in *Input) { in.Knobs.MaxGOGC = 75 }, settings.Settings{GOGC: 75, MemoryLimitBytes: share}, -1.0 / 3},
		"the lower bound itself":    {func(in *Input) { in.Knobs.MinGOGC = 100 }, settings.Settings{GOGC: 100, MemoryLimitBytes: share}, -0.5},
		"the last rung":             {func(in *Input) { in.Baseline.GOGC = 150 }, settings.Settings{GOGC: 200, MemoryLimitBytes: share}, -0.25},
		"beyond the default bounds": {func(in *Input) { in.Baseline.GOGC, in.Knobs.MaxGOGC = 400, 500 }, settings.Settings{GOGC: 500, MemoryLimitBytes: share}, -0.2},
		"memory for one rung only":  {func(in *Input) { in.Footing.MemoryLimitBytes = 280 * mebibyte }, settings.Settings{GOGC: 75, MemoryLimitBytes: 264241152}, -1.0 / 3},
		"no memory limit":           {func(in *Input) { in.Footing.MemoryLimitBytes = 0 }, settings.Settings{GOGC: 75}, -1.0 / 3},
		"saves as little as may be": {func(in *Input) { in.Objective.MinGain, in.Objective.MinCPUGain = 1-2.0/3, 0.25*(1-2.0/3) }, settings.Settings{GOGC: 75, MemoryLimitBytes: share}, -1.0 / 3},
		"all CPU time":              {func(in *Input) { in.Observed.GCShare = present(1) }, settings.Settings{GOGC: 75, MemoryLimitBytes: share}, -1.0 / 3},
		"off, thrashing": {func(in *Input) {
			in.Baseline.GOGC, in.Observed.EffectiveGOGC = settings.Off, present(20)
		}, settings.Settings{GOGC: 25, MemoryLimitBytes: share}, -0.2},
		"under a low limit that may rise": {func(in *Input) {
			in.Baseline.MemoryLimitBytes, in.Observed.EffectiveGOGC = 180*mebibyte, present(40)
		}, settings.Settings{GOGC: 50, MemoryLimitBytes: share}, -0.2},
		"no objective is GCCPU": {func(in *Input) { in.Objective.Minimize = "" }, settings.Settings{GOGC: 75, MemoryLimitBytes: share}, -1.0 / 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := input()
			test.edit(&in)
			got := Propose(in)
			if got.Candidate == nil || *got.Candidate != test.want || math.Abs(got.Predicted.Mid-test.mid) > 1e-9 {
				t.Fatalf("%v %+v %q, want %s and %v", got.Candidate, got.Predicted, got.Reason, test.want.Canonical(), test.mid)
			}
			if !got.OutsideDeadband || got.Purpose != v1alpha1.PurposePromote || got.Sweep != nil || got.Blocked != "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestFeedbackProposesNothing(t *testing.T) {
	memory := func(in *Input) { in.Objective.Minimize = v1alpha1.MinimizeMemory }
	latency := func(in *Input) { in.Objective.Minimize = v1alpha1.MinimizeLatency }
	tests := map[string]struct {
		edit   func(*Input)
		reason string
	}{
		"knob kept":           {func(in *Input) { in.Knobs.TuneGOGC = false }, "knobs.gogc.mode is Keep"},
		"off, unmeasured":     {func(in *Input) { in.Baseline.GOGC = settings.Off }, "GOGC is off, and the heap goal"},
		"off, with room":      {func(in *Input) { in.Baseline.GOGC, in.Observed.EffectiveGOGC = settings.Off, present(300) }, "no rung above GOGC=off, which the memory limit makes as good as 300"},
		"at the bound":        {func(in *Input) { in.Knobs.MaxGOGC = 50 }, "no rung above GOGC=50 lies within the bounds 25 to 50"},
		"above the bound":     {func(in *Input) { in.Baseline.GOGC = 400 }, "no rung above GOGC=400"},
		"above the ladder":    {func(in *Input) { in.Baseline.GOGC, in.Knobs.MaxGOGC = 500, 10000 }, "no rung above GOGC=500"},
		"the largest GOGC":    {func(in *Input) { in.Baseline.GOGC, in.Knobs.MaxGOGC = math.MaxInt32, 10000 }, "no rung above GOGC=2147483647"},
		"within the deadband": {func(in *Input) { in.Baseline.GOGC = 180 }, "no rung above GOGC=180"},
		"memory is full":      {func(in *Input) { in.Footing.MemoryLimitBytes = 210 * mebibyte }, "GOGC=75 is predicted to take more memory than the limit allows"},
		"memory unmeasured":   {func(in *Input) { in.Observed.ResidentBytes = signal.Value{} }, "resident memory"},
		"memory is nothing":   {func(in *Input) { in.Observed.ResidentBytes = present(0) }, "resident memory"},
		"memory not a number": {func(in *Input) { in.Observed.ResidentBytes = present(math.NaN()) }, "resident memory"},
		"unmeasured under GOMEMLIMIT": {func(in *Input) {
			in.Footing.MemoryLimitBytes, in.Baseline.MemoryLimitBytes, in.Observed.ResidentBytes = 0, mebibyte, signal.Value{}
		}, "resident memory"},
		"unmeasured, to be lowered": {func(in *Input) {
			in.Footing.MemoryLimitBytes, in.Objective.Minimize, in.Observed.ResidentBytes = 0, v1alpha1.MinimizeMemory, signal.Value{}
		}, "resident memory"},
		"too few cycles":              {func(in *Input) { in.Observed.GCShare = signal.Value{} }, "no pod finished 5 collections"},
		"no gain wanted so small":     {func(in *Input) { in.Objective.MinGain = 0.34 }, "no gain worth a trial"},
		"little CPU time":             {func(in *Input) { in.Observed.GCShare = present(0.0299) }, "no gain worth a trial"},
		"no CPU time":                 {func(in *Input) { in.Observed.GCShare = present(0) }, "no gain worth a trial"},
		"CPU time not a number":       {func(in *Input) { in.Observed.GCShare = present(math.NaN()) }, "no gain worth a trial"},
		"more than all CPU time":      {func(in *Input) { in.Observed.GCShare = present(1.01) }, "no gain worth a trial"},
		"a minimum that is no number": {func(in *Input) { in.Objective.MinGain = math.NaN() }, "no gain worth a trial"},
		"all rungs are declared": {func(in *Input) {
			in.Knobs.MinGOGC, in.Knobs.TuneMemoryLimit, in.Footing.Declared.GOGC = 200, false, 200
		}, "no GOGC that may be tried is left"},
		"a low GOMEMLIMIT that must stay": {func(in *Input) {
			in.Knobs.TuneMemoryLimit, in.Baseline.MemoryLimitBytes = false, 200*mebibyte
		}, "memory than the limit allows"},
		"memory, at the bound":    {func(in *Input) { memory(in); in.Knobs.MinGOGC = 50 }, "no rung below GOGC=50 lies within the bounds 50 to 200"},
		"memory, dear":            {memory, "GOGC=35 would cost more CPU time"},
		"memory, not a number":    {func(in *Input) { memory(in); in.Observed.GCShare = present(math.NaN()) }, "GOGC=35 would cost more CPU time"},
		"latency, without GC":     {func(in *Input) { latency(in); in.Observed.GCShare = present(0.0099) }, "requests can't wait for it"},
		"latency, no room at all": {func(in *Input) { latency(in); in.Knobs.MinGOGC, in.Knobs.MaxGOGC = 50, 50 }, "no rung above GOGC=50"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := input()
			test.edit(&in)
			got := Propose(in)
			if got.Candidate != nil || got.OutsideDeadband || got.Predicted.Text() != "" || !strings.Contains(got.Reason, test.reason) || got.Purpose != v1alpha1.PurposePromote {
				t.Errorf("%+v, want none for %q", got, test.reason)
			}
		})
	}
}

// TestTheClimbEndsWhereItNoLongerPays: at 8 % of the CPU time from 50 on, 75, 100 and 150 save at least 1 % each, 200 does not.
func TestTheClimbEndsWhereItNoLongerPays(t *testing.T) {
	in := input()
	in.Observed.GCShare = present(0.08)
	want := []settings.GOGC{75, 100, 150}
	if got := lessGCCPU(in); cmp.Diff(want, got.rungs) != "" {
		t.Errorf("%v", got.rungs)
	}
	in.Objective.MinGain = 0.3 // 75 to 100 is a quarter
	if got := lessGCCPU(in); cmp.Diff(want[:1], got.rungs) != "" {
		t.Errorf("%v", got.rungs)
	}
}

func TestLessMemory(t *testing.T) {
	tests := map[string]struct {
		edit func(*Input)
		want settings.GOGC
		mid  float64
	}{
		"one step":                  {func(*Input) {}, 75, -1.1 * 0.25 * 102 / 250},
		"as dear as may be":         {func(in *Input) { in.Observed.GCShare = present(0.0599) }, 75, -1.1 * 0.25 * 102 / 250},
		"too dear":                  {func(in *Input) { in.Observed.GCShare = present(0.0601) }, 0, 0},
		"assists as many as may be": {func(in *Input) { in.Observed.AssistShare = present(0.00649) }, 75, -1.1 * 0.25 * 102 / 250},
		"too many assists":          {func(in *Input) { in.Observed.AssistShare = present(0.0065) }, 0, 0},
		"from above the bounds":     {func(in *Input) { in.Baseline.GOGC, in.Observed.GCShare = 400, present(0.02) }, 200, 0},
		"half of a long way":        {func(in *Input) { in.Observed.GCShare = present(0.001) }, 75, -1.1 * 0.25 * 102 / 250},
		"saves as little as may be": {func(in *Input) { in.Objective.MinGain = 0.112 }, 75, -1.1 * 0.25 * 102 / 250},
		"saves too little":          {func(in *Input) { in.Objective.MinGain = 0.113 }, 0, 0},
		"where memory is full":      {func(in *Input) { in.Footing.MemoryLimitBytes = 265 * mebibyte }, 75, -1.1 * 0.25 * 102 / 250},
		"all does not fit":          {func(in *Input) { in.Footing.MemoryLimitBytes = 200 * mebibyte }, 0, 0},
	}
	for name, test := range tests {
		in := input()
		in.Baseline.GOGC, in.Objective.Minimize = 100, v1alpha1.MinimizeMemory
		in.Observed.ResidentBytes, in.Observed.GCShare = present(250*mebibyte), present(0.03)
		test.edit(&in)
		got := Propose(in)
		if (got.Candidate == nil) != (test.want == 0) {
			t.Errorf("%s: %v %q", name, got.Candidate, got.Reason)
			continue
		}
		if got.Candidate != nil && (got.Candidate.GOGC != test.want || test.mid != 0 && math.Abs(got.Predicted.Mid-test.mid) > 1e-9) {
			t.Errorf("%s: %s %v, want %s %v", name, got.Candidate.Canonical(), got.Predicted.Mid, test.want, test.mid)
		}
	}
}

// TestLatency tries one rung up, then one down, and never goes back where it came from.
func TestLatency(t *testing.T) {
	failed := func(in *Input, gogc settings.GOGC) {
		in.History = append(in.History, ended(*in, settings.Settings{GOGC: gogc}, v1alpha1.TrialReverted, v1alpha1.ReasonNoGain))
	}
	tests := map[string]struct {
		edit func(*Input)
		want settings.GOGC
	}{
		"up first":                     {func(*Input) {}, 75},
		"GC as rare as may be":         {func(in *Input) { in.Observed.GCShare = present(0.01) }, 75},
		"then down":                    {func(in *Input) { failed(in, 75) }, 35},
		"then nothing":                 {func(in *Input) { failed(in, 75); failed(in, 35) }, 0},
		"down where up is out":         {func(in *Input) { in.Knobs.MaxGOGC = 50 }, 35},
		"down where up does not fit":   {func(in *Input) { in.Footing.MemoryLimitBytes = 236 * mebibyte }, 35},
		"on upwards":                   {func(in *Input) { promoted(in, 35, 50) }, 75},
		"on upwards, then no more":     {func(in *Input) { promoted(in, 35, 50); failed(in, 75) }, 0},
		"on downwards":                 {func(in *Input) { promoted(in, 75, 50) }, 35},
		"on downwards, then no more":   {func(in *Input) { promoted(in, 75, 50); failed(in, 35) }, 0},
		"a jump is not for latency":    {func(in *Input) { failed(in, 100) }, 75},
		"a promotion on other footing": {func(in *Input) { promoted(in, 75, 50); in.History[0].Footing = v1alpha1.Footing{} }, 75},
	}
	for name, test := range tests {
		in := input()
		in.Objective.Minimize, in.Knobs.TuneMemoryLimit = v1alpha1.MinimizeLatency, false
		test.edit(&in)
		got := Propose(in)
		if (got.Candidate == nil) != (test.want == 0) || got.Candidate != nil && got.Candidate.GOGC != test.want || got.Predicted != (Prediction{}) || got.Reason == "" {
			t.Errorf("%s: %+v, want %s", name, got, test.want)
		}
	}
}

// TestLatencyLooksNoFurtherThanTheNextRung: there is no model that would know of an optimum.
func TestLatencyLooksNoFurtherThanTheNextRung(t *testing.T) {
	in := input()
	in.Objective.Minimize = v1alpha1.MinimizeLatency
	var next [][]settings.GOGC
	for _, way := range ways(in) {
		next = append(next, way.rungs)
	}
	if diff := cmp.Diff([][]settings.GOGC{{75}, {35}}, next); diff != "" {
		t.Error(diff)
	}
}

// promoted records that the baseline came from another.
func promoted(in *Input, from, to settings.GOGC) {
	record := ended(*in, settings.Settings{GOGC: to}, v1alpha1.TrialPromoted, v1alpha1.ReasonPromoted)
	record.Previous = &v1alpha1.Baseline{Settings: settings.Settings{GOGC: from}.API()}
	in.History = append([]v1alpha1.TrialRecord{record}, in.History...)
}

func TestStreak(t *testing.T) {
	for streak, tries := range map[int]bool{0: false, 1: false, 2: false, 3: true, 4: true} {
		in := input()
		in.Streak = streak
		got := Propose(in)
		if (got.Candidate != nil) != tries || !got.OutsideDeadband || (got.Predicted != (Prediction{})) != tries {
			t.Errorf("%d: %+v", streak, got)
		}
		if !tries && !strings.Contains(got.Reason, "is tried once 3 looks in a row have found it: GC takes 25% of the CPU time") {
			t.Errorf("%d: %q", streak, got.Reason)
		}
	}
}

func TestNothingBeyondWhatFailed(t *testing.T) {
	in := input()
	in.Knobs.TuneMemoryLimit, in.Baseline.GOGC = false, 100
	fail := func(gogc settings.GOGC, result v1alpha1.TrialResult, reason string) {
		in.History = append(in.History, ended(in, settings.Settings{GOGC: gogc}, result, reason))
	}
	fail(200, v1alpha1.TrialReverted, v1alpha1.ReasonOOMKilled)
	if got := Propose(in); got.Candidate == nil || got.Candidate.GOGC != 150 {
		t.Errorf("before 200 there is 150: %+v", got)
	}
	fail(150, v1alpha1.TrialReverted, v1alpha1.ReasonNoGain)
	if got := Propose(in); got.Candidate != nil || got.OutsideDeadband || got.Reason != "GOGC=150 failed on these resources less than seven days ago" {
		t.Errorf("after both failed: %+v", got)
	}
	in.History = nil
	fail(150, v1alpha1.TrialReverted, v1alpha1.ReasonNoGain)
	if got := Propose(in); got.Candidate != nil {
		t.Errorf("200 lies beyond 150, which failed: %+v", got)
	}
	in.History = nil
	fail(150, v1alpha1.TrialRecommended, v1alpha1.ReasonGuardrailsOnly)
	if got := Propose(in); got.Candidate != nil || got.Reason != "GOGC=150 went well on too few pods for a proof: a person decides about it" {
		t.Errorf("a recommendation waits for a person: %+v", got)
	}
	in.Provable = true
	if got := Propose(in); got.Candidate == nil || got.Candidate.GOGC != 150 {
		t.Errorf("but not once there are pods for a proof: %+v", got)
	}
	in.Provable = false
	in.History[0].EndedAt = metav1.NewTime(now.Add(-RejectionMemory))
	if got := Propose(in); got.Candidate == nil {
		t.Errorf("but not for ever: %+v", got)
	}
}

// TestTurningBack takes twice the deadband: 25 to 20 is a quarter, 30 to 20 a half.
func TestTurningBack(t *testing.T) {
	tests := map[string]struct {
		from settings.GOGC
		edit func(*Input)
		want settings.GOGC
	}{
		"first of all":        {25, func(*Input) {}, 20},
		"further down":        {25, func(in *Input) { promoted(in, 35, 25) }, 20},
		"back, a quarter":     {25, func(in *Input) { promoted(in, 16, 25) }, 0},
		"back, just enough":   {27, func(in *Input) { promoted(in, 16, 27) }, 20},
		"back, just too near": {26, func(in *Input) { promoted(in, 16, 26) }, 0},
		"on other resources":  {25, func(in *Input) { promoted(in, 16, 25); in.History[0].Footing = v1alpha1.Footing{} }, 20},
	}
	for name, test := range tests {
		in := input()
		in.Baseline.GOGC, in.Objective.Minimize, in.Knobs.MinGOGC, in.Observed.GCShare = test.from, v1alpha1.MinimizeMemory, 20, present(0.001)
		in.Objective.MinGain = 0.01
		test.edit(&in)
		got := Propose(in)
		if (got.Candidate == nil) != (test.want == 0) || got.Candidate != nil && got.Candidate.GOGC != test.want {
			t.Errorf("%s: %+v", name, got)
		}
		if got.Candidate == nil && !strings.Contains(got.Reason, "too near") {
			t.Errorf("%s: %q", name, got.Reason)
		}
	}
}

func TestLongPauses(t *testing.T) {
	tests := map[string]struct {
		edit func(*Input)
		want settings.GOGC
	}{
		"a long pause, half as high again": {func(*Input) {}, 75},
		"whatever it saves":                {func(in *Input) { in.Observed.GCShare = present(0.0001) }, 75},
		"a full step":                      {func(in *Input) { in.Baseline.GOGC, in.Knobs.MaxGOGC = 16, 25; in.Knobs.MinGOGC = 8 }, 20},
		"a full step, not half of the way": {func(in *Input) { in.Baseline.GOGC, in.Knobs.MinGOGC, in.Knobs.MaxGOGC = 17, 8, 25 }, 25},
		"up to 99":                         {func(in *Input) { in.Baseline.GOGC, in.Observed.GCShare = 99, present(0.0001) }, 150},
		"from 100 on the objective counts": {func(in *Input) { in.Baseline.GOGC, in.Observed.GCShare = 100, present(0.0001) }, 0},
		"as short as may be":               {func(in *Input) { in.Observed.MeanPauseSeconds, in.Observed.GCShare = present(0.005), present(0.0001) }, 0},
		"for latency too": {func(in *Input) {
			in.Objective.Minimize, in.Observed.GCShare = v1alpha1.MinimizeLatency, present(0.0001)
		}, 75},
		"not for memory":    {func(in *Input) { in.Objective.Minimize, in.Observed.GCShare = v1alpha1.MinimizeMemory, present(0.001) }, 35},
		"within the bounds": {func(in *Input) { in.Knobs.MaxGOGC = 50 }, 0},
		"within the memory": {func(in *Input) { in.Footing.MemoryLimitBytes = 210 * mebibyte }, 0},
	}
	for name, test := range tests {
		in := input()
		in.Observed.MeanPauseSeconds = present(0.0051)
		test.edit(&in)
		got := Propose(in)
		if (got.Candidate == nil) != (test.want == 0) || got.Candidate != nil && got.Candidate.GOGC != test.want {
			t.Errorf("%s: %v %q, want %s", name, got.Candidate, got.Reason, test.want)
		}
		if test.want == 75 && !strings.Contains(got.Reason, "a collection pauses for 5.1ms on average at GOGC=50; ") {
			t.Errorf("%s: %q", name, got.Reason)
		}
	}
}

// TestReasons are whole sentences for a person.
func TestReasons(t *testing.T) {
	limited := func(in *Input) { in.Baseline.MemoryLimitBytes, in.Observed.EffectiveGOGC = 180*mebibyte, present(40) }
	tests := map[string]struct {
		edit func(*Input)
		want string
	}{
		"GC CPU": {func(*Input) {}, "GC takes 25% of the CPU time at GOGC=50; GOGC=75 should take 33% less of it"},
		"a processor's knob says nothing where there is a candidate": {func(in *Input) { in.Knobs.TuneProcessors = true }, "GC takes 25% of the CPU time at GOGC=50; GOGC=75 should take 33% less of it"},
		"limited": {limited, "GC takes 25% of the CPU time at GOGC=50, which the memory limit makes as good as 40; GOGC=50 should take 20% less of it"},
		"memory": {func(in *Input) {
			in.Objective.Minimize, in.Observed.GCShare = v1alpha1.MinimizeMemory, present(0.04)
		}, "GC takes 4.0% of the CPU time at GOGC=50; GOGC=35 should take 8% less memory"},
		"latency": {func(in *Input) {
			in.Objective.Minimize = v1alpha1.MinimizeLatency
		}, "GC takes 25% of the CPU time at GOGC=50; whether GOGC=75 makes requests faster, a trial must tell"},
	}
	for name, test := range tests {
		in := input()
		test.edit(&in)
		if got := Propose(in); got.Reason != test.want || got.Candidate == nil {
			t.Errorf("%s: %q", name, got.Reason)
		}
	}
}

func TestUnknownStrategy(t *testing.T) {
	in := input()
	in.Strategy.Type = "Newer"
	if got := Propose(in); got.Candidate != nil || got.Reason != "this version does not know the strategy Newer" {
		t.Errorf("%+v", got)
	}
}

func TestCalibration(t *testing.T) {
	in := input()
	in.Strategy.Type = v1alpha1.StrategyCalibrate
	got := Propose(in)
	if got.Candidate == nil || *got.Candidate != in.Baseline || got.Purpose != v1alpha1.PurposeCalibrate || got.Predicted != (Prediction{}) || got.Reason == "" {
		t.Errorf("%+v", got)
	}
	in.Calibrated = true
	if got := Propose(in); got.Candidate != nil || !strings.Contains(got.Reason, "status.calibration") {
		t.Errorf("once is enough: %+v", got)
	}
}
