package verdict

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

func TestGainCheck(t *testing.T) {
	got := checkNamed(t, Judge(passing()).Verdict, "gain")
	want := v1alpha1.Check{
		Name: "gain", Outcome: v1alpha1.OutcomePass, Reason: v1alpha1.ReasonPassed, Canary: "10.1ms", Control: "20.1ms", Limit: "-5%",
		Effect: "-49.8%", Interval: "-50.5% to -49.0%", Samples: 3000,
		Message: "GC CPU time per request 10.1ms, control 20.1ms: -49.8% (-50.5% to -49.0%; needed -5%), that is 10.0% of all CPU time (needed 1%), p=0.05",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGainOutcomes(t *testing.T) {
	// costs in seconds of GC CPU time of a pod that answers 1000 requests and takes 100 s of CPU time
	set := func(canary, control [3]float64) func(*Input) {
		return func(in *Input) {
			for i := range 3 {
				change(in.Evidence, in.Canary[i].Name, func(p *signal.Pod) { p.GCCPUSeconds = present(canary[i]) })
				change(in.Evidence, in.Control[i].Name, func(p *signal.Pod) { p.GCCPUSeconds = present(control[i]) })
			}
		}
	}
	canaries := func(edit func(*signal.Pod)) func(*Input) {
		return func(in *Input) { changeAll(in.Evidence, in.Canary, edit) }
	}
	one := func(name string, edit func(*signal.Pod)) func(*Input) {
		return func(in *Input) { change(in.Evidence, name, edit) }
	}
	everyone := func(edit func(*signal.Pod)) func(*Input) {
		return func(in *Input) { changeAll(in.Evidence, append(in.Canary, in.Control...), edit) }
	}
	uneven := func(requests float64) func(*Input) { // the cohorts' means stay alike
		return func(in *Input) {
			change(in.Evidence, "control-0", func(p *signal.Pod) { p.Requests = present(requests) })
			change(in.Evidence, "control-1", func(p *signal.Pod) { p.Requests = present(1500) })
		}
	}
	tests := map[string]struct {
		edit   func(*Input)
		want   v1alpha1.Outcome
		reason string
	}{
		"few requests of the control pods": {func(in *Input) {
			changeAll(in.Evidence, in.Canary, func(p *signal.Pod) { p.Requests = present(34) })
			changeAll(in.Evidence, in.Control, func(p *signal.Pod) { p.Requests = present(33) })
		}, v1alpha1.OutcomeInvalid, v1alpha1.ReasonTooFewRequests},
		"all below":                         {set([3]float64{10, 11, 12}, [3]float64{20, 21, 22}), v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"gain as small as may be":           {set([3]float64{18.99, 18.99, 18.99}, [3]float64{20, 20, 20}), v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"gain a little smaller":             {set([3]float64{19.01, 19.01, 19.01}, [3]float64{20, 20, 20}), v1alpha1.OutcomeFail, v1alpha1.ReasonNoGain},
		"no gain":                           {set([3]float64{20, 20, 20}, [3]float64{20, 20, 20}), v1alpha1.OutcomeFail, v1alpha1.ReasonNoGain},
		"a loss":                            {set([3]float64{30, 30, 30}, [3]float64{20, 20, 20}), v1alpha1.OutcomeFail, v1alpha1.ReasonNoGain},
		"one canary pod above":              {set([3]float64{10, 11, 21}, [3]float64{20, 20.5, 22}), v1alpha1.OutcomeInconclusive, v1alpha1.ReasonGainUnproven},
		"too little of all CPU time":        {set([3]float64{1, 1, 1}, [3]float64{1.9, 1.9, 1.9}), v1alpha1.OutcomeFail, v1alpha1.ReasonNoGain},
		"enough of all CPU time":            {set([3]float64{1, 1, 1}, [3]float64{2.1, 2.1, 2.1}), v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"the canary's CPU time is no share": {canaries(func(p *signal.Pod) { p.CPUSeconds = present(1e6) }), v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"two pods against three":            {func(in *Input) { in.Canary = in.Canary[:2] }, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonGainUnproven},
		"traffic within a fifth": {canaries(func(p *signal.Pod) {
			p.Requests, p.GCCPUSeconds = present(1199), present(10)
		}), v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"more traffic than that":        {canaries(func(p *signal.Pod) { p.Requests = present(1201) }), v1alpha1.OutcomeInvalid, v1alpha1.ReasonUnevenTraffic},
		"less traffic within a fifth":   {canaries(func(p *signal.Pod) { p.Requests = present(834) }), v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"less traffic than that":        {canaries(func(p *signal.Pod) { p.Requests = present(832) }), v1alpha1.OutcomeInvalid, v1alpha1.ReasonUnevenTraffic},
		"a pod with half the traffic":   {uneven(501), v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"a pod with less than half":     {uneven(499), v1alpha1.OutcomeInvalid, v1alpha1.ReasonUnevenTraffic},
		"a pod with no request":         {one("control-0", func(p *signal.Pod) { p.Requests = present(0) }), v1alpha1.OutcomeInvalid, v1alpha1.ReasonTooFewRequests},
		"few requests of a cohort":      {everyone(func(p *signal.Pod) { p.Requests = present(33) }), v1alpha1.OutcomeInvalid, v1alpha1.ReasonTooFewRequests},
		"enough requests of a cohort":   {everyone(func(p *signal.Pod) { p.Requests = present(34) }), v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"five collections":              {everyone(func(p *signal.Pod) { p.GCCycles = present(5) }), v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"not quite five of a pod":       {one("canary-2", func(p *signal.Pod) { p.GCCycles = present(4.9) }), v1alpha1.OutcomeInvalid, v1alpha1.ReasonTooFewGCCycles},
		"requests of a pod unmeasured":  {one("control-1", func(p *signal.Pod) { p.Requests = signal.Value{} }), v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData},
		"GC time of a pod unmeasured":   {one("control-1", func(p *signal.Pod) { p.GCCPUSeconds = signal.Value{} }), v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData},
		"CPU time of a pod unreadable":  {one("control-1", func(p *signal.Pod) { p.CPUSeconds.State = signal.Ambiguous }), v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData},
		"collections that cost nothing": {one("canary-2", func(p *signal.Pod) { p.GCCPUSeconds = present(0) }), v1alpha1.OutcomeInvalid, v1alpha1.ReasonTooFewGCCycles},
		"CPU time that stands still":    {one("control-1", func(p *signal.Pod) { p.CPUSeconds = present(0) }), v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData},
		"no control pods":               {func(in *Input) { in.Control = nil }, v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData},
		"a minimum that is no number":   {func(in *Input) { in.Gain.MinShare = math.NaN() }, v1alpha1.OutcomeFail, v1alpha1.ReasonNoGain},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := passing()
			in.SLOs = nil
			test.edit(&in)
			got := gainCheck(in)
			if got.Outcome != test.want || got.Reason != test.reason {
				t.Errorf("%s %s %q, want %s %s", got.Outcome, got.Reason, got.Message, test.want, test.reason)
			}
		})
	}
}

// TestGainIsPerRequest: twice the traffic at twice the cost is no loss, and less traffic no gain.
func TestGainIsPerRequest(t *testing.T) {
	in := passing()
	changeAll(in.Evidence, in.Canary, func(p *signal.Pod) { p.Requests, p.GCCPUSeconds = present(850), present(17) })
	changeAll(in.Evidence, in.Control, func(p *signal.Pod) { p.GCCPUSeconds = present(20) })
	if got := gainCheck(in); got.Reason != v1alpha1.ReasonNoGain || !strings.Contains(got.Message, "+0.0% (+0.0% to +0.0%; needed -5%)") {
		t.Errorf("%s %q", got.Reason, got.Message)
	}
}

// FuzzJudge reads a trial from bytes: whatever the numbers are, nothing panics, all fits the CRD, and a Pass has its evidence.
func FuzzJudge(f *testing.F) {
	f.Add([]byte{}, int64(0))
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08"), int64(60))
	random := rand.New(rand.NewPCG(9, 9))
	for range 1000 {
		var data []byte
		for range 1 + random.IntN(4) {
			number := []float64{random.Float64(), 2000 * random.Float64(), 1e11 * random.Float64(), 1e308, math.NaN(), -1, 0}[random.IntN(7)]
			data = binary.LittleEndian.AppendUint64(append(data, byte(random.IntN(256)), byte(random.IntN(256))), math.Float64bits(number))
		}
		f.Add(data, random.Int64N(int64(time.Minute)))
	}
	f.Fuzz(func(t *testing.T, data []byte, age int64) {
		in := passing()
		in.Now = now.Add(time.Duration(age))
		for i := 0; i+10 <= len(data); i += 10 {
			number := math.Float64frombits(binary.LittleEndian.Uint64(data[i+2:]))
			edit(&in, data[i], data[i+1], number)
		}
		got := Judge(in).Verdict
		if len(got.Message) > 512 || len(got.Reason) > 63 || got.Reason == "" || len(got.Checks) > 24 {
			t.Fatalf("%+v does not fit the CRD", got)
		}
		for _, check := range got.Checks {
			for _, text := range []string{check.Name, check.Reason, check.Canary, check.Control, check.Limit} {
				if len(text) > 63 {
					t.Fatalf("%q does not fit the CRD", text)
				}
			}
			if got.Outcome == v1alpha1.OutcomePass && (check.Outcome != v1alpha1.OutcomePass || strings.Contains(check.Message, "NaN")) {
				t.Fatalf("Pass with %+v", check)
			}
		}
		if got.Outcome != v1alpha1.OutcomePass {
			return
		}
		for _, member := range append(in.Canary, in.Control...) {
			pod := in.Evidence.Pods[member.Name]
			if !pod.Fresh(in.Evidence.MaxSampleAge(), MinCoverage) || !in.Recent.Pods[member.Name].Fresh(in.Recent.MaxSampleAge(), MinCoverage) {
				t.Fatalf("Pass without fresh samples of %s", member.Name)
			}
		}
	})
}

// edit sets one thing of a trial to a number, or to a state in which it is no number.
func edit(in *Input, where, what byte, number float64) {
	pods := append(in.Canary, in.Control...)
	w := in.Recent
	if where&1 != 0 {
		w = in.Evidence
	}
	change(w, pods[int(where>>1)%len(pods)].Name, func(p *signal.Pod) {
		values := []*signal.Value{&p.Requests, &p.FailedRequests, &p.GCCPUSeconds, &p.CPUSeconds, &p.GCCycles}
		states := []signal.State{signal.Present, signal.Present, signal.Absent, signal.NotFinite, signal.Ambiguous}
		switch kind := int(what) % 8; kind {
		case 5:
			p.Latency[int(what>>3)%len(p.Latency)].Count = number
		case 6:
			p.Coverage = number
		case 7:
			p.SampleAge = time.Duration(number)
		default:
			*values[kind] = signal.Value{Number: number, State: states[int(what>>3)%len(states)]}
		}
	})
}
