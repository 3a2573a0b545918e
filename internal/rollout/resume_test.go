package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// TestI5KilledAnywhere kills the manager once at every single look of a trial: before it writes, and before it acts. Each time the trial
// must come to the same end by the same steps.
func TestI5KilledAnywhere(t *testing.T) {
	for _, end := range []struct {
		name   string
		when   moment
		strike func(*manager)
		result v1alpha1.TrialResult
		passes []int32
	}{
		{"promoted", atOnce, func(*manager) {}, v1alpha1.TrialPromoted, []int32{0, 1, 2}},
		{"reverted", warm, kinds["candidate slow"], v1alpha1.TrialReverted, []int32{0}},
		{"reverted from the waves", inWaves, kinds["suspend"], v1alpha1.TrialReverted, []int32{0, 1, 2}},
	} {
		for look := 1; ; look++ {
			m := newManager(newWorld(1, 6), bold, &promoted)
			struck, killed := false, false
			for m.status().trial != nil && m.now.Sub(epoch) < time.Hour {
				if !struck && end.when(m.status().trial) {
					struck = true
					end.strike(m)
				}
				if !killed && m.looks >= look {
					killed, m.dropWrites, m.dropActions = true, 1, 1
				}
				m.second()
			}
			if m.record == nil || m.record.Result != end.result || !cmp.Equal(m.passed, end.passes) {
				t.Errorf("%s, killed at look %d: %+v, steps %v", end.name, look, m.record, m.passed)
			}
			for _, found := range m.found {
				t.Errorf("%s, killed at look %d: %s: %s", end.name, look, found.invariant, found.message)
			}
			if !killed {
				break // the trial has no more looks
			}
		}
	}
}

// TestI9AtRest: where nothing happens, looks write nothing; while judging one verdict per interval, and Prometheus is asked no more often.
func TestI9AtRest(t *testing.T) {
	m := sceneAt(t, lastWarm)
	m.plan.Steps[2].Hold = time.Hour
	for range 60 {
		m.second()
	}
	writes, asked := len(m.statuses), 0
	for range 60 {
		for range 10 { // ten looks each second, as if watches woke the manager
			trial, view := *m.status().trial, m.view()
			needed, err := NeedsMeasurements(trial, view)
			if err != nil {
				t.Fatal(err)
			}
			asked += boolean(needed)
			m.lookAround()
		}
		m.tick()
	}
	if got := len(m.statuses) - writes; got > 13 {
		t.Errorf("%d writes in a minute of judging, with an interval of 5 s", got)
	}
	if asked > 13 {
		t.Errorf("Prometheus was asked at %d looks in a minute, with an interval of 5 s", asked)
	}
}
