package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

func TestSlotIDsNeverRepeat(t *testing.T) {
	seen := map[string]bool{}
	for number := range int64(100) {
		for opened := range int64(600) {
			id := slotID(policyUID, &v1alpha1.Trial{Number: number, StartedAt: stamp(epoch), SlotsOpened: opened})
			if seen[id] || len(id) != slotIDLength || strings.Trim(id, slotAlphabet) != "" {
				t.Fatalf("slot %d of trial %d: %q", opened, number, id)
			}
			seen[id] = true
		}
	}
	one := v1alpha1.Trial{Number: 1, StartedAt: stamp(epoch), SlotsOpened: 1}
	later := v1alpha1.Trial{Number: 1, StartedAt: stamp(epoch.Add(time.Second)), SlotsOpened: 1}
	if again := one; slotID(policyUID, &one) != slotID(policyUID, &again) {
		t.Error("a manager that died before its write opens another slot")
	}
	if slotID(policyUID, &one) == slotID("other", &one) || slotID(policyUID, &one) == slotID(policyUID, &later) {
		t.Error("two policies, or a policy that was created anew, open the same slot")
	}
}

// TestBindSlots: a slot is taken by the pod of its name and revision, and by no other.
func TestBindSlots(t *testing.T) {
	open := func(trial *v1alpha1.Trial) bool { return len(trial.Slots) == 1 }
	for _, test := range []struct {
		name string
		edit func(*Pod)
		// want of the one slot: open, taken, gone or reverting.
		want string
	}{
		{"the pod", func(*Pod) {}, "taken"},
		{"another name", func(pod *Pod) { pod.Name = "shop-rs-1-x7k2p" }, "open"},
		{"another revision", func(pod *Pod) { pod.Revision = "rs-0" }, "open"},
		{"terminating already", func(pod *Pod) { pod.Terminating = true }, "gone"},
		{"other settings", func(pod *Pod) { pod.Settings = settings.Settings{GOGC: 33} }, "reverting"},
		{"settings that can't be read", func(pod *Pod) { pod.Settings, pod.Unreadable = settings.Settings{}, "GOGC is set twice" }, "reverting"},
		{"the candidate, but unreadable", func(pod *Pod) { pod.Unreadable = "GOGC comes from a ConfigMap" }, "reverting"},
	} {
		m := sceneAt(t, open)
		id := m.status().trial.Slots[0].ID
		decision := m.look(t, func(_ *v1alpha1.Trial, view *View) {
			pod := Pod{UID: "new", Name: PodName("shop-rs-1-", id), Revision: "rs-1", CreatedAt: view.Now, Settings: bold}
			test.edit(&pod)
			view.Pods = append(view.Pods, pod)
		})
		if got := slotState(decision, id); got != test.want {
			t.Errorf("%s: the slot is %s, want %s", test.name, got, test.want)
		}
		if test.want == "reverting" && (len(decision.Trial.Slots) != 1 || decision.Trial.Slots[0].PodUID != "new") {
			t.Errorf("%s: the pod would not be taken back", test.name)
		}
	}
}

func slotState(decision Decision, id string) string {
	if decision.Trial.Stage == v1alpha1.StageReverting {
		return "reverting"
	}
	for _, slot := range decision.Trial.Slots {
		if slot.ID == id && slot.PodUID == "" {
			return "open"
		}
		if slot.ID == id {
			return "taken"
		}
	}
	return "gone"
}

// TestLostCanary: its slot is given up, the step begins anew, and its id is not used again.
func TestLostCanary(t *testing.T) {
	for name, lose := range map[string]func(*manager){
		"terminating": func(m *manager) { m.terminate(m.canary(0)) },
		"gone": func(m *manager) {
			lost := m.canary(0).UID
			m.pods = slices.DeleteFunc(m.pods, func(pod *worldPod) bool { return pod.UID == lost })
		},
	} {
		m := sceneAt(t, lastWarm)
		before := *m.status().trial
		lose(m)
		trial := m.look(t, nil).Trial
		if trial.VerifiedAt != nil || trial.WarmAt != nil || trial.Step != before.Step || trial.Stage != v1alpha1.StageCanary {
			t.Errorf("%s: the step does not begin anew: %+v", name, trial)
		}
		if slices.ContainsFunc(trial.Slots, func(slot v1alpha1.Slot) bool { return slot.ID == before.Slots[0].ID }) {
			t.Errorf("%s: the slot is kept", name)
		}
	}
}

