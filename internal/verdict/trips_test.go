package verdict

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

// collecting gives a pod an effective GOGC, and its own.
func collecting(effective, own float64) func(*signal.Pod) {
	return func(p *signal.Pod) {
		p.LiveHeapBytes, p.StackAndGlobalBytes, p.HeapGoalBytes, p.GOGCPercent = present(90e6), present(10e6), present(90e6+1e6*effective), present(own)
	}
}

func both(edit func(*signal.Pod)) func(*Input) {
	return func(in *Input) {
		change(in.Recent, "canary-1", edit)
		change(in.Evidence, "canary-1", edit)
	}
}

func TestTrips(t *testing.T) {
	const limit = 1 << 30
	used := func(working, resident float64) func(*signal.Pod) {
		return func(p *signal.Pod) {
			p.ResidentBytes = present(resident)
			if working > 0 {
				p.WorkingSetBytes = present(working)
			}
		}
	}
	limited := func(edit func(*signal.Pod)) func(*Input) {
		return func(in *Input) {
			in.Canary[1].MemoryLimitBytes = limit
			change(in.Recent, "canary-1", edit)
		}
	}
	failed := func(share float64) func(*Input) {
		return func(in *Input) {
			in.SLOs = nil
			changeAll(in.Recent, append(in.Canary, in.Control...), func(p *signal.Pod) { p.FailedRequests = present(1000 * share) })
		}
	}
	tests := map[string]struct {
		edit func(*Input)
		want string
	}{
		"all well":                    {func(*Input) {}, ""},
		"limiter lately":              {func(in *Input) { change(in.Recent, "canary-2", func(p *signal.Pod) { p.LimiterEnabled = true }) }, v1alpha1.ReasonLimiterEnabled},
		"limiter since the warm-up":   {func(in *Input) { change(in.Evidence, "canary-2", func(p *signal.Pod) { p.LimiterEnabled = true }) }, v1alpha1.ReasonLimiterEnabled},
		"limiter of a control pod":    {func(in *Input) { change(in.Evidence, "control-2", func(p *signal.Pod) { p.LimiterEnabled = true }) }, ""},
		"effective GOGC of 24 at 100": {both(collecting(24, 100)), v1alpha1.ReasonThrashing},
		"of 25":                       {both(collecting(25, 100)), ""},
		"of 24 at off":                {both(collecting(24, math.MaxUint64)), v1alpha1.ReasonThrashing},
		"of 24 at -1":                 {both(collecting(24, -1)), v1alpha1.ReasonThrashing},
		"of 15 at 16":                 {both(collecting(15, 16)), ""},
		"of 5 at 24":                  {both(collecting(5, 24)), ""},
		"of 21 at 25":                 {both(collecting(21, 25)), ""},
		"of 19 at 25":                 {both(collecting(19, 25)), v1alpha1.ReasonThrashing},
		"of 24 at nobody knows what":  {both(func(p *signal.Pod) { collecting(24, 100)(p); p.GOGCPercent = signal.Value{} }), ""},
		"of 24 at NaN":                {both(collecting(24, math.NaN())), ""},
		"NaN":                         {both(collecting(math.NaN(), 100)), ""},
		"of 24 lately only":           {func(in *Input) { change(in.Recent, "canary-1", collecting(24, 100)) }, ""},
		"of 24 before only":           {func(in *Input) { change(in.Evidence, "canary-1", collecting(24, 100)) }, ""},
		"90% of memory":               {limited(used(0.9*limit, 1)), ""},
		"more than 90%":               {limited(used(0.9*limit+1, 1)), v1alpha1.ReasonMemoryNearLimit},
		"more than 90% resident":      {limited(used(0, 0.9*limit+1)), v1alpha1.ReasonMemoryNearLimit},
		"resident, of it in cache":    {limited(used(0.5*limit, limit)), ""},
		"memory without a limit":      {func(in *Input) { change(in.Recent, "canary-1", used(1e12, 1e12)) }, ""},
		"memory since the warm-up": {func(in *Input) {
			in.Canary[1].MemoryLimitBytes = limit
			change(in.Evidence, "canary-1", used(limit, 1))
		}, v1alpha1.ReasonMemoryNearLimit},
		"40% of failures, control too": {failed(0.4), v1alpha1.ReasonBreakerTripped},
		"a little less":                {failed(0.399), ""},
		"no breaker":                   {func(in *Input) { failed(0.5)(in); in.Breaker.Share = 0 }, ""},
		"for too short":                {func(in *Input) { failed(0.5)(in); in.Recent.Length = 59 * time.Second }, ""},
		"for too short, but long since": {func(in *Input) {
			failed(0.5)(in)
			in.Recent, in.Evidence = in.Evidence, in.Recent
			in.Recent.Length = 59 * time.Second
		}, v1alpha1.ReasonBreakerTripped},
		"too short both": {func(in *Input) { failed(0.5)(in); in.Breaker.Length = time.Hour }, ""},
		"8 of 20 requests": {func(in *Input) {
			in.SLOs = nil
			changeAll(in.Recent, in.Canary, func(p *signal.Pod) { p.Requests, p.FailedRequests = present(0), present(0) })
			change(in.Recent, "canary-0", func(p *signal.Pod) { p.Requests, p.FailedRequests = present(20), present(8) })
		}, v1alpha1.ReasonBreakerTripped},
		"19 of 19 requests": {func(in *Input) {
			in.SLOs = nil
			changeAll(in.Recent, in.Canary, func(p *signal.Pod) { p.Requests, p.FailedRequests = present(0), present(0) })
			change(in.Recent, "canary-0", func(p *signal.Pod) { p.Requests, p.FailedRequests = present(19), present(19) })
		}, ""},
	}
	for name, test := range tests {
		in := passing()
		in.JudgeGain, in.Breaker = false, Breaker{Share: 0.4, Length: time.Minute}
		test.edit(&in)
		tripped := ""
		for _, check := range trips(in) {
			if check.Outcome == v1alpha1.OutcomeFail {
				tripped = check.Reason
			} else if check.Outcome != v1alpha1.OutcomePass || check.Reason != v1alpha1.ReasonPassed || check.Message != "" {
				t.Errorf("%s: %+v", name, check)
			}
		}
		if tripped != test.want {
			t.Errorf("%s: tripped %q, want %q", name, tripped, test.want)
		}
		if got := Judge(in); test.want != "" && (got.Outcome != v1alpha1.OutcomeFail || got.Reason != test.want) {
			t.Errorf("%s: %s %s %q", name, got.Outcome, got.Reason, got.Message)
		}
		alone := in
		alone.Recent, alone.Evidence = nil, nil
		for _, check := range trips(alone) {
			if check.Outcome != v1alpha1.OutcomePass {
				t.Errorf("%s, without Prometheus: %+v", name, check)
			}
		}
	}
}

