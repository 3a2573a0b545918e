package verdict

import (
	"testing"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

// TestScarceTail: of pods whose tail is a handful of requests one has ten times as many, for a hiccup of its node. That makes them no pods
// that can't be compared, while a tail that people feel does.
func TestScarceTail(t *testing.T) {
	for _, test := range []struct {
		slow  float64
		short bool
	}{{1, false}, {40, true}} {
		w, members := window(1), cohort("pod", 6)
		for i, member := range members {
			slow := test.slow
			if i == 2 {
				slow *= 10
			}
			w.Pods[member.Name] = signal.Pod{Requests: present(4000), Latency: buckets(4000-slow, slow, 0, 0), LatencyState: signal.Present}
		}
		_, shortage := SettleMargins(MarginInput{
			Defaults: map[v1alpha1.SignalName]float64{v1alpha1.SignalTailLatency: 0.1}, Max: 0.1, Spreads: Spreads(w, members), Canary: 3, Control: 3,
		})
		if (shortage != nil) != test.short {
			t.Errorf("%v of 4000 requests are slow, of one pod ten times as many: %+v", test.slow, shortage)
		}
	}
}

// TestScarceSlowRequests: of pods that answer some three of two thousand requests too slowly, one answers three times as many, for a hiccup of its
// node. An objective that allows one in twenty is far away; of one that allows one in a thousand it is all there is.
func TestScarceSlowRequests(t *testing.T) {
	for allowed, want := range map[float64]v1alpha1.Outcome{0.05: v1alpha1.OutcomePass, 0.01: v1alpha1.OutcomePass, 0.001: v1alpha1.OutcomeInconclusive} {
		in := passing()
		in.SLOs[0].ThresholdSeconds, in.SLOs[0].AllowedShare = 0.1, allowed
		for i, slow := range []float64{3, 9, 2} {
			set := func(p *signal.Pod, slow float64) {
				p.Requests, p.Latency = present(2000), buckets(2000-slow, slow, 0, 0)
			}
			for _, w := range []*signal.Window{in.Recent, in.Evidence} {
				change(w, in.Canary[i].Name, func(p *signal.Pod) { set(p, slow) })
				change(w, in.Control[i].Name, func(p *signal.Pod) { set(p, slow-1) })
			}
		}
		if check := checkNamed(t, Judge(in).Verdict, string(v1alpha1.SignalSlowRequests)); check.Outcome != want {
			t.Errorf("an objective that allows %v: %s, %s", allowed, check.Outcome, check.Message)
		}
	}
}
