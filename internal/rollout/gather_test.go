package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// TestControls: control pods are fresh, ready, and run the baseline; those that live are kept.
func TestControls(t *testing.T) {
	for _, test := range []struct {
		name string
		edit func(*worldPod)
		want bool
	}{
		{"fresh", func(*worldPod) {}, true},
		{"old", func(pod *worldPod) { pod.CreatedAt = epoch.Add(-time.Minute) }, false},
		{"not ready", func(pod *worldPod) { pod.Ready = false }, false},
		{"going", func(pod *worldPod) { pod.Terminating = true }, false},
		{"with what the template declares", func(pod *worldPod) { pod.Settings = settings.Settings{GOGC: 25} }, false},
		{"with the candidate", func(pod *worldPod) { pod.Settings = bold }, false},
		{"unreadable", func(pod *worldPod) { pod.Unreadable = "GOGC is set twice" }, false},
		{"of another revision", func(pod *worldPod) { pod.Revision = "rs-0" }, false},
	} {
		m := sceneAt(t, func(trial *v1alpha1.Trial) bool { return len(takenSlots(trial.Slots)) == 1 })
		fresh := m.add("shop-rs-1-fresh", promoted, m.now.Add(-time.Second))
		test.edit(fresh)
		got := len(m.look(t, nil).Trial.Controls) == 1
		if got != test.want {
			t.Errorf("%s: control is %v, want %v", test.name, got, test.want)
		}
	}
}

// TestControlsStay: a fresh pod that happens to be older than a control pod does not take its place.
func TestControlsStay(t *testing.T) {
	m := sceneAt(t, lastWarm)
	before := m.status().trial.Controls
	m.add("shop-rs-1-aaaaa", promoted, m.control(0).CreatedAt.Add(-time.Second))
	after := m.look(t, nil).Trial
	if diff := cmp.Diff(before, after.Controls); diff != "" || after.VerifiedAt == nil {
		t.Errorf("verified at %v: %s", after.VerifiedAt, diff)
	}
}

// TestControlsShrink: control pods that the step no longer wants are dropped and do not make it begin anew; lost ones do.
func TestControlsShrink(t *testing.T) {
	shrunk := sceneAt(t, lastWarm).look(t, func(_ *v1alpha1.Trial, view *View) {
		view.Plan.Steps, view.Replicas = planOf("5").Steps, 7 // which leaves 2
	}).Trial
	if len(shrunk.Controls) != 2 || shrunk.VerifiedAt == nil {
		t.Errorf("%d control pods, want 2, verified at %v", len(shrunk.Controls), shrunk.VerifiedAt)
	}
	m := sceneAt(t, lastWarm)
	m.control(1).Terminating = true
	lost := m.look(t, nil).Trial
	if len(lost.Controls) != 2 || lost.VerifiedAt != nil || lost.SlotsOpened != m.status().trial.SlotsOpened+1 {
		t.Errorf("%d control pods are left, want 2, verified at %v", len(lost.Controls), lost.VerifiedAt)
	}
}

// halfway is a trial in its second step, with one slot taken and one open, and no control pod. All pods are up.
func halfway(t *testing.T) *manager {
	t.Helper()
	m := sceneAt(t, verified)
	trial := m.status().trial
	for _, pod := range m.pods {
		if pod.UID != trial.Slots[0].PodUID {
			pod.Settings, pod.CreatedAt = promoted, epoch.Add(-time.Hour)
		}
	}
	trial.Slots[1] = v1alpha1.Slot{ID: "bcdfghjk"}
	trial.Controls, trial.VerifiedAt, trial.WarmAt = nil, nil, nil
	return m
}

// TestSlotsBeforeControls: while a slot is open, no pod is given up for a control pod; what starts without the candidate is then a sign.
func TestSlotsBeforeControls(t *testing.T) {
	m := halfway(t)
	m.plan.MaxUnavailable = intstr.FromInt32(3)
	if got := names(m.look(t, nil).Evict); !cmp.Equal(got, []string{"shop-1-old04"}) {
		t.Errorf("%v are given up for one slot", got)
	}
	m.hold = true
	if got := names(m.look(t, nil).Evict); len(got) > 0 {
		t.Errorf("%v are given up on hold", got)
	}
}

