package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

var depthSLO = SLO{Name: "depth", Query: true, Max: 10}

func depth(w *signal.Window, members []Member, values ...float64) {
	for i, value := range values {
		change(w, members[i].Name, func(p *signal.Pod) { p.Custom = map[string]signal.Value{"depth": present(value)} })
	}
}

func TestQueryObjective(t *testing.T) {
	tests := map[string]struct {
		canary, control []float64
		before          int32
		want            v1alpha1.Outcome
		reason          string
		row             int32
	}{
		"within":                        {[]float64{-5, 10, 25}, nil, 2, v1alpha1.OutcomePass, v1alpha1.ReasonPassed, 0},
		"above":                         {[]float64{11, 10, 10}, nil, 0, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonQueryBreached, 1},
		"above twice":                   {[]float64{11, 10, 10}, nil, 1, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonQueryBreached, 2},
		"above three times":             {[]float64{11, 10, 10}, nil, 2, v1alpha1.OutcomeFail, v1alpha1.ReasonQueryBreached, 3},
		"control within":                {[]float64{11, 10, 10}, []float64{10, 10, 10}, 2, v1alpha1.OutcomeFail, v1alpha1.ReasonQueryBreached, 3},
		"control above as well":         {[]float64{12, 15, 20}, []float64{12, 14, 22}, 2, v1alpha1.OutcomeFail, v1alpha1.ReasonSharedBreach, 3},
		"control above, canary clearly": {[]float64{50, 60, 70}, []float64{12, 14, 22}, 2, v1alpha1.OutcomeFail, v1alpha1.ReasonQueryBreached, 3},
		"a pod without":                 {[]float64{99, 99}, nil, 2, v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData, 2},
		"NaN":                           {[]float64{1, math.NaN(), 1}, nil, 0, v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData, 0},
		"infinite":                      {[]float64{1, math.Inf(-1), 1}, nil, 0, v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData, 0},
	}
	for name, test := range tests {
		in := passing()
		in.SLOs = append(in.SLOs, depthSLO)
		in.BadWindows = []v1alpha1.BadWindows{{Check: "depth", Count: test.before}}
		depth(in.Recent, in.Canary, test.canary...)
		depth(in.Recent, in.Control, test.control...)
		got := Judge(in)
		check := checkNamed(t, got.Verdict, "depth")
		if got.Outcome != test.want || check.Reason != test.reason || badBefore(got.BadWindows, "depth") != test.row || check.Limit != "10" {
			t.Errorf("%s: %s %+v, %v", name, got.Outcome, check, got.BadWindows)
		}
		if test.row == 3 && !strings.Contains(check.Message, "for 3 windows") {
			t.Errorf("%s: %q", name, check.Message)
		}
		if (check.Control != "") != (test.control != nil && test.row > 0) {
			t.Errorf("%s: control %q", name, check.Control)
		}
	}
}

func TestQueryObjectiveOnPods(t *testing.T) {
	in := passing()
	depth(in.Recent, in.Canary, 10, 10, 10)
	if got := OnPods(depthSLO, in.Recent, in.Canary); got.Outcome != v1alpha1.OutcomePass || got.Message != "depth: 10 is the mean of 3 pods, allowed 10" {
		t.Errorf("%+v", got)
	}
	if got := OnPods(depthSLO, in.Recent, in.Canary[:1]); got.Message != "depth: 10 is the mean of 1 pod, allowed 10" {
		t.Errorf("one pod: %+v", got)
	}
	depth(in.Recent, in.Canary, 10.3)
	if got := OnPods(depthSLO, in.Recent, in.Canary); got.Outcome != v1alpha1.OutcomeFail || got.Reason != v1alpha1.ReasonQueryBreached || got.Canary != "10.1" {
		t.Errorf("%+v", got)
	}
	if got := OnPods(depthSLO, in.Recent, in.Control); got.Outcome != v1alpha1.OutcomeInvalid {
		t.Errorf("%+v", got)
	}
	if got := OnPods(depthSLO, nil, nil); got.Outcome != v1alpha1.OutcomeInvalid {
		t.Errorf("%+v", got)
	}
}

