package tuning

import (
	"strings"
	"testing"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
)

func TestDiagnosis(t *testing.T) {
	tests := map[string]struct {
		throttled, pause, slow float64
		edit                   func(*Input)
		want                   string
	}{
		"all is well":                {0, 0, 0, nil, ""},
		"throttled by 5%":            {0.05, 0, 0, nil, ""},
		"throttled by more":          {0.051, 0, 0, nil, "the CPU limit throttles the pods in 5.1% of its periods: that is a problem of CPU, which no GOGC cures; raise the CPU limit"},
		"throttled by half":          {0.5, 0, 0, nil, "in 50% of its periods"},
		"a pause at the threshold":   {0.04, 0.005, 0, nil, ""},
		"a long pause, throttled":    {0.011, 0.0051, 0, nil, "a collection pauses for 5.1ms on average, and the CPU limit throttles the pods in 1.1% of its periods"},
		"a long pause, hardly so":    {0.01, 0.0051, 0, nil, ""},
		"a long pause, starved":      {0, 0.006, 0.101, nil, "10% of the goroutines that could run wait longer than 0.92 ms"},
		"a long pause, well served":  {0, 0.006, 0.10, nil, ""},
		"starved, with short pauses": {0, 0.001, 0.5, nil, ""},
		"the rule is off":            {0.03, 0.5, 0.5, func(in *Input) { in.Rules.LongPauseSeconds = 0 }, ""},
		"more processors than limit": {0.06, 0, 0, func(in *Input) {
			in.Footing.CPULimitMilli, in.Observed.Processors = 1500, present(8)
		}, "set GOMAXPROCS to 2, the CPU limit: it is 8"},
		"as many processors as limit": {0.06, 0, 0, func(in *Input) {
			in.Footing.CPULimitMilli, in.Observed.Processors = 2000, present(2)
		}, "raise the CPU limit, or run more replicas"},
	}
	for name, test := range tests {
		in := input()
		in.Observed.ThrottledShare, in.Observed.MeanPauseSeconds, in.Observed.SlowSchedulingShare = present(test.throttled), present(test.pause), present(test.slow)
		if test.edit != nil {
			test.edit(&in)
		}
		got := Propose(in)
		blocked := got.Blocked == v1alpha1.ReasonCPUThrottled
		if blocked != (test.want != "") || blocked == (got.Candidate != nil) || !strings.Contains(got.Reason, test.want) {
			t.Errorf("%s: %q %q", name, got.Blocked, got.Reason)
		}
	}
}

// TestUnmeasuredIsNotThrottled: numbers without a state are none.
func TestUnmeasuredIsNotThrottled(t *testing.T) {
	in := input()
	in.Observed.ThrottledShare = signal.Value{Number: 0.9}
	in.Observed.MeanPauseSeconds = signal.Value{Number: 0.9, State: signal.NotFinite}
	in.Observed.SlowSchedulingShare = present(0.9)
	if got := Propose(in); got.Blocked != "" || got.Candidate == nil {
		t.Errorf("%+v", got)
	}
}

func TestThrottlingAndStrategies(t *testing.T) {
	fewer := settings.Settings{GOMAXPROCS: 2}
	tests := map[string]struct {
		strategy Strategy
		want     string
	}{
		"Sweep":                       {Strategy{Type: v1alpha1.StrategySweep}, v1alpha1.ReasonCPUThrottled},
		"Calibrate":                   {Strategy{Type: v1alpha1.StrategyCalibrate}, v1alpha1.ReasonCPUThrottled},
		"Manual":                      {listed(settings.Settings{GOGC: 200}), v1alpha1.ReasonCPUThrottled},
		"Manual, fewer processors":    {listed(fewer), ""},
		"Manual, with nothing to try": {listed(), ""},
	}
	for name, test := range tests {
		in := input()
		in.Observed.ThrottledShare, in.Strategy = present(0.06), test.strategy
		if got := Propose(in); got.Blocked != test.want || (got.Candidate != nil) != (name == "Manual, fewer processors") || got.Reason == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0.0%", 0.0123: "1.2%", 0.0999: "10.0%", 0.1: "10%", 0.255: "26%", 1: "100%"} {
		if got := percent(share); got != want {
			t.Errorf("%v: %s, want %s", share, got, want)
		}
	}
}

func TestCeilLimit(t *testing.T) {
	for milli, want := range map[int64]int32{0: 0, 1: 1, 1000: 1, 1001: 2, 2500: 3, 1 << 60: 1<<31 - 1} {
		if got := ceilLimit(milli); got != want {
			t.Errorf("%d: %d, want %d", milli, got, want)
		}
	}
}
