package rollout

import (
	"testing"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// The invariants of the design, each over all random schedules. TestI5KilledAnywhere and TestI9AtRest go further.

func TestI1CanaryBound(t *testing.T)  { inSimulation(t, "I1") }
func TestI2Evidence(t *testing.T)     { inSimulation(t, "I2") }
func TestI5Resume(t *testing.T)       { inSimulation(t, "I5") }
func TestI6Availability(t *testing.T) { inSimulation(t, "I6") }
func TestI7Scope(t *testing.T)        { inSimulation(t, "I7") }
func TestI8Reversible(t *testing.T)   { inSimulation(t, "I8") }
func TestI9Quiet(t *testing.T)        { inSimulation(t, "I9") }

// TestI3FailFast: a breach is acted on at the first look that sees it, and seen within an interval.
func TestI3FailFast(t *testing.T) {
	inSimulation(t, "I3")
	for _, when := range []moment{warm, lastWarm, inWaves} {
		m := sceneAt(t, when)
		for range 15 {
			m.second()
		}
		if m.status().trial.Stage == v1alpha1.StageReverting {
			t.Fatal("reverts before the breach")
		}
		m.data.slow = 0.2
		for range 6 {
			m.second()
		}
		if trial := m.status().trial; trial == nil || trial.Stage != v1alpha1.StageReverting {
			t.Errorf("%s after the breach the trial still runs", 6*time.Second)
		}
	}
}

// TestI4NoDataNoPass: with no fault of the data does a step pass, and where it lasts, the trial goes back.
func TestI4NoDataNoPass(t *testing.T) {
	inSimulation(t, "I4")
	for _, fault := range dataFaults {
		for _, when := range []moment{gathering, verified, warm, lastWarm} {
			m := sceneAt(t, when)
			passed := len(m.passed)
			m.data.fault = fault
			m.runUntil(time.Hour, nil)
			if m.record == nil || m.record.Result != v1alpha1.TrialReverted || len(m.passed) > passed {
				t.Errorf("%s: %+v after steps %v", fault, m.record, m.passed)
			}
		}
	}
}

// TestCandidateThatRunsAlready: a candidate that is the baseline proves nothing, and going back from it replaces no pod but those with a slot.
func TestCandidateThatRunsAlready(t *testing.T) {
	m := newManager(newWorld(1, 6), promoted, &promoted)
	if !m.reach(lastWarm, 20*time.Minute) {
		t.Fatalf("%+v", m.record)
	}
	evictions := m.evictions
	m.runUntil(time.Hour, nil)
	if m.record == nil || m.record.Result != v1alpha1.TrialReverted || m.evictions-evictions > 3 {
		t.Errorf("%d evictions: %+v", m.evictions-evictions, m.record)
	}
}