// TestMisses: pods that start without the candidate end the step, unless they were born before it was open to them, or can't be helped.
func TestMisses(t *testing.T) {
	for _, test := range []struct {
		name   string
		misses int
		most   int32
		edit   func(*manager, *worldPod)
		want   bool
	}{
		{"one", 1, 1, nil, false},
		{"two", 2, 1, nil, true},
		{"one, where three may be down", 1, 3, nil, false},
		{"two, where three may be down", 2, 3, nil, true},
		{"born as the slot opened", 3, 1, func(m *manager, pod *worldPod) { pod.CreatedAt = m.status().trial.StepStartedAt.Time }, false},
		{"of another revision", 3, 1, func(_ *manager, pod *worldPod) { pod.Revision = "rs-0" }, false},
		{"unreadable", 2, 1, func(_ *manager, pod *worldPod) { pod.Unreadable = "GOGC is set twice" }, true},
		{"with what the template declares", 2, 1, func(_ *manager, pod *worldPod) { pod.Settings = settings.Settings{GOGC: 25} }, true},
	} {
		m := halfway(t)
		m.plan.MaxUnavailable = intstr.FromInt32(test.most)
		for i := range test.misses {
			pod := m.add("shop-rs-1-miss"+string(rune('a'+i)), promoted, m.status().trial.StepStartedAt.Add(time.Second))
			if test.edit != nil {
				test.edit(m, pod)
			}
		}
		decision := m.look(t, nil)
		if got := reverting(decision); got != test.want {
			t.Errorf("%s: goes back is %v", test.name, got)
		}
		if test.want {
			wantReverting(t, decision, v1alpha1.ReasonNotAdmitted)
		}
	}
}

// TestOutage: while more pods are down than may be, nothing is touched, though those that are down would cost nothing.
func TestOutage(t *testing.T) {
	waves := func(t *testing.T) *manager {
		t.Helper()
		m := halfway(t)
		trial, now := m.status().trial, stamp(m.now)
		trial.Stage, trial.Slots, trial.StepStartedAt, trial.LastDataAt = v1alpha1.StagePromoting, trial.Slots[:1], now, &now
		m.canary(0).CreatedAt = m.now.Add(-10 * time.Minute)
		return m
	}
	for stage, scene := range map[string]func(*testing.T) *manager{"canary": halfway, "waves": waves} {
		for down, touched := range []bool{true, true, false, false, false, false} {
			m := scene(t)
			for i, pod := range m.find(func(pod *worldPod) bool { return !runs(pod.Pod, bold) }) {
				pod.Ready = i >= down
			}
			if decision := m.look(t, nil); touched != (len(decision.Evict) > 0) || reverting(decision) {
				t.Errorf("%s, %d pods down: evicts %v", stage, down, names(decision.Evict))
			}
		}
	}
}

// TestManyPods: a step of many pods takes longer than the deadline, and is not overdue while its pods get on.
func TestManyPods(t *testing.T) {
	w := newWorld(1, 60)
	w.startup = [2]int{30, 40}
	w.plan.Steps = planOf("50%").Steps
	m := newManager(w, bold, nil)
	if !m.reach(func(trial *v1alpha1.Trial) bool { return trial.VerifiedAt != nil }, 2*time.Hour) {
		t.Fatalf("the step was never verified: %+v", m.record)
	}
	if took := m.now.Sub(epoch); took < 2*ProgressDeadline {
		t.Errorf("it took only %s: the test shows nothing", took)
	}
}

// TestHold: a held trial replaces nothing and passes nothing, its deadlines stand still, its guards go on.
func TestHold(t *testing.T) {
	for name, when := range map[string]moment{"gathering": gathering, "judged": lastWarm, "in the waves": inWaves} {
		m := sceneAt(t, when)
		m.hold = true
		evictions := m.evictions
		before := *m.status().trial
		for range 3600 {
			m.second()
		}
		trial := m.status().trial
		if trial == nil || trial.Stage != before.Stage || trial.Step != before.Step || m.evictions != evictions {
			t.Errorf("%s: went on while held: %+v", name, m.record)
			continue
		}
		m.hold = false
		m.runUntil(3*time.Hour, nil)
		if m.record == nil || m.record.Result != v1alpha1.TrialPromoted {
			t.Errorf("%s: released after an hour, it ended as %+v", name, m.record)
		}
	}
	for name, do := range map[string]func(*manager){"restart": kinds["restart of canary"], "slow": kinds["candidate slow"], "no data": dataFault("no answer")} {
		m := sceneAt(t, lastWarm)
		m.hold = true
		do(m)
		m.runUntil(30*time.Minute, nil)
		if m.record == nil || m.record.Result != v1alpha1.TrialReverted {
			t.Errorf("%s: a held trial did not go back", name)
		}
	}
}

// TestHoldJudgesNoGain: that a candidate brings nothing is no harm, and waits for the person who holds the trial.
func TestHoldJudgesNoGain(t *testing.T) {
	m := sceneAt(t, lastWarm)
	m.hold, m.data.gain = true, 0
	for range 600 {
		m.second()
	}
	if m.status().trial == nil || m.status().trial.Stage != v1alpha1.StageCanary {
		t.Error("a held trial went back for want of gain")
	}
}
