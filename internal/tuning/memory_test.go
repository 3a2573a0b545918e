package tuning

import (
	"math"
	"testing"

	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
)

// TestPredictedResident holds the formula of the runtime's heap goal, L + (L+R)·GOGC/100, with a tenth for the scavenger.
func TestPredictedResident(t *testing.T) {
	of := func(resident, live, roots float64) Observation {
		return Observation{ResidentBytes: present(resident), LiveHeapBytes: present(live), RootBytes: present(roots)}
	}
	withRest := of(300, 100, 20)
	withRest.NonHeapBytes = present(7)
	noRoots := of(200, 100, 0)
	noRoots.RootBytes = signal.Value{}
	tests := map[string]struct {
		seen      Observation
		now, next float64
		want      float64
	}{
		"the heap's share grows":      {of(300, 100, 20), 100, 200, 300 + 1.1*120},
		"and shrinks":                 {of(300, 100, 20), 100, 50, 300 - 1.1*60},
		"what is not heap stays":      {of(1000, 100, 0), 100, 150, 1000 + 1.1*50},
		"a heap not yet grown":        {of(50, 100, 0), 100, 200, 330},
		"no live heap, all follows":   {Observation{ResidentBytes: present(200)}, 100, 200, 300},
		"roots without heap mean not": {of(200, 0, 50), 100, 300, 400},
		"heap without roots either":   {noRoots, 100, 300, 400},
		"beside the heap, measured":   {withRest, 100, 200, 1.1*(100+240) + 7},
	}
	for name, test := range tests {
		if got := predictedResident(test.seen, test.now, test.next); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if got := predictedResident(Observation{ResidentBytes: signal.Value{Number: 5, State: signal.NotFinite}}, 100, 200); !math.IsNaN(got) {
		t.Errorf("unmeasured memory: %v", got)
	}
}

func TestPresentGOGC(t *testing.T) {
	tests := map[string]struct {
		baseline  settings.Settings
		effective signal.Value
		want      float64
	}{
		"as set":                           {settings.Settings{GOGC: 50}, present(10), 50},
		"unset":                            {settings.Settings{}, present(10), 100},
		"off":                              {settings.Settings{GOGC: settings.Off}, present(37), 37},
		"off, unmeasured":                  {settings.Settings{GOGC: settings.Off}, signal.Value{Number: 37}, 0},
		"off, without room":                {settings.Settings{GOGC: settings.Off}, present(0), 0},
		"under a memory limit":             {settings.Settings{GOGC: 100, MemoryLimitBytes: 1}, present(89), 89},
		"under a memory limit, not for it": {settings.Settings{GOGC: 100, MemoryLimitBytes: 1}, present(90), 100},
		"under a memory limit, unset":      {settings.Settings{MemoryLimitBytes: 1}, present(20), 20},
		"under a memory limit, unmeasured": {settings.Settings{MemoryLimitBytes: 1}, signal.Value{Number: 20}, 100},
		"under a memory limit, no heap":    {settings.Settings{MemoryLimitBytes: 1}, present(0), 100},
		"a small heap has a larger goal":   {settings.Settings{GOGC: 50, MemoryLimitBytes: 1}, present(300), 50},
	}
	for name, test := range tests {
		in := input()
		in.Baseline, in.Observed.EffectiveGOGC = test.baseline, test.effective
		if got := presentGOGC(in); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestCandidateAt(t *testing.T) {
	// At GOGC=100 the service needs 1.1·(100 + 102) MiB for the heap, and 200 − 1.1·(100 + 51) beside it.
	need := 256.1 * float64(mebibyte)
	least := int64(math.Ceil(need))
	tests := map[string]struct {
		edit func(*Input)
		want settings.Settings
		fits bool
	}{
		"with its backstop":         {func(*Input) {}, settings.Settings{GOGC: 100, MemoryLimitBytes: 966367641}, true},
		"no memory limit":           {func(in *Input) { in.Footing.MemoryLimitBytes = 0 }, settings.Settings{GOGC: 100}, true},
		"just fits":                 {func(in *Input) { in.Footing.MemoryLimitBytes = int64(need/0.85) + 1 }, settings.Settings{GOGC: 100, MemoryLimitBytes: 284336802}, true},
		"just does not":             {func(in *Input) { in.Footing.MemoryLimitBytes = int64(need/0.85) - 1 }, settings.Settings{}, false},
		"the backstop is not tuned": {func(in *Input) { in.Knobs.TuneMemoryLimit = false }, settings.Settings{GOGC: 100}, true},
		"no share is no share":      {func(in *Input) { in.Knobs.MemoryLimitShare = 0 }, settings.Settings{GOGC: 100}, true},
		"too large a share is none": {func(in *Input) { in.Knobs.MemoryLimitShare = 1.01 }, settings.Settings{GOGC: 100}, true},
		"the whole limit":           {func(in *Input) { in.Knobs.MemoryLimitShare = 1 }, settings.Settings{GOGC: 100, MemoryLimitBytes: 1024 * mebibyte}, true},
		"a share that is too small": {func(in *Input) { in.Knobs.MemoryLimitShare = 0.25 }, settings.Settings{GOGC: 100}, true},
		"a limit that must stay": {func(in *Input) {
			in.Knobs.TuneMemoryLimit, in.Baseline.MemoryLimitBytes = false, least
		}, settings.Settings{GOGC: 100, MemoryLimitBytes: least}, true},
		"a limit that must stay, low": {func(in *Input) {
			in.Knobs.TuneMemoryLimit, in.Baseline.MemoryLimitBytes = false, least-1
		}, settings.Settings{GOGC: 100, MemoryLimitBytes: least - 1}, false},
		"a limit that a low share leaves": {func(in *Input) {
			in.Knobs.MemoryLimitShare, in.Baseline.MemoryLimitBytes = 0.2, least-1
		}, settings.Settings{GOGC: 100, MemoryLimitBytes: least - 1}, false},
		"unmeasured, no limit": {func(in *Input) { in.Footing.MemoryLimitBytes, in.Observed.ResidentBytes = 0, signal.Value{} }, settings.Settings{GOGC: 100}, true},
		"unmeasured, limited":  {func(in *Input) { in.Observed.ResidentBytes = signal.Value{} }, settings.Settings{}, false},
		"other keys stay": {func(in *Input) {
			in.Baseline.GOMAXPROCS, in.Baseline.GODEBUG = 3, "disablethp=1"
		}, settings.Settings{GOGC: 100, MemoryLimitBytes: 966367641, GOMAXPROCS: 3, GODEBUG: "disablethp=1"}, true},
		"a tiny container": {func(in *Input) {
			in.Footing.MemoryLimitBytes, in.Observed = 70*mebibyte, Observation{ResidentBytes: present(10 * mebibyte)}
		}, settings.Settings{GOGC: 100}, true},
		"hardly a tiny container": {func(in *Input) {
			in.Footing.MemoryLimitBytes, in.Knobs.MemoryLimitShare, in.Observed = 64*mebibyte, 1, Observation{ResidentBytes: present(10 * mebibyte)}
		}, settings.Settings{GOGC: 100, MemoryLimitBytes: 64 * mebibyte}, true},
	}
	for name, test := range tests {
		in := input()
		test.edit(&in)
		if got, fits := candidateAt(in, 100); got != test.want || fits != test.fits {
			t.Errorf("%s: %s %t, want %s", name, got.Canonical(), fits, test.want.Canonical())
		}
	}
}
