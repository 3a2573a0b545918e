package verdict

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

func TestPassing(t *testing.T) {
	got := Judge(passing()).Verdict
	if got.Outcome != v1alpha1.OutcomePass || got.Reason != v1alpha1.ReasonPassed || got.Message == "" || !got.At.Time.Equal(now) {
		t.Errorf("the good trial gives %s %s %q at %s", got.Outcome, got.Reason, got.Message, got.At)
	}
}

// TestI2Evidence_PassesOnlyWithFreshSamplesOfEveryPod walks through sets of pods without fresh samples, in either window.
func TestI2Evidence_PassesOnlyWithFreshSamplesOfEveryPod(t *testing.T) {
	for _, gain := range []bool{true, false} {
		for set := range 1 << 12 {
			if one := set & (set - 1); one&(one-1) != 0 && set%13 != 0 {
				continue // all sets of up to two, and some of the others
			}
			in := passing()
			in.JudgeGain = gain
			for i, member := range append(in.Canary, in.Control...) {
				if set&(1<<i) != 0 {
					change(in.Recent, member.Name, freshnessFaults["stale"])
				}
				if set&(1<<(6+i)) != 0 {
					change(in.Evidence, member.Name, freshnessFaults["partial"])
				}
			}
			if got := Judge(in).Verdict; (got.Outcome == v1alpha1.OutcomePass) != (set == 0) {
				t.Fatalf("pods without fresh samples %012b, gain %t: %s %s", set, gain, got.Outcome, got.Message)
			}
		}
	}
}

func TestI2Evidence_EdgesOfFreshness(t *testing.T) {
	tests := map[string]struct {
		edit func(*Input)
		want v1alpha1.Outcome
	}{
		"a sample as old as may be":        {func(in *Input) { age(in, 52500*time.Millisecond) }, v1alpha1.OutcomePass},
		"a sample a moment older":          {func(in *Input) { age(in, 52501*time.Millisecond) }, v1alpha1.OutcomeInvalid},
		"the window's age is the sample's": {func(in *Input) { in.Recent.End = now.Add(-47500 * time.Millisecond) }, v1alpha1.OutcomePass},
		"and a moment more is too much":    {func(in *Input) { in.Recent.End = now.Add(-47501 * time.Millisecond) }, v1alpha1.OutcomeInvalid},
		"a window from a clock ahead":      {func(in *Input) { in.Recent.End = now.Add(time.Minute) }, v1alpha1.OutcomePass},
		"a clock ahead makes nothing younger": {func(in *Input) {
			age(in, time.Minute)
			in.Recent.End = now.Add(time.Minute)
		}, v1alpha1.OutcomeInvalid},
		"half of the samples": {func(in *Input) {
			change(in.Evidence, "control-1", func(p *signal.Pod) { p.Coverage = 0.5 })
		}, v1alpha1.OutcomePass},
		"a canary pod that answered nothing since the warm-up": {func(in *Input) {
			in.JudgeGain = false
			change(in.Evidence, "canary-2", func(p *signal.Pod) { p.Requests, p.FailedRequests = present(0), present(0) })
		}, v1alpha1.OutcomeInvalid},
		"a canary pod that answered nothing lately": {func(in *Input) {
			change(in.Recent, "canary-2", func(p *signal.Pod) { p.Requests, p.FailedRequests = present(0), present(0) })
		}, v1alpha1.OutcomePass},
		"no canary pod": {func(in *Input) { in.Canary = nil }, v1alpha1.OutcomeInvalid},
		"no canary pod, and nothing asked": {func(in *Input) {
			in.Canary, in.SLOs, in.JudgeGain = nil, nil, false
		}, v1alpha1.OutcomeInvalid},
		"no control pod, where no gain is asked": {func(in *Input) { in.Control, in.JudgeGain = nil, false }, v1alpha1.OutcomePass},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := passing()
			test.edit(&in)
			if got := Judge(in).Verdict; got.Outcome != test.want {
				t.Errorf("%s %s %q, want %s", got.Outcome, got.Reason, got.Message, test.want)
			}
		})
	}
}

func age(in *Input, age time.Duration) {
	change(in.Recent, "canary-0", func(p *signal.Pod) { p.SampleAge = age })
}

