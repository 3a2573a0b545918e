package controllers

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

var errKilled = errors.New("the manager is dead")

// diary is what was written of a trial.
type diary struct {
	t *testing.T
	// way is each stage and step, once for each time that it began.
	way []string
	// spent are slot ids that were given up; owners the pods that took one.
	open, spent map[string]bool
	owners      map[string]string
}

func keepDiary(w *world) *diary {
	d := &diary{t: w.t, open: map[string]bool{}, spent: map[string]bool{}, owners: map[string]string{}}
	w.lens.written = d.note
	return d
}

func (d *diary) note(policy *v1alpha1.RuntimeTuningPolicy) {
	place, now := "idle", map[string]bool{}
	if trial := policy.Status.Trial; trial != nil {
		place = fmt.Sprintf("trial %d %s %d", trial.Number, trial.Stage, trial.Step)
		for _, slot := range trial.Slots {
			now[slot.ID] = true
			if owner := d.owners[slot.ID]; owner != "" && owner != string(slot.PodUID) || d.spent[slot.ID] {
				d.t.Errorf("slot %s was used twice", slot.ID)
			}
			d.owners[slot.ID] = string(slot.PodUID)
		}
	}
	for id := range d.open {
		if !now[id] {
			d.spent[id] = true
		}
	}
	d.open = now
	if len(d.way) == 0 || d.way[len(d.way)-1] != place {
		d.way = append(d.way, place)
	}
}

// runKilled runs to the end of the trial under a manager that dies when kill says so, at a write: before or after it. A dead manager
// writes no more; another takes its place.
func (w *world) runKilled(kill func(attempt int) (before, after bool)) *v1alpha1.RuntimeTuningPolicy {
	w.t.Helper()
	dead, attempt, after := false, 0, false
	w.lens.before = func() error {
		if dead {
			return errKilled
		}
		attempt++
		dead, after = kill(attempt)
		if dead {
			return errKilled
		}
		return nil
	}
	w.lens.after = func() error {
		if dead = after; dead {
			return errKilled
		}
		return nil
	}
	for range mostTurns {
		policy := w.get()
		if ended(policy) {
			return policy
		}
		if trial := policy.Status.Trial; trial == nil || trial.Stage == v1alpha1.StageCanary {
			if canaries := w.running("35"); canaries > 3 {
				w.t.Fatalf("%d canary pods, the step allows 3", canaries)
			}
		}
		result, err := w.turn()
		switch {
		case errors.Is(err, errKilled):
			dead = false
			w.restart()
			w.pass(time.Second)
		case err != nil:
			w.t.Fatal(err)
		default:
			w.pass(result.RequeueAfter)
		}
	}
	w.t.Fatalf("no end in sight; status %s", dump(w.get().Status))
	return nil
}

// TestI5Resume: a manager that is killed at any write is followed by one that goes on from the status alone; no step is skipped or
// repeated, no slot id used twice.
func TestI5Resume(t *testing.T) {
	twoSteps := func(policy *v1alpha1.RuntimeTuningPolicy) {
		last := policy.Spec.Rollout.Steps[0]
		policy.Spec.Rollout.Steps = []v1alpha1.Step{{Canary: intstr.FromInt32(1), Hold: last.Hold}, last}
	}
	way := []string{"trial 1 Canary 0", "trial 1 Canary 1", "trial 1 Promoting 1", "idle"}
	check := func(t *testing.T, w *world, policy *v1alpha1.RuntimeTuningPolicy, d *diary, way []string) {
		t.Helper()
		record := policy.Status.History[0]
		if record.Result != v1alpha1.TrialPromoted || len(policy.Status.History) != 1 || policy.Status.Trials != 1 {
			t.Errorf("it ended with %s", dump(policy.Status))
		}
		if d.way[0] == "idle" {
			d.way = d.way[1:] // the declared baseline may be written with the trial, or before
		}
		if !slices.Equal(d.way, way) {
			t.Errorf("it went %q, want %q", d.way, way)
		}
		if len(d.spent) != 3 || w.running("35") != 6 {
			t.Errorf("%d slots were opened for 3 pods; %d of 6 pods run the new baseline", len(d.spent), w.running("35"))
		}
	}
	for name, kill := range map[string]func(int) (before, after bool){
		"never":              func(int) (bool, bool) { return false, false },
		"before every write": func(attempt int) (bool, bool) { return attempt%2 == 1, false },
		"after every write":  func(int) (bool, bool) { return false, true },
		"before and after":   func(attempt int) (bool, bool) { return attempt%2 == 1, attempt%2 == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			w := inAuto(t, twoSteps)
			d := keepDiary(w)
			check(t, w, w.runKilled(kill), d, way)
		})
	}
	t.Run("once", func(t *testing.T) { // before a write, and the successor after it
		for k, reached := 1, 1; k <= reached; k++ {
			w := newWorldInMemory(t)
			w.tune(nil)
			d := keepDiary(w)
			policy := w.runKilled(func(attempt int) (bool, bool) {
				reached = max(reached, attempt)
				return attempt == k, attempt == k+1
			})
			check(t, w, policy, d, []string{"trial 1 Canary 0", "trial 1 Promoting 0", "idle"})
			if t.Failed() {
				t.Fatalf("killed at write %d", k)
			}
		}
	})
}
