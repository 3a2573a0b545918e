package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

// worse makes one signal of the canary pods so many times as large.
func worse(w *signal.Window, in *Input, name v1alpha1.SignalName, times float64) {
	changeAll(w, in.Canary, func(p *signal.Pod) {
		switch name {
		case v1alpha1.SignalRequestLatency:
			p.RequestSeconds.Number *= times
		case v1alpha1.SignalCPUPerRequest:
			p.CPUSeconds.Number *= times
		case v1alpha1.SignalErrors:
			p.FailedRequests.Number *= times
		default:
			beyond := times * (p.Latency[3].Count - p.Latency[1].Count)
			p.Latency = buckets(9000, 1000-beyond, beyond/2, beyond/2)
		}
	})
}

func rowOf(judged Judgement, check v1alpha1.SignalName) int32 {
	return badBefore(judged.BadWindows, string(check))
}

// TestGuardsAtTheirMargins: a look is bad from just above the margin on, and non-inferiority is shown up to just below it, where pods of a
// cohort are alike.
func TestGuardsAtTheirMargins(t *testing.T) {
	tests := map[string]struct {
		signal                v1alpha1.SignalName
		within, above, lately float64
	}{
		"3% of latency":                {v1alpha1.SignalRequestLatency, 1.0299, 1.0301, 1.0301},
		"2% of CPU":                    {v1alpha1.SignalCPUPerRequest, 1.0199, 1.0201, 1.0201},
		"a tenth of a point of a tail": {v1alpha1.SignalTailLatency, 1.49, 2.1, 3},
	}
	for name, test := range tests {
		in := passing()
		worse(in.Evidence, &in, test.signal, test.within)
		worse(in.Recent, &in, test.signal, test.within)
		if got := Judge(in); got.Outcome != v1alpha1.OutcomePass || rowOf(got, test.signal) != 0 {
			t.Errorf("%s, within: %s %s %q %v", name, got.Outcome, got.Reason, got.Message, got.BadWindows)
		}
		in = passing()
		worse(in.Evidence, &in, test.signal, test.above)
		got := Judge(in)
		if check := checkNamed(t, got.Verdict, string(test.signal)); got.Outcome != v1alpha1.OutcomeInconclusive || check.Reason != v1alpha1.ReasonNotProvenHarmless {
			t.Errorf("%s, above since the warm-up: %s %+v", name, got.Outcome, check)
		}
		in.JudgeGain = false
		if got := Judge(in); got.Outcome != v1alpha1.OutcomePass {
			t.Errorf("%s, above, and no promotion asked: %s %q", name, got.Outcome, got.Message)
		}
		in = passing()
		worse(in.Recent, &in, test.signal, test.lately)
		if got := Judge(in); got.Outcome != v1alpha1.OutcomeInconclusive || got.Reason != v1alpha1.ReasonWorse || rowOf(got, test.signal) != 1 {
			t.Errorf("%s, above lately: %s %s %v", name, got.Outcome, got.Reason, got.BadWindows)
		}
	}
}