// breaches are all ways to break a limit. window is the one that shows it, empty for the Kubernetes API.
var breaches = map[string]struct {
	window string
	reason string
	apply  func(*Input)
}{
	"slow recently": {"recent", v1alpha1.ReasonLatencyBreached, func(in *Input) { changeAll(in.Recent, in.Canary, slow) }},
	"slow":          {"evidence", v1alpha1.ReasonLatencyBreached, func(in *Input) { changeAll(in.Evidence, in.Canary, slow) }},
	"errors lately": {"recent", v1alpha1.ReasonErrorsBreached, func(in *Input) { changeAll(in.Recent, in.Canary, failing) }},
	"errors":        {"evidence", v1alpha1.ReasonErrorsBreached, func(in *Input) { changeAll(in.Evidence, in.Canary, failing) }},
	"out of memory": {"", v1alpha1.ReasonOOMKilled, func(in *Input) { in.Canary[1].OOMKilled = true }},
	"restarted":     {"", v1alpha1.ReasonRestarted, func(in *Input) { in.Canary[1].Restarts = 1 }},
	"not ready": {"", v1alpha1.ReasonNotReady, func(in *Input) {
		in.Canary[1].Ready, in.Canary[1].ReadyChangedAt = false, now.Add(-time.Minute)
	}},
}

func slow(p *signal.Pod)    { p.Latency = buckets(900, 50, 30, 20) }
func failing(p *signal.Pod) { p.FailedRequests = present(50) }