// TestOtherObjectives: memory and latency need no share of all CPU time, and no collections.
func TestOtherObjectives(t *testing.T) {
	tests := map[string]struct {
		minimize v1alpha1.Minimize
		set      func(p *signal.Pod, amount float64)
		less     float64
		want     v1alpha1.Outcome
		reason   string
		message  string
	}{
		"memory":            {v1alpha1.MinimizeMemory, memory, 0.8, v1alpha1.OutcomePass, v1alpha1.ReasonPassed, "resident memory 80MiB, control 100MiB: -20.0% ("},
		"too little memory": {v1alpha1.MinimizeMemory, memory, 0.951, v1alpha1.OutcomeFail, v1alpha1.ReasonNoGain, "resident memory"},
		"memory not shown":  {v1alpha1.MinimizeMemory, func(*signal.Pod, float64) {}, 1, v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData, "the resident memory of a pod is not measured"},
		"memory of some":    {v1alpha1.MinimizeMemory, memoryOfCanary, 0.8, v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData, "the resident memory of a pod is not measured"},
		"latency":           {v1alpha1.MinimizeLatency, latency, 0.9, v1alpha1.OutcomePass, v1alpha1.ReasonPassed, "mean time of a request 90ms, control 100ms: -10.0% ("},
		"no latency gained": {v1alpha1.MinimizeLatency, latency, 1, v1alpha1.OutcomeFail, v1alpha1.ReasonNoGain, "mean time of a request 100ms"},
		"GC CPU by name":    {v1alpha1.MinimizeGCCPU, memory, 1, v1alpha1.OutcomePass, v1alpha1.ReasonPassed, "GC CPU time per request 10.1ms"},
	}
	for name, test := range tests {
		in := passing()
		in.Gain.Minimize = test.minimize
		for _, member := range in.Control {
			change(in.Evidence, member.Name, func(p *signal.Pod) { test.set(p, 100) })
		}
		for _, member := range in.Canary {
			change(in.Evidence, member.Name, func(p *signal.Pod) { test.set(p, 100*test.less) })
		}
		if test.minimize != v1alpha1.MinimizeGCCPU {
			changeAll(in.Evidence, in.Canary, func(p *signal.Pod) { p.GCCycles = present(0) })
		}
		got := Judge(in).Verdict
		check := checkNamed(t, got, "gain")
		if got.Outcome != test.want || check.Reason != test.reason || !strings.HasPrefix(check.Message, test.message) {
			t.Errorf("%s: %s %+v", name, got.Outcome, check)
		}
		if strings.Contains(check.Message, "of all CPU time") != (test.minimize == v1alpha1.MinimizeGCCPU) {
			t.Errorf("%s: %q", name, check.Message)
		}
	}
}

func memory(p *signal.Pod, mebibytes float64) { p.ResidentBytes = present(mebibytes * (1 << 20)) }

// memoryOfCanary leaves out the control pods, which have 100 MiB.
func memoryOfCanary(p *signal.Pod, mebibytes float64) {
	if mebibytes < 100 {
		memory(p, mebibytes)
	}
}

func latency(p *signal.Pod, amount float64) { p.RequestSeconds = present(amount) }

// TestGainMustExceedHalfOfItsMinimum beyond chance, so that many looks at a trial without gain do not add up.
func TestGainMustExceedHalfOfItsMinimum(t *testing.T) {
	for last, want := range map[float64]v1alpha1.Outcome{19.4: v1alpha1.OutcomePass, 19.6: v1alpha1.OutcomeInconclusive} {
		in := passing()
		for i, seconds := range []float64{18, 18, last} {
			change(in.Evidence, in.Canary[i].Name, func(p *signal.Pod) { p.GCCPUSeconds = present(seconds) })
		}
		if got := gainCheck(in); got.Outcome != want {
			t.Errorf("a pod at -%.0f%%: %s %q", 100*(1-last/20), got.Outcome, got.Message)
		}
	}
}

// TestReasonsOutweigh: what a candidate harms comes before what it does not bring.
func TestReasonsOutweigh(t *testing.T) {
	in := passing()
	in.BadWindows = []v1alpha1.BadWindows{{Check: "RequestLatency", Count: 2}}
	worse(in.Recent, &in, v1alpha1.SignalRequestLatency, 2)
	changeAll(in.Evidence, in.Canary, func(p *signal.Pod) { p.GCCPUSeconds = present(30) })
	if got := Judge(in); got.Reason != v1alpha1.ReasonHarmed {
		t.Errorf("%s %q", got.Reason, got.Message)
	}
	in = passing()
	worse(in.Evidence, &in, v1alpha1.SignalRequestLatency, 2)
	change(in.Evidence, "canary-0", func(p *signal.Pod) { p.GCCPUSeconds = present(21) })
	if got := Judge(in); got.Reason != v1alpha1.ReasonNotProvenHarmless {
		t.Errorf("%s %q", got.Reason, got.Message)
	}
	shared := v1alpha1.Check{Outcome: v1alpha1.OutcomeFail, Reason: v1alpha1.ReasonSharedBreach}
	useless := v1alpha1.Check{Outcome: v1alpha1.OutcomeFail, Reason: v1alpha1.ReasonNoGain}
	if got := Combine(now, []v1alpha1.Check{shared, useless}); got.Reason != v1alpha1.ReasonNoGain {
		t.Errorf("%s", got.Reason)
	}
}

// TestSharedBreachIsNoExcuseForFarWorse: a control cohort barely over its limit does not excuse a canary far over it.
func TestSharedBreachIsNoExcuseForFarWorse(t *testing.T) {
	for failed, want := range map[float64]string{26: v1alpha1.ReasonSharedBreach, 31: v1alpha1.ReasonSharedBreach, 36: v1alpha1.ReasonErrorsBreached, 200: v1alpha1.ReasonErrorsBreached} {
		in := passing()
		changeAll(in.Recent, in.Canary, func(p *signal.Pod) { p.FailedRequests = present(failed) })
		changeAll(in.Recent, in.Control, func(p *signal.Pod) { p.FailedRequests = present(24) })
		got := Judge(in)
		if got.Outcome != v1alpha1.OutcomeFail || got.Reason != want {
			t.Errorf("%v of 1000 against 24: %s %s", failed, got.Outcome, got.Reason)
		}
	}
}
