package tuning

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gopacer/gopacer/internal/signal"
)

func waits(below, total float64) []signal.Bucket {
	return []signal.Bucket{
		{UpperBoundSeconds: 8.19e-05, Count: below / 2}, {UpperBoundSeconds: 0.000917504, Count: below},
		{UpperBoundSeconds: 0.01048576, Count: total}, {UpperBoundSeconds: math.Inf(1), Count: total},
	}
}

// measuredPod has everything.
func measuredPod() signal.Pod {
	return signal.Pod{
		Requests: present(1000), GCCPUSeconds: present(10), CPUSeconds: present(50), GCAssistSeconds: present(1), GCCycles: present(20),
		GCPauseSeconds: present(0.001), LongestPauseSeconds: present(0.004), Pauses: waits(15, 20), SchedulerLatency: waits(900, 1000),
		RunnableGoroutines: present(6), GOMAXPROCS: present(4), ThrottledShare: present(0.02),
		ResidentBytes: present(300), LiveHeapBytes: present(100), StackAndGlobalBytes: present(20), HeapGoalBytes: present(220),
	}
}

func TestObserve(t *testing.T) {
	first, second := measuredPod(), measuredPod()
	second.Requests, second.GCCPUSeconds, second.CPUSeconds, second.GCAssistSeconds = present(3000), present(20), present(100), present(3)
	second.GCPauseSeconds, second.LongestPauseSeconds, second.Pauses, second.SchedulerLatency = present(0.003), present(0.002), waits(20, 20), waits(1000, 1000)
	second.RunnableGoroutines, second.GOMAXPROCS, second.ThrottledShare = present(8), present(2), present(0.04)
	second.ResidentBytes, second.LiveHeapBytes, second.StackAndGlobalBytes, second.HeapGoalBytes = present(200), present(140), present(10), present(155)
	got, ok := Observe(signal.Window{Length: 100 * time.Second}, []signal.Pod{first, second, {}})
	want := Observation{
		Pods: 3, GCShare: present(0.2), AssistShare: present(4.0 / 150),
		RequestsPerSecond: present(40), GCCPUSecondsPerRequest: present(30.0 / 4000), CPUSecondsPerRequest: present(150.0 / 4000),
		LiveHeapBytes: present(140), RootBytes: present(20), NonHeapBytes: present(58), ResidentBytes: present(300),
		MeanLiveHeapBytes: present(120), MeanResidentBytes: present(250), EffectiveGOGC: present((100 + 10) / 2.0),
		MeanPauseSeconds: present(0.002), LongestPauseSeconds: present(0.004), LongPauseShare: present(5.0 / 40),
		RunnablePerProcessor: present((1.5 + 4) / 2), SlowSchedulingShare: present(0.05), ThrottledShare: present(0.03),
		CPUCores: present(0.75), Processors: present(4),
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" || !ok {
		t.Errorf("%t, %s", ok, diff)
	}
}