// TestMissingDataIsNamed tells a person which pod lacks what.
func TestMissingDataIsNamed(t *testing.T) {
	tests := map[string]func(*Input){
		"there is no canary pod to judge":        func(in *Input) { in.Canary = nil },
		"Prometheus gave no answer":              func(in *Input) { in.Recent = nil },
		"Prometheus's latest answer is too old":  func(in *Input) { in.Recent.End = now.Add(-time.Hour) },
		"pod canary-1: no samples in Prometheus": func(in *Input) { delete(in.Recent.Pods, "canary-1") },
		"pod control-2: its newest sample is 1m0s old and 40% of its samples are there": func(in *Input) {
			change(in.Evidence, "control-2", func(p *signal.Pod) { p.SampleAge, p.Coverage = time.Minute, 0.4 })
		},
	}
	for want, edit := range tests {
		in := passing()
		edit(&in)
		if got := checkNamed(t, Judge(in).Verdict, "data").Message; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestI3FailFast_AnyBreachFailsWhateverElseIsInvalid puts every fault beside every breach. A window that is not there at all can't show
// its breach; nothing else may hide one.
func TestI3FailFast_AnyBreachFailsWhateverElseIsInvalid(t *testing.T) {
	all, turn := faults(), 0
	for breachName, breach := range breaches {
		turn++
		for i, fault := range all {
			if (i+turn)%len(breaches) > 1 && fault.pod != "" { // each fault of a pod beside two of them
				continue
			}
			if fault.pod == "" && fault.window == breach.window && (fault.name == "no answer" || fault.name == "no pods") {
				continue
			}
			in := passing()
			breach.apply(&in)
			fault.apply(&in)
			if got := Judge(in).Verdict; got.Outcome != v1alpha1.OutcomeFail || got.Reason != breach.reason {
				t.Errorf("%s beside %s %s %s: %s %s %q", breachName, fault.window, fault.pod, fault.name, got.Outcome, got.Reason, got.Message)
			}
		}
	}
}

func TestI3FailFast_GuardrailsNeedNoPrometheus(t *testing.T) {
	for name, breach := range breaches {
		in := passing()
		breach.apply(&in)
		in.Recent, in.Evidence = nil, nil
		want := v1alpha1.OutcomeInvalid
		if breach.window == "" {
			want = v1alpha1.OutcomeFail
			if health := JudgeHealth(in.Now, in.Canary, in.Control); health.Outcome != want || health.Reason != breach.reason {
				t.Errorf("%s: the guardrails alone give %s %s", name, health.Outcome, health.Reason)
			}
		}
		if got := Judge(in).Verdict; got.Outcome != want {
			t.Errorf("%s without Prometheus: %s %s, want %s", name, got.Outcome, got.Reason, want)
		}
	}
}

func TestI3FailFast_ABreachInBothWindowsShowsTheRecentOne(t *testing.T) {
	in := passing()
	changeAll(in.Evidence, in.Canary, func(p *signal.Pod) { p.FailedRequests = present(50) })
	changeAll(in.Recent, in.Canary, func(p *signal.Pod) { p.FailedRequests = present(100) })
	changeAll(in.Recent, in.Control, func(p *signal.Pod) { p.FailedRequests = present(3) })
	check := checkNamed(t, Judge(in).Verdict, "errors")
	if check.Outcome != v1alpha1.OutcomeFail || check.Canary != "10%" || check.Control != "0.3%" {
		t.Errorf("%+v", check)
	}
}

// TestI4NoDataNoPass_OneFault breaks every single thing of a passing trial.
func TestI4NoDataNoPass_OneFault(t *testing.T) {
	all := faults()
	if len(all) < 400 {
		t.Fatalf("only %d faults: the list is broken", len(all))
	}
	for _, fault := range all {
		in := passing()
		fault.apply(&in)
		if got := Judge(in).Verdict; got.Outcome == v1alpha1.OutcomePass {
			t.Errorf("%s %s %s: Pass", fault.window, fault.pod, fault.name)
		}
	}
}

// TestI4NoDataNoPass_ManyFaults breaks several things at a time: none makes up for another.
func TestI4NoDataNoPass_ManyFaults(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	all := faults()
	for range 2_000 {
		in := passing()
		var names []string
		for range 1 + random.IntN(4) {
			fault := all[random.IntN(len(all))]
			if (fault.window == "recent" && in.Recent == nil) || (fault.window == "evidence" && in.Evidence == nil) ||
				(fault.pod != "" && windowNamed(&in, fault.window).Pods == nil) ||
				(fault.pod != "" && len(windowNamed(&in, fault.window).Pods[fault.pod].Latency) < 4) {
				continue
			}
			fault.apply(&in)
			names = append(names, fault.window+" "+fault.pod+" "+fault.name)
		}
		if got := Judge(in).Verdict; len(names) > 0 && got.Outcome == v1alpha1.OutcomePass {
			t.Fatalf("%q: Pass", names)
		}
	}
}

// TestI4NoDataNoPass_OnlyWhatIsAskedCounts keeps the invariant from being kept by never passing.
func TestI4NoDataNoPass_OnlyWhatIsAskedCounts(t *testing.T) {
	in := passing()
	for _, w := range []*signal.Window{in.Recent, in.Evidence} {
		changeAll(w, append(in.Canary, in.Control...), func(p *signal.Pod) {
			*p = signal.Pod{SampleAge: p.SampleAge, Coverage: p.Coverage, Sampled: p.Sampled, Requests: p.Requests, FailedRequests: p.FailedRequests}
		})
	}
	in.SLOs, in.JudgeGain = []SLO{errorsSLO}, false
	if got := Judge(in).Verdict; got.Outcome != v1alpha1.OutcomePass {
		t.Errorf("all that is asked is there: %s %s", got.Outcome, got.Message)
	}
}

func TestI4NoDataNoPass_OnPods(t *testing.T) {
	for _, slo := range []SLO{latencySLO, errorsSLO} {
		in := passing()
		if got := OnPods(slo, in.Evidence, in.Canary); got.Outcome != v1alpha1.OutcomePass {
			t.Fatalf("%s: %s %s", slo.Name, got.Outcome, got.Message)
		}
		if got := OnPods(slo, nil, in.Canary); got.Outcome != v1alpha1.OutcomeInvalid {
			t.Errorf("%s without a window: %s", slo.Name, got.Outcome)
		}
		if got := OnPods(slo, in.Evidence, nil); got.Outcome != v1alpha1.OutcomeInvalid {
			t.Errorf("%s without pods: %s", slo.Name, got.Outcome)
		}
		for name, edit := range freshnessFaults {
			in := passing()
			change(in.Evidence, "canary-1", edit)
			if got := OnPods(slo, in.Evidence, in.Canary); got.Outcome != v1alpha1.OutcomeInvalid || got.Reason != v1alpha1.ReasonNoData {
				t.Errorf("%s, a pod %s: %s %s", slo.Name, name, got.Outcome, got.Reason)
			}
		}
	}
}
