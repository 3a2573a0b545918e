package verdict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func settleInput(canary, control int, spreads ...v1alpha1.Spread) MarginInput {
	return MarginInput{
		Defaults: map[v1alpha1.SignalName]float64{
			v1alpha1.SignalRequestLatency: 0.03, v1alpha1.SignalTailLatency: 0.1, v1alpha1.SignalCPUPerRequest: 0.02, v1alpha1.SignalStartupTime: 0.25,
		},
		Max: 0.1, Spreads: spreads, Canary: canary, Control: control,
	}
}

func TestSettleMargins(t *testing.T) {
	spread := func(signal v1alpha1.SignalName, podSpread v1alpha1.Percent) v1alpha1.Spread {
		return v1alpha1.Spread{Signal: signal, PodSpread: podSpread}
	}
	tests := map[string]struct {
		in   MarginInput
		want []v1alpha1.Margin
		sure Shortage
	}{
		"nothing known": {settleInput(4, 8), []v1alpha1.Margin{
			{Signal: "RequestLatency", Allowed: "3.0%"}, {Signal: "TailLatency", Allowed: "10.0%"}, {Signal: "CPUPerRequest", Allowed: "2.0%"}, {Signal: "StartupTime", Allowed: "25.0%"},
		}, Shortage{}},
		"widened to what can be resolved": {settleInput(4, 8, spread("RequestLatency", "3.0%"), spread("CPUPerRequest", "0.5%"), spread("Memory", "50%")), []v1alpha1.Margin{
			{Signal: "RequestLatency", Allowed: "7.5%", PodSpread: "3.0%"}, {Signal: "TailLatency", Allowed: "10.0%"},
			{Signal: "CPUPerRequest", Allowed: "2.0%", PodSpread: "0.5%"}, {Signal: "StartupTime", Allowed: "25.0%"},
		}, Shortage{}},
		"too few pods, the worst named": {settleInput(3, 3, spread("RequestLatency", "3.0%"), spread("CPUPerRequest", "6.0%")), []v1alpha1.Margin{
			{Signal: "RequestLatency", Allowed: "10.0%", PodSpread: "3.0%"}, {Signal: "TailLatency", Allowed: "10.0%"},
			{Signal: "CPUPerRequest", Allowed: "10.0%", PodSpread: "6.0%"}, {Signal: "StartupTime", Allowed: "25.0%"},
		}, Shortage{Signal: "CPUPerRequest", Pods: 8, Margin: 0.2241}},
		"a share may move five times as far": {settleInput(4, 8, spread("TailLatency", "15%"), spread("StartupTime", "80%")), []v1alpha1.Margin{
			{Signal: "RequestLatency", Allowed: "3.0%"}, {Signal: "TailLatency", Allowed: "43.5%", PodSpread: "15.0%"},
			{Signal: "CPUPerRequest", Allowed: "2.0%"}, {Signal: "StartupTime", Allowed: "25.0%", PodSpread: "80.0%"},
		}, Shortage{}},
		"hopeless": {settleInput(1, 3, spread("CPUPerRequest", "100%")), []v1alpha1.Margin{
			{Signal: "RequestLatency", Allowed: "3.0%"}, {Signal: "TailLatency", Allowed: "10.0%"},
			{Signal: "CPUPerRequest", Allowed: "10.0%", PodSpread: "100.0%"}, {Signal: "StartupTime", Allowed: "25.0%"},
		}, Shortage{Signal: "CPUPerRequest", Margin: math.Inf(1)}},
	}
	for name, test := range tests {
		got, shortage := SettleMargins(test.in)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if (shortage == nil) != (test.sure == Shortage{}) {
			t.Errorf("%s: %+v", name, shortage)
			continue
		}
		if shortage == nil {
			continue
		}
		if shortage.Signal != test.sure.Signal || shortage.Pods != test.sure.Pods || shortage.Margin != test.sure.Margin && !(math.Abs(shortage.Margin-test.sure.Margin) < 0.002) {
			t.Errorf("%s: %+v, want %+v", name, *shortage, test.sure)
		}
	}
}

// TestRareErrorsAreNoShortage: pods that fail a few requests each seem unlike each other by chance. That widens their margin, and stops no trial.
func TestRareErrorsAreNoShortage(t *testing.T) {
	in := settleInput(3, 3, v1alpha1.Spread{Signal: v1alpha1.SignalErrors, PodSpread: "40%"})
	in.Defaults[v1alpha1.SignalErrors] = 0
	margins, shortage := SettleMargins(in)
	if shortage != nil {
		t.Errorf("%+v", *shortage)
	}
	if margin := ParseMargins(margins)[v1alpha1.SignalErrors]; margin.Allowed != 0.5 || margin.PodSpread != 0.4 {
		t.Errorf("%+v, want five times the bound of times", margin)
	}
	in.Spreads[0].Signal = v1alpha1.SignalTailLatency
	if _, shortage := SettleMargins(in); shortage == nil || shortage.Signal != v1alpha1.SignalTailLatency {
		t.Errorf("as much in the tail of the request time is a shortage: %+v", shortage)
	}
}