func TestTripsSayWhatTheySaw(t *testing.T) {
	in := passing()
	in.Breaker = Breaker{Share: 0.4, Length: time.Minute}
	in.Canary[1].MemoryLimitBytes = 1000
	both(func(p *signal.Pod) { collecting(24, 100)(p); p.WorkingSetBytes = present(950) })(&in)
	changeAll(in.Recent, in.Canary, func(p *signal.Pod) { p.FailedRequests = present(500) })
	want := []v1alpha1.Check{
		{Name: "collector", Outcome: "Fail", Reason: "Thrashing", Canary: "GOGC 24", Limit: "GOGC 25",
			Message: "the memory limit leaves canary pod canary-1 an effective GOGC of 24, in two windows: it does little else than collect"},
		{Name: "memory", Outcome: "Fail", Reason: "MemoryNearLimit", Canary: "95%", Limit: "90% of the limit", Message: "canary pod canary-1 uses 95% of its memory limit, allowed 90%"},
		{Name: "breaker", Outcome: "Fail", Reason: "BreakerTripped", Canary: "50%", Limit: "40%", Samples: 3000, Message: "50% of the canary pods' requests failed over 1m0s, allowed 40%"},
	}
	for i, got := range trips(in) {
		if got != want[i] {
			t.Errorf("%+v, want %+v", got, want[i])
		}
	}
}

