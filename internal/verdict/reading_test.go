package verdict

import (
	"math"
	"testing"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

func TestReadingStates(t *testing.T) {
	bad := signal.Value{Number: 5, State: signal.Ambiguous}
	tests := map[string]struct {
		amount, requests signal.Value
		ofAmount, ofBad  readingState
	}{
		"both there":      {present(5), present(100), readable, readable},
		"neither":         {signal.Value{}, signal.Value{}, unmeasured, unmeasured},
		"no amount":       {signal.Value{}, present(100), unmeasured, unmeasured},
		"no requests":     {present(5), signal.Value{}, unmeasured, unmeasured},
		"amount unusable": {bad, present(100), unreadable, unreadable},
		"requests are":    {present(5), bad, unreadable, unreadable},
		"none asked":      {present(0), present(0), quiet, quiet},
		"nothing used":    {present(0), present(100), quiet, readable},
	}
	for name, test := range tests {
		if got := ratio(test.amount, test.requests); got.state != test.ofAmount {
			t.Errorf("ratio, %s: %+v", name, got)
		}
		if got := failedShare(&signal.Pod{FailedRequests: test.amount, Requests: test.requests}); got.state != test.ofBad {
			t.Errorf("failures, %s: %+v", name, got)
		}
	}
	if got := ratio(present(5), present(100)); math.Abs(got.log-math.Log(0.05)) > 1e-12 || got.of != 100 {
		t.Errorf("%+v", got)
	}
	if got := share(120, 100); got.bad != 100 || math.Abs(got.log-math.Log(100.5/101)) > 1e-12 {
		t.Errorf("extrapolated past all: %+v", got)
	}
	if got := (cohortReading{bad: 3, of: 100, readings: make([]reading, 2)}).share(); math.Abs(got-4.0/102) > 1e-12 {
		t.Errorf("share of two pods: %v", got)
	}
}

// TestOnlyLatencyObjectivesHaveSlowRequests: one for errors has no threshold, and a query of its own none that counts.
func TestOnlyLatencyObjectivesHaveSlowRequests(t *testing.T) {
	for _, slos := range [][]SLO{{errorsSLO}, {{Name: "depth", Query: true, Max: 1, ThresholdSeconds: 0.25}}, nil} {
		for _, g := range guards(slos, podsOf(passing().Evidence, passing().Control)) {
			if g.signal == v1alpha1.SignalSlowRequests {
				t.Errorf("%+v are given a guard of slow requests", slos)
			}
		}
	}
}