// TestThreeBadWindows: one or two keep a step from passing, the third in a row ends the trial; a good one ends the row, a blind one does not.
func TestThreeBadWindows(t *testing.T) {
	in := passing()
	in.Margins = map[v1alpha1.SignalName]Margin{v1alpha1.SignalRequestLatency: {Allowed: 0.05}}
	in.JudgeGain = false
	good := passing().Recent
	worse(in.Recent, &in, v1alpha1.SignalRequestLatency, 1.121)
	bad, blind := in.Recent, window(in.Recent.Length)
	look := func(w *signal.Window) Judgement {
		in.Recent = w
		judged := Judge(in)
		in.BadWindows = judged.BadWindows
		return judged
	}
	for i, step := range []struct {
		window  *signal.Window
		outcome v1alpha1.Outcome
		row     int32
	}{
		{bad, v1alpha1.OutcomeInconclusive, 1}, {good, v1alpha1.OutcomePass, 0}, {bad, v1alpha1.OutcomeInconclusive, 1}, {bad, v1alpha1.OutcomeInconclusive, 2},
		{blind, v1alpha1.OutcomeInvalid, 2}, {nil, v1alpha1.OutcomeInvalid, 2}, {bad, v1alpha1.OutcomeFail, 3}, {bad, v1alpha1.OutcomeFail, 4},
	} {
		if got := look(step.window); got.Outcome != step.outcome || rowOf(got, v1alpha1.SignalRequestLatency) != step.row {
			t.Fatalf("look %d: %s %q, %v; want %+v", i, got.Outcome, got.Message, got.BadWindows, step)
		}
	}
	in.BadWindows = []v1alpha1.BadWindows{{Check: "RequestLatency", Count: 2}}
	got := look(bad)
	if got.Reason != v1alpha1.ReasonHarmed || got.Message != "RequestLatency +12.1% for 3 windows, allowed +5%" {
		t.Errorf("%s %q", got.Reason, got.Message)
	}
	in.Evidence = nil // what is missing can't hide harm
	in.BadWindows = []v1alpha1.BadWindows{{Check: "RequestLatency", Count: 2}}
	if got := look(bad); got.Reason != v1alpha1.ReasonHarmed {
		t.Errorf("without evidence: %s %q", got.Reason, got.Message)
	}
}