func TestThrottling(t *testing.T) {
	tests := map[string]struct {
		canary, control signal.Value
		before          int32
		want            v1alpha1.Outcome
		row             int32
	}{
		"not measured":           {signal.Value{}, signal.Value{}, 2, v1alpha1.OutcomePass, 2},
		"no control":             {present(0.9), signal.Value{}, 2, v1alpha1.OutcomePass, 2},
		"NaN":                    {present(math.NaN()), present(0), 2, v1alpha1.OutcomePass, 2},
		"within":                 {present(0.30), present(0.20), 2, v1alpha1.OutcomePass, 0},
		"above":                  {present(0.31), present(0.20), 0, v1alpha1.OutcomeInconclusive, 1},
		"above twice":            {present(0.31), present(0.20), 1, v1alpha1.OutcomeInconclusive, 2},
		"above three times":      {present(0.31), present(0.20), 2, v1alpha1.OutcomeFail, 3},
		"above from none at all": {present(0.11), present(0), 2, v1alpha1.OutcomeFail, 3},
	}
	for name, test := range tests {
		in := passing()
		in.BadWindows = []v1alpha1.BadWindows{{Check: "throttling", Count: test.before}}
		changeAll(in.Recent, in.Canary, func(p *signal.Pod) { p.ThrottledShare = test.canary })
		changeAll(in.Recent, in.Control, func(p *signal.Pod) { p.ThrottledShare = test.control })
		change(in.Recent, "control-1", func(p *signal.Pod) { p.ThrottledShare = signal.Value{} })
		got := Judge(in)
		check := checkNamed(t, got.Verdict, "throttling")
		if check.Outcome != test.want || badBefore(got.BadWindows, "throttling") != test.row || got.Outcome != test.want {
			t.Errorf("%s: %+v, %v", name, check, got.BadWindows)
		}
		if name == "within" && (check.Canary != "30%" || check.Control != "20%") {
			t.Errorf("%s: %q against %q", name, check.Canary, check.Control)
		}
		if test.want == v1alpha1.OutcomeFail && (got.Reason != v1alpha1.ReasonThrottled || !strings.HasSuffix(got.Message, "allowed +10 points, for 3 windows")) {
			t.Errorf("%s: %s %q", name, got.Reason, got.Message)
		}
	}
}

// TestGuard: the quick look fails on what is absolute, and on nothing else.
func TestGuard(t *testing.T) {
	tests := map[string]struct {
		edit   func(*Input)
		want   v1alpha1.Outcome
		reason string
	}{
		"all well":    {func(*Input) {}, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"no evidence": {func(in *Input) { in.Evidence = nil }, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"no answer":   {func(in *Input) { in.Recent = nil }, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonNoData},
		"stale":       {func(in *Input) { age(in, time.Hour) }, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonNoData},
		"NaN": {func(in *Input) {
			change(in.Recent, "canary-0", func(p *signal.Pod) { p.Requests = present(math.NaN()) })
		}, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonNoData},
		"slow": {func(in *Input) { changeAll(in.Recent, in.Canary, slow) }, v1alpha1.OutcomeFail, v1alpha1.ReasonLatencyBreached},
		"thrashing, which takes two windows to tell": {both(collecting(24, 100)), v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"slow before": {func(in *Input) { changeAll(in.Evidence, in.Canary, slow) }, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"near the limit": {func(in *Input) {
			changeAll(in.Recent, in.Canary, func(p *signal.Pod) { p.FailedRequests = present(11) })
		}, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"out of memory":        {func(in *Input) { in.Canary[0].OOMKilled, in.Recent = true, nil }, v1alpha1.OutcomeFail, v1alpha1.ReasonOOMKilled},
		"limiter":              {func(in *Input) { change(in.Recent, "canary-0", func(p *signal.Pod) { p.LimiterEnabled = true }) }, v1alpha1.OutcomeFail, v1alpha1.ReasonLimiterEnabled},
		"worse, but in limits": {func(in *Input) { worse(in.Recent, in, v1alpha1.SignalRequestLatency, 9) }, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"own query":            {func(in *Input) { in.SLOs = append(in.SLOs, SLO{Name: "depth", Query: true}) }, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"no gain": {func(in *Input) {
			changeAll(in.Evidence, in.Canary, func(p *signal.Pod) { p.GCCPUSeconds = present(90) })
		}, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
	}
	for name, test := range tests {
		in := passing()
		test.edit(&in)
		got := Guard(in)
		if got.Outcome != test.want || got.Reason != test.reason || got.CanaryPods != 3 || !got.At.Time.Equal(in.Now) {
			t.Errorf("%s: %s %s %q, %d canary pods", name, got.Outcome, got.Reason, got.Message, got.CanaryPods)
		}
	}
	for _, fault := range faults() {
		in := passing()
		fault.apply(&in)
		if got := Guard(in); got.Outcome == v1alpha1.OutcomeFail || got.Outcome == v1alpha1.OutcomeInvalid {
			t.Errorf("%s %s %s: %s %q", fault.window, fault.pod, fault.name, got.Outcome, got.Message)
		}
	}
}
