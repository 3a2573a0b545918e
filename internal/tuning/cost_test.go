package tuning

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
)

func present(number float64) signal.Value { return signal.Value{Number: number, State: signal.Present} }

func TestMeasureCost(t *testing.T) {
	pod := func(gc, cpu, resident, live, roots float64) signal.Pod {
		return signal.Pod{
			GCCPUSeconds: present(gc), CPUSeconds: present(cpu), ResidentBytes: present(resident), LiveHeapBytes: present(live),
			StackAndGlobalBytes: present(roots),
		}
	}
	without := func(edit func(*signal.Pod)) signal.Pod {
		p := pod(50, 100, 900, 700, 80)
		edit(&p)
		return p
	}
	first, second := pod(10, 100, 300, 100, 5), pod(30, 100, 200, 120, 7)
	of := Cost{GCShare: 0.2, LiveHeapBytes: 120, RootBytes: 7, ResidentBytes: 300}
	bad := signal.Value{Number: math.NaN(), State: signal.NotFinite}
	tests := map[string]struct {
		pods []signal.Pod
		want Cost
		ok   bool
	}{
		"none":                    {nil, Cost{}, false},
		"shares of sums, maxima":  {[]signal.Pod{first, second}, of, true},
		"a pod without anything":  {[]signal.Pod{{}, first, second}, of, true},
		"a pod without GC":        {[]signal.Pod{first, without(func(p *signal.Pod) { p.GCCPUSeconds = bad }), second}, of, true},
		"a pod without CPU":       {[]signal.Pod{first, without(func(p *signal.Pod) { p.CPUSeconds = bad }), second}, of, true},
		"a pod that stands still": {[]signal.Pod{first, without(func(p *signal.Pod) { p.CPUSeconds = present(0) }), second}, of, true},
		"a pod without memory":    {[]signal.Pod{first, without(func(p *signal.Pod) { p.ResidentBytes = bad }), second}, of, true},
		"a pod of no bytes":       {[]signal.Pod{first, without(func(p *signal.Pod) { p.ResidentBytes = present(0) }), second}, of, true},
		"only unusable pods":      {[]signal.Pod{{}, without(func(p *signal.Pod) { p.ResidentBytes = bad })}, Cost{}, false},
		"one live heap unknown":   {[]signal.Pod{first, without(func(p *signal.Pod) { p.LiveHeapBytes = bad })}, Cost{GCShare: 0.3, ResidentBytes: 900}, true},
		"one pod's roots unknown": {[]signal.Pod{without(func(p *signal.Pod) { p.StackAndGlobalBytes = bad }), first}, Cost{GCShare: 0.3, ResidentBytes: 900}, true},
		"more GC than CPU time":   {[]signal.Pod{pod(150, 100, 1, 1, 1)}, Cost{GCShare: 1, LiveHeapBytes: 1, RootBytes: 1, ResidentBytes: 1}, true},
		"GC time below none":      {[]signal.Pod{pod(-1, 100, 1, 1, 1)}, Cost{LiveHeapBytes: 1, RootBytes: 1, ResidentBytes: 1}, true},
	}
	for name, test := range tests {
		got, ok := MeasureCost(test.pods)
		if diff := cmp.Diff(test.want, got); diff != "" || ok != test.ok {
			t.Errorf("%s: %t, %s", name, ok, diff)
		}
	}
}

// FuzzPropose: whatever was measured, a candidate of the Feedback strategy is higher, at most twice as high, within the bounds, fits the
// memory as predicted, and is told in words without NaN.
func FuzzPropose(f *testing.F) {
	f.Add(int32(50), int64(0), int64(1<<30), int32(25), int32(200), 0.9, 0.25, 1e8, 1e6, 2e8)
	f.Add(int32(0), int64(1<<28), int64(0), int32(1), int32(10000), 0.5, 1.0, 0.0, 0.0, 1e9)
	f.Add(int32(1<<30), int64(1), int64(1), int32(1), int32(1), math.NaN(), math.NaN(), math.NaN(), math.Inf(1), math.NaN())
	random := rand.New(rand.NewPCG(8, 8))
	for range 3000 { // services as they are, so that a plain test run sees proposals too
		size := float64(int64(mebibyte) << random.IntN(12))
		f.Add(1+random.Int32N(600), int64(random.IntN(2))*int64(size*2*random.Float64()), int64(size*3*random.Float64()), 1+random.Int32N(100),
			100+random.Int32N(1000), random.Float64()*1.1, random.Float64(), size*random.Float64()/2, size*random.Float64()/20, size*random.Float64())
	}
	f.Fuzz(func(t *testing.T, gogc int32, baseline, limit int64, least, most int32, share, gcShare, live, roots, resident float64) {
		if gogc < -1 || baseline < 0 || limit < 0 {
			return
		}
		in := input()
		in.Baseline = settings.Settings{GOGC: settings.GOGC(gogc), MemoryLimitBytes: baseline}
		in.Footing.MemoryLimitBytes = limit
		in.Knobs.MinGOGC, in.Knobs.MaxGOGC, in.Knobs.MemoryLimitShare = settings.GOGC(least), settings.GOGC(most), share
		in.Cost = Cost{GCShare: gcShare, LiveHeapBytes: live, RootBytes: roots, ResidentBytes: resident}
		got := Propose(in)
		if got.Reason == "" || len(got.Reason) > 512 || strings.Contains(got.Reason, "NaN") || strings.Contains(got.Reason, "Inf") {
			t.Fatalf("reason %q", got.Reason)
		}
		if got.Candidate == nil {
			return
		}
		from, to := in.Baseline.EffectiveGOGC(), got.Candidate.GOGC
		if to <= from || to > 2*from || to < in.Knobs.MinGOGC || to > in.Knobs.MaxGOGC {
			t.Fatalf("from %s to %s, bounds %s to %s", from, to, in.Knobs.MinGOGC, in.Knobs.MaxGOGC)
		}
		if !(got.PredictedGain >= in.MinGain && got.PredictedGain*gcShare >= in.MinCPUGain && got.PredictedGain <= 0.5) {
			t.Fatalf("gain %v of %v", got.PredictedGain, gcShare)
		}
		need := predictedResident(in.Cost, from, to)
		backstop := got.Candidate.MemoryLimitBytes
		if limit != 0 && !(need <= 0.85*float64(limit)) || backstop != 0 && !(float64(backstop) >= need) {
			t.Fatalf("needs %v of %d under GOMEMLIMIT=%d", need, limit, backstop)
		}
		if backstop != baseline && (backstop < minMemoryLimitBytes || backstop > limit) {
			t.Fatalf("GOMEMLIMIT=%d, the memory limit is %d", backstop, limit)
		}
	})
}