func TestObserveWhatIsMissing(t *testing.T) {
	bad := signal.Value{Number: 7, State: signal.NotFinite}
	absent := signal.Value{}
	tests := map[string]struct {
		edit func(*signal.Pod)
		read func(Observation) signal.Value
		want signal.Value
		ok   bool
	}{
		"GC time":             {func(p *signal.Pod) { p.GCCPUSeconds = bad }, func(o Observation) signal.Value { return o.GCShare }, absent, false},
		"CPU time":            {func(p *signal.Pod) { p.CPUSeconds = bad }, func(o Observation) signal.Value { return o.CPUCores }, absent, false},
		"no CPU time":         {func(p *signal.Pod) { p.CPUSeconds = present(0) }, func(o Observation) signal.Value { return o.CPUCores }, absent, false},
		"resident memory":     {func(p *signal.Pod) { p.ResidentBytes = bad }, func(o Observation) signal.Value { return o.ResidentBytes }, absent, false},
		"no resident memory":  {func(p *signal.Pod) { p.ResidentBytes = present(0) }, func(o Observation) signal.Value { return o.ResidentBytes }, absent, false},
		"assists":             {func(p *signal.Pod) { p.GCAssistSeconds = bad }, func(o Observation) signal.Value { return o.AssistShare }, absent, true},
		"requests":            {func(p *signal.Pod) { p.Requests = bad }, func(o Observation) signal.Value { return o.GCCPUSecondsPerRequest }, absent, true},
		"no requests":         {func(p *signal.Pod) { p.Requests = present(0) }, func(o Observation) signal.Value { return o.CPUSecondsPerRequest }, absent, true},
		"requests for a rate": {func(p *signal.Pod) { p.Requests = bad }, func(o Observation) signal.Value { return o.RequestsPerSecond }, absent, true},
		"four cycles":         {func(p *signal.Pod) { p.GCCycles = present(4) }, func(o Observation) signal.Value { return o.GCShare }, absent, true},
		"five cycles":         {func(p *signal.Pod) { p.GCCycles = present(5) }, func(o Observation) signal.Value { return o.GCShare }, present(0.2), true},
		"cycles unknown":      {func(p *signal.Pod) { p.GCCycles = bad }, func(o Observation) signal.Value { return o.GCShare }, present(0.2), true},
		"four cycles cost":    {func(p *signal.Pod) { p.GCCycles = present(4) }, func(o Observation) signal.Value { return o.GCCPUSecondsPerRequest }, absent, true},
		"four cycles' CPU":    {func(p *signal.Pod) { p.GCCycles = present(4) }, func(o Observation) signal.Value { return o.CPUSecondsPerRequest }, present(0.05), true},
		"live heap":           {func(p *signal.Pod) { p.LiveHeapBytes = bad }, func(o Observation) signal.Value { return o.RootBytes }, absent, true},
		"roots":               {func(p *signal.Pod) { p.StackAndGlobalBytes = bad }, func(o Observation) signal.Value { return o.LiveHeapBytes }, absent, true},
		"live heap, mean":     {func(p *signal.Pod) { p.LiveHeapBytes = bad }, func(o Observation) signal.Value { return o.MeanLiveHeapBytes }, absent, true},
		"heap goal":           {func(p *signal.Pod) { p.HeapGoalBytes = bad }, func(o Observation) signal.Value { return o.NonHeapBytes }, absent, true},
		"a goal not reached":  {func(p *signal.Pod) { p.HeapGoalBytes = present(1000) }, func(o Observation) signal.Value { return o.NonHeapBytes }, present(0), true},
		"more GC than CPU":    {func(p *signal.Pod) { p.GCCPUSeconds = present(51) }, func(o Observation) signal.Value { return o.GCShare }, present(1), true},
		"GC below nothing":    {func(p *signal.Pod) { p.GCCPUSeconds = present(-1) }, func(o Observation) signal.Value { return o.GCShare }, present(0), true},
		"all runnable":        {func(p *signal.Pod) { p.RunnableGoroutines = bad }, func(o Observation) signal.Value { return o.RunnablePerProcessor }, absent, true},
		"no processors":       {func(p *signal.Pod) { p.GOMAXPROCS = present(0) }, func(o Observation) signal.Value { return o.RunnablePerProcessor }, absent, true},
		"no throttling":       {func(p *signal.Pod) { p.ThrottledShare = absent }, func(o Observation) signal.Value { return o.ThrottledShare }, absent, true},
		"no histogram":        {func(p *signal.Pod) { p.Pauses = nil }, func(o Observation) signal.Value { return o.LongPauseShare }, absent, true},
		"an empty histogram":  {func(p *signal.Pod) { p.Pauses = waits(0, 0) }, func(o Observation) signal.Value { return o.LongPauseShare }, absent, true},
		"an edge at 1 ms":     {func(p *signal.Pod) { p.Pauses[1].UpperBoundSeconds = 0.001 }, func(o Observation) signal.Value { return o.LongPauseShare }, present(0.25), true},
		"an edge above 1 ms":  {func(p *signal.Pod) { p.Pauses[1].UpperBoundSeconds = 0.00101 }, func(o Observation) signal.Value { return o.LongPauseShare }, absent, true},
		"the lowest edge":     {func(p *signal.Pod) { p.Pauses[1].UpperBoundSeconds = 0.00091 }, func(o Observation) signal.Value { return o.LongPauseShare }, present(0.25), true},
		"an edge too low":     {func(p *signal.Pod) { p.Pauses[1].UpperBoundSeconds = 0.0009 }, func(o Observation) signal.Value { return o.LongPauseShare }, absent, true},
		"two edges that fit": {func(p *signal.Pod) { p.Pauses[0].UpperBoundSeconds = 0.00091 }, func(o Observation) signal.Value {
			return o.LongPauseShare
		}, present(0.625), true},
	}
	for name, test := range tests {
		pod := measuredPod()
		test.edit(&pod)
		got, ok := Observe(signal.Window{Length: 100 * time.Second}, []signal.Pod{pod})
		if diff := cmp.Diff(test.want, test.read(got), cmpopts.EquateApprox(1e-9, 0)); diff != "" || ok != test.ok {
			t.Errorf("%s: %t, %s", name, ok, diff)
		}
	}
}

func TestObserveNothing(t *testing.T) {
	if got, ok := Observe(signal.Window{}, nil); ok || got != (Observation{}) {
		t.Errorf("%t %+v", ok, got)
	}
	got, ok := Observe(signal.Window{}, []signal.Pod{measuredPod()})
	if !ok || got.CPUCores.OK() || got.RequestsPerSecond.OK() || !got.CPUSecondsPerRequest.OK() {
		t.Errorf("a window without length: %+v", got)
	}
}

// TestTheLargestPodMayBeUnmeasured: one pod that does not show its heap hides how large the largest is.
func TestTheLargestPodMayBeUnmeasured(t *testing.T) {
	blind := measuredPod()
	blind.LiveHeapBytes, blind.HeapGoalBytes = signal.Value{}, signal.Value{}
	got, _ := Observe(signal.Window{}, []signal.Pod{measuredPod(), blind})
	if got.LiveHeapBytes.OK() || got.RootBytes.OK() || got.NonHeapBytes.OK() || got.MeanLiveHeapBytes != present(100) || got.EffectiveGOGC != present(100) {
		t.Errorf("%+v", got)
	}
}