// TestShortageIsEnough: with the pods that a shortage asks for there is none, and with one less there still is.
func TestShortageIsEnough(t *testing.T) {
	for _, podSpread := range []v1alpha1.Percent{"3.0%", "6.0%", "12.0%"} {
		spread := v1alpha1.Spread{Signal: v1alpha1.SignalRequestLatency, PodSpread: podSpread}
		_, shortage := SettleMargins(settleInput(3, 3, spread))
		if shortage == nil {
			t.Errorf("%s: 3 v 3 pods are said to be enough", podSpread)
			continue
		}
		if _, again := SettleMargins(settleInput(shortage.Pods, shortage.Pods, spread)); again != nil {
			t.Errorf("%s: %d pods were not enough", podSpread, shortage.Pods)
		}
		if _, again := SettleMargins(settleInput(shortage.Pods-1, shortage.Pods-1, spread)); again == nil {
			t.Errorf("%s: %d pods would have been enough", podSpread, shortage.Pods-1)
		}
	}
}

// TestSomeShortfallIsNone: between the two assurances a trial starts with the widest margin.
func TestSomeShortfallIsNone(t *testing.T) {
	for podSpread, short := range map[v1alpha1.Percent]bool{"3.8%": false, "4.5%": false, "4.9%": true} {
		margins, shortage := SettleMargins(settleInput(4, 8, v1alpha1.Spread{Signal: v1alpha1.SignalRequestLatency, PodSpread: podSpread}))
		if (shortage != nil) != short || (margins[0].Allowed == "10.0%") != (podSpread != "3.8%") {
			t.Errorf("%s: %+v, %+v", podSpread, margins[0], shortage)
		}
	}
}

// TestMarginOfTheBound: a default beyond the bound is no shortage.
func TestMarginOfTheBound(t *testing.T) {
	in := settleInput(4, 8, v1alpha1.Spread{Signal: v1alpha1.SignalRequestLatency, PodSpread: "6%"})
	in.Defaults[v1alpha1.SignalRequestLatency] = 0.3
	if margins, shortage := SettleMargins(in); shortage != nil || margins[0].Allowed != "30.0%" {
		t.Errorf("%+v %+v", margins, shortage)
	}
}

// TestResolvableBySimulation: at the settled margin a harmless candidate passes the exact test about as often as was promised.
func TestResolvableBySimulation(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 12))
	const trials = 500
	for _, size := range [][2]int{{2, 5}, {3, 3}, {3, 5}, {4, 4}, {4, 8}, {8, 8}, {2, 20}} {
		margin := resolvable(0.05, size[0], size[1], assurance)
		passed := 0
		for range trials {
			var canary, control []replicate
			for range size[0] {
				canary = append(canary, replicate{log: 0.05 * random.NormFloat64()})
			}
			for range size[1] {
				control = append(control, replicate{log: 0.05 * random.NormFloat64()})
			}
			if compare(canary, control).chanceBelow(margin) <= Significance {
				passed++
			}
		}
		if rate := float64(passed) / trials; rate < 0.945 || rate > 0.995 {
			t.Errorf("%d v %d: %.3f of harmless candidates pass at a margin of %.3f", size[0], size[1], rate, margin)
		}
	}
}

func TestResolvableNeedsEnoughPods(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 18}, {2, 4}, {2, 2}, {0, 9}, {9, 0}} {
		if got := resolvable(0.01, size[0], size[1], assurance); !math.IsInf(got, 1) {
			t.Errorf("%v: %v", size, got)
		}
	}
	for _, size := range [][2]int{{1, 19}, {2, 5}, {3, 3}, {250, 250}} {
		if got := resolvable(0.01, size[0], size[1], assurance); !(got > 0 && got < 0.1) {
			t.Errorf("%v: %v", size, got)
		}
	}
}

func TestParseMargins(t *testing.T) {
	got := ParseMargins([]v1alpha1.Margin{{Signal: "RequestLatency", Allowed: "7.8%", PodSpread: "3.0%"}, {Signal: "Errors", Allowed: "nonsense", PodSpread: ""}, {Signal: "Memory", Allowed: "Inf%"}})
	want := map[v1alpha1.SignalName]Margin{"RequestLatency": {Allowed: 7.8 / 100, PodSpread: 3.0 / 100}, "Errors": {}, "Memory": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for share, want := range map[float64]v1alpha1.Percent{0: "0.0%", 0.05: "5.0%", 0.0501: "5.1%", 0.05 + 1e-12: "5.0%", 1: "100.0%", 7: "100.0%", 0.9991: "100.0%", math.Inf(1): "100.0%"} {
		if got := percentUp(share); got != want {
			t.Errorf("%v: %s, want %s", share, got, want)
		}
	}
}

func TestMarginOf(t *testing.T) {
	in := Input{Margins: map[v1alpha1.SignalName]Margin{v1alpha1.SignalTailLatency: {Allowed: 0.3}}}
	for signal, want := range map[v1alpha1.SignalName]float64{
		v1alpha1.SignalTailLatency: 0.3, v1alpha1.SignalRequestLatency: 0.03, v1alpha1.SignalSlowRequests: 0.1, v1alpha1.SignalErrors: 0, v1alpha1.SignalCPUPerRequest: 0.02,
		v1alpha1.SignalStartupTime: 0.25, v1alpha1.SignalMemory: 0,
	} {
		if got := in.marginOf(signal); got.Allowed != want {
			t.Errorf("%s: %v, want %v", signal, got.Allowed, want)
		}
	}
}
