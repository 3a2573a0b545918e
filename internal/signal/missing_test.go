package signal

import (
	"strings"
	"testing"
)

func wholePod() Pod {
	present := Value{Number: 1, State: Present}
	return Pod{
		Requests: present, FailedRequests: present, Latency: []Bucket{{1, 1}}, LatencyState: Present, GCCPUSeconds: present,
		CPUSeconds: present, GCCycles: present, GCCyclesTotal: present, GCPauseSeconds: present, ResidentBytes: present,
		LiveHeapBytes: present, StackAndGlobalBytes: present, TotalMemoryBytes: present, GOGCPercent: present,
		MemoryLimitBytes: present, GOMAXPROCS: present, ProcessStartSeconds: present, Sampled: true, Coverage: 1,
	}
}

func TestMissing(t *testing.T) {
	type gap struct {
		kind  GapKind
		words []string
	}
	for name, tc := range map[string]struct {
		change func(*Pod)
		want   []gap
	}{
		"nothing": {func(*Pod) {}, nil},
		"not known for sure is not missing": {func(p *Pod) {
			p.GCCPUSeconds.State, p.Requests.State, p.LatencyState = NotFinite, Ambiguous, Ambiguous
		}, nil},
		"cpu classes": {func(p *Pod) { p.GCCPUSeconds = Value{} },
			[]gap{{GapRuntime, []string{metricGCCPU, "WithGoCollectorRuntimeMetrics", "MetricsGC leaves /cpu/classes out"}}}},
		"all runtime metrics": {func(p *Pod) {
			p.GCCPUSeconds, p.LiveHeapBytes, p.StackAndGlobalBytes, p.TotalMemoryBytes = Value{}, Value{}, Value{}, Value{}
		}, []gap{{GapRuntime, []string{metricGCCPU, metricLiveHeap, metricMemoryTotal, "WithGoCollectorRuntimeMetrics"}}}},
		"process collector": {func(p *Pod) { p.CPUSeconds = Value{} }, []gap{{GapRuntime, []string{metricCPU, "NewProcessCollector"}}}},
		"settings":          {func(p *Pod) { p.GOGCPercent = Value{} }, []gap{{GapRuntime, []string{metricGOGC, "1.20"}}}},
		"requests":          {func(p *Pod) { p.Requests = Value{} }, []gap{{GapLatency, []string{"http_request_duration_seconds", "spec.metrics.latency"}}}},
		"buckets": {func(p *Pod) { p.Latency, p.LatencyState = nil, Absent },
			[]gap{{GapLatency, []string{"http_request_duration_seconds_bucket"}}}},
		"status": {func(p *Pod) { p.FailedRequests = Value{} }, []gap{{GapErrors, []string{`"code"`, "codeLabel"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := wholePod()
			tc.change(&pod)
			gaps := Missing(exampleRequest(), Window{Pods: map[string]Pod{"a": pod, "other": wholePod()}}, []string{"a", "unseen"})
			if len(gaps) != len(tc.want) {
				t.Fatalf("gaps %v, want %d", gaps, len(tc.want))
			}
			for i, want := range tc.want {
				checkGap(t, gaps[i], want.kind, want.words)
			}
		})
	}
}

func checkGap(t *testing.T, got Gap, kind GapKind, words []string) {
	t.Helper()
	if got.Kind != kind {
		t.Errorf("kind %s, want %s", got.Kind, kind)
	}
	for _, word := range words {
		if !strings.Contains(got.Message, word) {
			t.Errorf("message %q does not name %q", got.Message, word)
		}
	}
}

func TestMissingWhereOnePodHasIt(t *testing.T) {
	lacking := wholePod()
	lacking.GCCPUSeconds, lacking.Requests = Value{}, Value{}
	window := Window{Pods: map[string]Pod{"a": lacking, "b": wholePod()}}
	if gaps := Missing(exampleRequest(), window, []string{"a", "b"}); len(gaps) != 0 {
		t.Errorf("gaps %v, though a pod has it all", gaps)
	}
}

func TestMissingEverything(t *testing.T) {
	gaps := Missing(exampleRequest(), Window{}, []string{"a", "b"})
	if len(gaps) != 1 {
		t.Fatalf("gaps %v, want one", gaps)
	}
	checkGap(t, gaps[0], GapScrape, []string{`namespace="shop"`, "pod", "scraped"})
	if gaps := Missing(exampleRequest(), Window{}, nil); len(gaps) != 0 {
		t.Errorf("gaps %v of no pods", gaps)
	}
}