// TestScaledDown: surplus slots close, the open ones first; the pods that lose theirs are evicted, and the step goes on.
func TestScaledDown(t *testing.T) {
	m := newManager(newWorld(1, 10), bold, nil)
	m.plan = planOf("50%")
	m.plan.Interval, m.plan.SLOs, m.plan.Gain = 5*time.Second, quickPlan().SLOs, quickPlan().Gain
	full := func(trial *v1alpha1.Trial) bool { return trial.VerifiedAt != nil }
	if !m.reach(full, time.Hour) {
		t.Fatal("the step was never verified")
	}
	youngest := m.canary(4).UID
	m.replicas = 8
	closed := m.look(t, nil)
	if len(closed.Trial.Slots) != 4 || closed.Trial.VerifiedAt == nil || !closed.Changed {
		t.Fatalf("%d slots, want 4, verified at %v", len(closed.Trial.Slots), closed.Trial.VerifiedAt)
	}
	evicting := m.look(t, func(trial *v1alpha1.Trial, view *View) {
		*trial = *closed.Trial
		view.Now = view.Now.Add(time.Second)
	})
	evicting = m.look(t, func(trial *v1alpha1.Trial, view *View) { *trial, view.Now = *evicting.Trial, view.Now.Add(time.Second) })
	if len(evicting.Evict) != 1 || evicting.Evict[0].UID != youngest {
		t.Errorf("evicts %v, want the youngest canary pod", names(evicting.Evict))
	}
}

func TestScaledDownClosesOpenSlotsFirst(t *testing.T) {
	m := sceneAt(t, lastWarm)
	decision := m.look(t, func(trial *v1alpha1.Trial, _ *View) {
		trial.Step = 1
		trial.Slots[0].PodUID, trial.Slots[0].PodName = "", ""
	})
	if open := len(decision.Trial.Slots) - len(takenSlots(decision.Trial.Slots)); len(decision.Trial.Slots) != 2 || open != 0 {
		t.Errorf("%d slots are open, of %d", open, len(decision.Trial.Slots))
	}
}

// TestScaledUp: a step that is verified stays as it is; one that is not grows.
func TestScaledUp(t *testing.T) {
	for _, test := range []struct {
		verified bool
		want     int
	}{{true, 3}, {false, 6}} {
		m := sceneAt(t, lastWarm)
		m.plan.Steps = planOf("50%").Steps
		decision := m.look(t, func(trial *v1alpha1.Trial, view *View) {
			view.Replicas = 12
			if !test.verified {
				trial.VerifiedAt, trial.WarmAt = nil, nil
			}
		})
		if got := len(decision.Trial.Slots); got != test.want || test.verified && decision.Trial.VerifiedAt == nil {
			t.Errorf("verified %v: %d slots, want %d", test.verified, got, test.want)
		}
	}
}

// TestStrays: a pod that runs the candidate without a slot is evicted, opens no way for another, and keeps no guard from acting.
func TestStrays(t *testing.T) {
	m := sceneAt(t, verified)
	stray := m.add("shop-rs-1-stray", bold, m.now.Add(-2*time.Second))
	if got := names(m.look(t, nil).Evict); !cmp.Equal(got, []string{stray.Name}) {
		t.Errorf("evicts %v, want the stray", got)
	}
	short := m.look(t, func(trial *v1alpha1.Trial, _ *View) { trial.Slots, trial.VerifiedAt = nil, nil })
	if len(short.Trial.Slots) != 0 {
		t.Error("a slot opens while a stray runs the candidate")
	}
	m = sceneAt(t, lastWarm)
	m.add("shop-rs-1-stray", bold, m.now.Add(-2*time.Second))
	m.blocked, m.data.slow = true, 0.2
	m.runUntil(30*time.Minute, []incident{{15 * time.Minute, "evictions back", kinds["evictions back"]}})
	if m.record == nil || m.record.Reason != v1alpha1.ReasonLatencyBreached {
		t.Errorf("with a stray that can't be evicted the breach was not acted on: %+v", m.record)
	}
}

// TestStrangers: what others run does not concern a trial.
func TestStrangers(t *testing.T) {
	old := types.UID("rs-0")
	for name, pod := range map[string]Pod{
		"an old revision's":       {Revision: old, CreatedAt: epoch.Add(-time.Hour), Settings: bold},
		"born long after the end": {Revision: "rs-1", CreatedAt: epoch.Add(2 * time.Hour), Settings: bold},
		"unreadable":              {Revision: "rs-1", CreatedAt: epoch.Add(time.Minute), Settings: bold, Unreadable: "GOGC is set twice"},
	} {
		pod.UID, pod.Name, pod.Ready = "stranger", "stranger", true
		m := sceneAt(t, lastWarm)
		decision := m.look(t, func(trial *v1alpha1.Trial, view *View) {
			trial.Stage, trial.End = v1alpha1.StageReverting, &v1alpha1.TrialEnd{Reason: v1alpha1.ReasonNoGain, At: stamp(epoch.Add(10 * time.Minute))}
			view.Pods = []Pod{pod}
			view.Now = epoch.Add(3 * time.Hour)
		})
		if len(decision.Evict) > 0 || decision.Record == nil {
			t.Errorf("%s: evicts %v", name, names(decision.Evict))
		}
	}
}