func TestGuardEvidence(t *testing.T) {
	in := passing()
	in.Evidence.Queries = map[v1alpha1.SignalName]string{v1alpha1.SignalRequestLatency: strings.Repeat("q", 600)}
	in.Margins = map[v1alpha1.SignalName]Margin{v1alpha1.SignalRequestLatency: {Allowed: 0.05}}
	for i, seconds := range []float64{20.2, 20.36, 20.6} {
		change(in.Evidence, in.Canary[i].Name, func(p *signal.Pod) { p.RequestSeconds = present(seconds) })
	}
	judged := Judge(in).Verdict
	got := checkNamed(t, judged, "RequestLatency")
	if len(got.Query) > 512 || len(got.Query) < 500 {
		t.Errorf("a query of %d bytes", len(got.Query))
	}
	got.Query = ""
	want := v1alpha1.Check{
		Name: "RequestLatency", Outcome: v1alpha1.OutcomePass, Reason: v1alpha1.ReasonPassed, Canary: "20.4ms", Control: "20ms", Samples: 3000,
		Effect: "+1.8%", Interval: "+1.0% to +3.0%", Margin: "+5%",
		Message: "RequestLatency of the canary pods +1.8% (+1.0% to +3.0%), allowed +5%",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if judged.CanaryPods != 3 || judged.ControlPods != 3 {
		t.Errorf("%d v %d pods", judged.CanaryPods, judged.ControlPods)
	}
	tail := checkNamed(t, judged, "TailLatency")
	if tail.Canary != "0.2%" || tail.Margin != "+16.1%" || tail.Samples != 30000 || !strings.HasPrefix(tail.Message, "TailLatency over 250ms of the canary pods +0.0%") {
		t.Errorf("%+v", tail)
	}
	if errors := checkNamed(t, judged, "errors"); errors.Samples != 3000 {
		t.Errorf("%+v", errors)
	}
}

// TestChanceMakesNoBadLook: what pods of a cohort differ by now, or are known to differ by, and what counts are uncertain by, is no harm.
func TestChanceMakesNoBadLook(t *testing.T) {
	tests := map[string]struct {
		edit func(*Input)
		name v1alpha1.SignalName
		bad  bool
	}{
		"alike, 10% slower":       {func(in *Input) { worse(in.Recent, in, v1alpha1.SignalRequestLatency, 1.1) }, v1alpha1.SignalRequestLatency, true},
		"known to differ by 3.8%": {func(in *Input) { worse(in.Recent, in, v1alpha1.SignalRequestLatency, 1.1); spreadKnown(in, 0.038) }, v1alpha1.SignalRequestLatency, true},
		"known to differ by 4%":   {func(in *Input) { worse(in.Recent, in, v1alpha1.SignalRequestLatency, 1.1); spreadKnown(in, 0.04) }, v1alpha1.SignalRequestLatency, false},
		"seen to differ": {func(in *Input) {
			worse(in.Recent, in, v1alpha1.SignalRequestLatency, 1.1)
			change(in.Recent, "control-0", func(p *signal.Pod) { p.RequestSeconds = present(21) })
		}, v1alpha1.SignalRequestLatency, false},
		"too few requests": {func(in *Input) {
			changeAll(in.Recent, in.Canary, func(p *signal.Pod) { p.Requests, p.FailedRequests = present(33), present(0) })
		}, v1alpha1.SignalRequestLatency, false},
		"just enough": {func(in *Input) {
			changeAll(in.Recent, in.Canary, func(p *signal.Pod) { p.Requests, p.FailedRequests = present(34), present(0) })
		}, v1alpha1.SignalRequestLatency, true},
		"errors from 1 to 2 of 1000": {func(in *Input) { worse(in.Recent, in, v1alpha1.SignalErrors, 2) }, v1alpha1.SignalErrors, false},
		"errors from 1 to 9 of 1000": {func(in *Input) { worse(in.Recent, in, v1alpha1.SignalErrors, 9) }, v1alpha1.SignalErrors, true},
		"errors of the control pods": {func(in *Input) { worse(in.Recent, in, v1alpha1.SignalErrors, 0) }, v1alpha1.SignalErrors, false},
		"a tail of 0.2% to 0.29%":    {func(in *Input) { worse(in.Recent, in, v1alpha1.SignalTailLatency, 1.45) }, v1alpha1.SignalTailLatency, false},
		"a tail of 0.2% to 0.6%":     {func(in *Input) { worse(in.Recent, in, v1alpha1.SignalTailLatency, 3) }, v1alpha1.SignalTailLatency, true},
		"a tail of 0.2% to 0.4%":     {func(in *Input) { worse(in.Recent, in, v1alpha1.SignalTailLatency, 2) }, v1alpha1.SignalTailLatency, false},
		"slow requests of 0.6%":      {func(in *Input) { worse(in.Recent, in, v1alpha1.SignalTailLatency, 3) }, v1alpha1.SignalSlowRequests, true},
	}
	for name, test := range tests {
		in := passing()
		in.JudgeGain = false
		test.edit(&in)
		if got := Judge(in); (rowOf(got, test.name) == 1) != test.bad {
			t.Errorf("%s: %v, %s %q", name, got.BadWindows, got.Outcome, got.Message)
		}
	}
}

func spreadKnown(in *Input, spread float64) {
	in.Margins = map[v1alpha1.SignalName]Margin{v1alpha1.SignalRequestLatency: {Allowed: 0.03, PodSpread: spread}}
}

// TestStatisticalHarm: five guards share the chance with all looks, and only cohorts that can give so small a chance have the test.
func TestStatisticalHarm(t *testing.T) {
	build := func(canaries, controls, looks int) Input {
		in := passing()
		in.JudgeGain, in.Looks = false, looks
		in.Canary, in.Control = cohort("canary", canaries), cohort("control", controls)
		in.SLOs = in.SLOs[:1]
		for i, member := range append(in.Canary, in.Control...) {
			for _, w := range []*signal.Window{in.Recent, in.Evidence} {
				pod := sample(20)
				pod.RequestSeconds.Number *= 1 + 0.0001*float64(i)
				w.Pods[member.Name] = pod
			}
		}
		return in
	}
	for _, test := range []struct {
		canaries, controls, looks int
		want                      v1alpha1.HarmLayout
	}{
		{8, 8, 128, v1alpha1.HarmStatistical}, {8, 8, 129, v1alpha1.HarmGuardrailsOnly}, {4, 8, 4, v1alpha1.HarmStatistical}, {4, 8, 5, v1alpha1.HarmGuardrailsOnly},
		{3, 3, 1, v1alpha1.HarmGuardrailsOnly}, {8, 8, 0, v1alpha1.HarmGuardrailsOnly}, {30, 30, 200, v1alpha1.HarmStatistical}, {30, 30, 201, v1alpha1.HarmGuardrailsOnly},
	} {
		in := build(test.canaries, test.controls, test.looks)
		got := Judge(in)
		if got.Harm != test.want || got.Outcome != v1alpha1.OutcomePass {
			t.Errorf("%+v: %s, %s %q", test, got.Harm, got.Outcome, got.Message)
		}
		worse(in.Evidence, &in, v1alpha1.SignalRequestLatency, 1.05)
		wantFail := test.want == v1alpha1.HarmStatistical
		if got := Judge(in); (got.Reason == v1alpha1.ReasonHarmed) != wantFail {
			t.Errorf("%+v, worse: %s %s %q", test, got.Outcome, got.Reason, got.Message)
		}
	}
	in := build(8, 8, 100)
	worse(in.Evidence, &in, v1alpha1.SignalRequestLatency, 1.05)
	if got := Judge(in); !strings.HasSuffix(got.Message, "allowed +3%: worse, by a test with a false alarm in 10000 looks") {
		t.Errorf("%q", got.Message)
	}
	change(in.Evidence, "canary-3", func(p *signal.Pod) { p.RequestSeconds = present(20) })
	if got := Judge(in); got.Outcome == v1alpha1.OutcomeFail {
		t.Errorf("one canary pod is as good as the control pods: %q", got.Message)
	}
}

// TestRequestsNeeded: a pod needs 2000 requests, or as many as give its share of a tail a relative standard error of a fifth.
func TestRequestsNeeded(t *testing.T) {
	tests := map[string]struct {
		pod  []signal.Bucket
		want string
	}{
		"a tail of 0.2%, 1999 requests": {buckets(1899, 96, 2, 2), v1alpha1.ReasonTooFewRequests},
		"2000 requests":                 {buckets(1900, 96, 2, 2), v1alpha1.ReasonPassed},
		"a tail of 5%, 499 requests":    {buckets(400, 75, 12, 12), v1alpha1.ReasonTooFewRequests},
		"500 requests":                  {buckets(400, 75, 13, 12), v1alpha1.ReasonPassed},
	}
	for name, test := range tests {
		in := passing()
		in.SLOs = nil
		changeAll(in.Evidence, append(in.Canary, in.Control...), func(p *signal.Pod) { p.Latency = test.pod })
		if got := checkNamed(t, Judge(in).Verdict, "TailLatency"); got.Reason != test.want {
			t.Errorf("%s: %s %q", name, got.Reason, got.Message)
		}
		in.SLOs = []SLO{{Name: "latency", ThresholdSeconds: 0.25, AllowedShare: 0.5}} // the edge of the tail
		if got := checkNamed(t, Judge(in).Verdict, "SlowRequests"); got.Reason != test.want {
			t.Errorf("slow requests, %s: %s %q", name, got.Reason, got.Message)
		}
	}
}

// TestUnmeasuredGuards: a signal that no pod shows is not asked for; one that some pods lack is.
func TestUnmeasuredGuards(t *testing.T) {
	in := passing()
	for _, w := range []*signal.Window{in.Recent, in.Evidence} {
		changeAll(w, append(in.Canary, in.Control...), func(p *signal.Pod) { p.RequestSeconds = signal.Value{} })
	}
	got := Judge(in).Verdict
	for _, check := range got.Checks {
		if check.Name == "RequestLatency" {
			t.Errorf("%+v", check)
		}
	}
	if got.Outcome != v1alpha1.OutcomePass {
		t.Errorf("%s %q", got.Outcome, got.Message)
	}
	change(in.Recent, "control-2", func(p *signal.Pod) { p.RequestSeconds = present(20) })
	if got := checkNamed(t, Judge(in).Verdict, "RequestLatency"); got.Outcome != v1alpha1.OutcomeInvalid || got.Message != "RequestLatency is not measured on every pod" {
		t.Errorf("%+v", got)
	}
	in = passing()
	change(in.Recent, "control-2", func(p *signal.Pod) { p.CPUSeconds = present(0) })
	if got := Judge(in).Verdict; got.Outcome != v1alpha1.OutcomePass {
		t.Errorf("a pod that took no CPU time lately: %s %q", got.Outcome, got.Message)
	}
	in.Evidence, in.Recent = in.Recent, in.Evidence
	in.Gain.Minimize = v1alpha1.MinimizeLatency
	if got := checkNamed(t, Judge(in).Verdict, "CPUPerRequest"); got.Outcome != v1alpha1.OutcomeInvalid {
		t.Errorf("a pod that took no CPU time since the warm-up: %+v", got)
	}
	in.JudgeGain = false
	if got := checkNamed(t, Judge(in).Verdict, "CPUPerRequest"); got.Outcome != v1alpha1.OutcomePass {
		t.Errorf("that, before a promotion is asked: %+v", got)
	}
}

// TestSlowRequestsOfSeveralThresholds: whatever their order, the worst one is told, and what comes after them is compared all the same.
func TestSlowRequestsOfSeveralThresholds(t *testing.T) {
	fast := SLO{Name: "fast", ThresholdSeconds: 0.1, AllowedShare: 0.2}
	for _, slos := range [][]SLO{{latencySLO, fast, errorsSLO, depthSLO}, {depthSLO, errorsSLO, fast, latencySLO}} {
		in := passing()
		in.SLOs = slos
		for _, w := range []*signal.Window{in.Recent, in.Evidence} {
			changeAll(w, append(in.Canary, in.Control...), func(p *signal.Pod) { p.Custom = map[string]signal.Value{"depth": present(1)} })
		}
		if got := Judge(in); got.Outcome != v1alpha1.OutcomePass || len(got.BadWindows) > 0 {
			t.Fatalf("%s %q, %v", got.Outcome, got.Message, got.BadWindows)
		}
		changeAll(in.Recent, in.Canary, func(p *signal.Pod) { p.Latency = buckets(8000, 1980, 10, 10) })
		got := Judge(in)
		check := checkNamed(t, got.Verdict, "SlowRequests")
		if check.Reason != v1alpha1.ReasonWorse || !strings.Contains(check.Message, "over 100ms") || rowOf(got, v1alpha1.SignalSlowRequests) != 1 {
			t.Errorf("%+v, %v", check, got.BadWindows)
		}
		named := map[string]int{}
		for _, check := range got.Checks {
			named[check.Name]++
		}
		if named["SlowRequests"] != 1 || named["Errors"] != 1 || named["CPUPerRequest"] != 1 {
			t.Errorf("checks: %v", named)
		}
	}
}

func TestEdges(t *testing.T) {
	pods := func(all ...[]signal.Bucket) (out []signal.Pod) {
		for _, one := range all {
			out = append(out, signal.Pod{Latency: one, LatencyState: signal.Present})
		}
		return out
	}
	other := []signal.Bucket{bucket(0.5, 10), bucket(math.Inf(1), 10)}
	tails := map[string]struct {
		pods []signal.Pod
		want float64
	}{
		"exactly 95% at the first":    {pods(buckets(950, 50, 0, 0)), 0.1},
		"a hair less":                 {pods(buckets(949, 51, 0, 0)), 0.25},
		"the pods together":           {pods(buckets(999, 1, 0, 0), buckets(900, 100, 0, 0)), 0.25},
		"too many beyond the last":    {pods(buckets(100, 0, 0, 900)), 1},
		"no edge":                     {pods([]signal.Bucket{bucket(math.Inf(1), 10)}), 0},
		"no pod":                      {nil, 0},
		"no request":                  {pods(buckets(0, 0, 0, 0)), 0},
		"histograms that differ":      {pods(buckets(950, 50, 0, 0), other), 0},
		"the first without its last":  {pods(buckets(0, 0, 0, 99)[:3], buckets(950, 50, 0, 0)), 0.1},
		"one without its last bucket": {pods(buckets(950, 50, 0, 0), buckets(0, 0, 0, 99)[:3]), 0.1},
	}
	for name, test := range tails {
		if got := tailEdge(test.pods); got != test.want {
			t.Errorf("tail, %s: %v, want %v", name, got, test.want)
		}
	}
	for threshold, want := range map[float64]float64{0.01: 0.1, 0.1: 0.1, math.Nextafter(0.1, 0): 0.1, math.Nextafter(0.25, 0): 0.25, 0.2: 0.1, 0.3: 0.25, 9: 1} {
		if got := exactEdge(pods(buckets(950, 50, 0, 0)), threshold); got != want {
			t.Errorf("threshold %v: edge %v, want %v", threshold, got, want)
		}
	}
	if got := slowShare(&pods(buckets(90, 9, 1, 0))[0], 0.25); got.state != readable || got.bad != 1 || got.of != 100 || math.Abs(got.log-math.Log(1.5/101)) > 1e-12 {
		t.Errorf("%+v", got)
	}
	if got := slowShare(&pods(other)[0], 0.25); got.state != unreadable {
		t.Errorf("an edge that the pod has not: %+v", got)
	}
}

// TestExcessChance compares with the binomial distribution at known values.
func TestExcessChance(t *testing.T) {
	tests := []struct{ canaryBad, canary, controlBad, control, times, want float64 }{
		{10, 100, 0, 100, 1, 1.0 / 1024}, {5, 100, 5, 100, 1, 0.623046875}, {0, 100, 9, 100, 1, 1}, {2, 100, 0, 300, 1, 1.0 / 16}, {2, 100, 0, 100, 3, 9.0 / 16},
	}
	for _, test := range tests {
		if got := excessChance(test.canaryBad, test.canary, test.controlBad, test.control, test.times); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

func TestNodesAreTold(t *testing.T) {
	in := passing()
	for i := range in.Canary {
		in.Canary[i].Node, in.Control[i].Node = "a", "b"
	}
	got := Judge(in).Verdict
	check := checkNamed(t, got, "nodes")
	if got.Outcome != v1alpha1.OutcomePass || check.Outcome != v1alpha1.OutcomePass || check.Reason != v1alpha1.ReasonNodeImbalance || check.Message == "" {
		t.Errorf("%s %+v", got.Outcome, check)
	}
	for i := range in.Canary {
		in.Control[i].Node = "a"
	}
	for _, check := range Judge(in).Checks {
		if check.Name == "nodes" {
			t.Errorf("all on one node: %+v", check)
		}
	}
}

// TestChecksFitTheCRD: 24 checks at most, and none that says something is left out.
func TestChecksFitTheCRD(t *testing.T) {
	in := passing()
	in.SLOs = nil
	for i := range 20 {
		in.SLOs = append(in.SLOs, SLO{Name: string(rune('a' + i)), AllowedShare: 0.01})
	}
	changeAll(in.Recent, in.Canary, slow)
	got := Judge(in)
	if len(got.Checks) != 24 || checkNamed(t, got.Verdict, "TailLatency").Reason != v1alpha1.ReasonWorse {
		t.Errorf("%d checks: %+v", len(got.Checks), got.Checks)
	}
	in = passing()
	in.SLOs = in.SLOs[:1]
	for range 7 {
		in.SLOs = append(in.SLOs, errorsSLO)
	}
	for i := range in.Canary {
		in.Canary[i].CreatedAt, in.Control[i].CreatedAt = now, now
		in.Canary[i].FirstReadyAt, in.Control[i].FirstReadyAt = now.Add(1), now.Add(1)
	}
	if got := Judge(in); len(got.Checks) != 23 {
		t.Errorf("with eight objectives there are %d checks", len(got.Checks))
	}
	many := make([]v1alpha1.Check, 30)
	for i := range many {
		many[i].Outcome = v1alpha1.OutcomeFail
	}
	if got := len(bounded(many)); got != 24 {
		t.Errorf("%d checks", got)
	}
	if got := len(bounded(many[:24])); got != 24 {
		t.Errorf("%d checks of 24", got)
	}
}
