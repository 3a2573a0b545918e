package verdict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

func TestSpreads(t *testing.T) {
	w, members := window(1), cohort("pod", 3)
	for i, member := range members {
		pod := sample(20)
		factor := []float64{math.Exp(-0.05), 1, math.Exp(0.05)}[i]
		pod.RequestSeconds.Number *= factor
		pod.CPUSeconds.Number *= factor * factor
		pod.ResidentBytes = present(1e9)
		w.Pods[member.Name] = pod
	}
	started(members, 10, 20, 40)
	want := []v1alpha1.Spread{
		{Signal: "RequestLatency", PodSpread: "5.0%"}, {Signal: "TailLatency", PodSpread: "0.0%"}, {Signal: "Errors", PodSpread: "0.0%"}, {Signal: "CPUPerRequest", PodSpread: "10.0%"},
		{Signal: "GCCPUPerRequest", PodSpread: "0.0%"}, {Signal: "Memory", PodSpread: "0.0%"}, {Signal: "StartupTime", PodSpread: "69.4%"},
	}
	if diff := cmp.Diff(want, Spreads(w, members)); diff != "" {
		t.Error(diff)
	}
	change(w, "pod-1", func(p *signal.Pod) { p.RequestSeconds, p.GCCPUSeconds = signal.Value{}, present(0) })
	members[2].FirstReadyAt = members[2].CreatedAt
	want = []v1alpha1.Spread{want[1], want[2], want[3], want[5]}
	if diff := cmp.Diff(want, Spreads(w, members)); diff != "" {
		t.Errorf("with pods that lack some: %s", diff)
	}
	if got := Spreads(w, members[:2]); got != nil {
		t.Errorf("two pods: %v", got)
	}
	if got := Spreads(nil, members); got != nil {
		t.Errorf("no window: %v", got)
	}
}

// TestSpreadOfCounts: what counting makes of a share is taken out of its spread, and what the pods are is left.
func TestSpreadOfCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for _, truth := range []float64{0, 0.3} {
		w, members := window(1), cohort("pod", 200)
		for _, member := range members {
			share := 0.02 * math.Exp(truth*random.NormFloat64())
			failed := 0.0
			for range 4000 {
				if random.Float64() < share {
					failed++
				}
			}
			w.Pods[member.Name] = signal.Pod{
				Requests: present(4000), FailedRequests: present(failed), Latency: buckets(4000-failed, failed, 0, 0), LatencyState: signal.Present,
			}
		}
		got := Spreads(w, members)
		if len(got) != 2 || got[0].Signal != v1alpha1.SignalTailLatency || got[1].Signal != v1alpha1.SignalErrors {
			t.Fatalf("pods differ by %v: %v", truth, got)
		}
		for i, want := range []float64{truth * 0.02 / (0.02 + scarceTail), truth} {
			if math.Abs(parsePercent(got[i].PodSpread)-want) > 0.05 {
				t.Errorf("pods differ by %v: %v", truth, got[i])
			}
		}
	}
}
