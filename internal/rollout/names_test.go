package rollout

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

// statefulSceneAt is sceneAt on a StatefulSet.
func statefulSceneAt(t *testing.T, when moment) *manager {
	t.Helper()
	w := newWorld(1, 6)
	w.stable = true
	return w.sceneAt(t, when)
}

// blockedSceneAt is that where nothing can be evicted.
func blockedSceneAt(t *testing.T, when moment) *manager {
	t.Helper()
	w := newWorld(1, 6)
	w.stable, w.blocked = true, true
	return w.sceneAt(t, when)
}

func (w *world) sceneAt(t *testing.T, when moment) *manager {
	t.Helper()
	m := newManager(w, bold, &promoted)
	if !m.reach(when, 20*time.Minute) {
		t.Fatal("the trial never came to the moment")
	}
	return m
}

// TestNamedSlots: the first slot is for the highest ordinal, names the pod that is there, and that pod is the one to make room.
func TestNamedSlots(t *testing.T) {
	m := blockedSceneAt(t, gathering)
	trial := m.status().trial
	old := m.named("shop-5")
	want := []v1alpha1.Slot{{ID: trial.Slots[0].ID, PodName: "shop-5", Replaces: old.UID}}
	if diff := cmp.Diff(want, trial.Slots); diff != "" || len(trial.Slots[0].ID) != slotIDLength {
		t.Fatal(diff)
	}
	if got := names(m.look(t, nil).Evict); !cmp.Equal(got, []string{"shop-5"}) {
		t.Errorf("evicts %v", got)
	}
	notReady := func(trial *v1alpha1.Trial, view *View) {
		trial.Slots = nil
		for i := range view.Pods {
			view.Pods[i].Ready = view.Pods[i].Name != "shop-5"
			view.Pods[i].Pinned = view.Pods[i].Name == "shop-4"
		}
	}
	if got := m.look(t, notReady).Trial.Slots; len(got) != 1 || got[0].PodName != "shop-3" {
		t.Errorf("with a pod down and one pinned the slots are %+v", got)
	}
}

// TestBindNamedSlots: a slot is taken by a successor of its name and revision that shows the candidate.
func TestBindNamedSlots(t *testing.T) {
	for _, test := range []struct {
		name string
		edit func(*Pod)
		// want of the one slot: open, taken or gone; misses and replaces are counted and told from then on.
		want     string
		misses   int32
		replaces types.UID
	}{
		{name: "the successor", edit: func(*Pod) {}, want: "taken"},
		{name: "nobody yet", edit: func(pod *Pod) { pod.Name = "shop-7" }, want: "open", replaces: "old"},
		{name: "the predecessor", edit: func(pod *Pod) { pod.UID = "old" }, want: "open", replaces: "old"},
		{name: "the predecessor goes", edit: func(pod *Pod) { pod.UID, pod.Terminating = "old", true }, want: "open", replaces: "old"},
		{name: "another revision", edit: func(pod *Pod) { pod.Revision = "rs-0" }, want: "open", replaces: "old"},
		{name: "the baseline", edit: func(pod *Pod) { pod.Settings = promoted }, want: "open", misses: 1, replaces: "new"},
		{name: "unreadable", edit: func(pod *Pod) { pod.Unreadable = "GOGC is set twice" }, want: "open", misses: 1, replaces: "new"},
		{name: "the successor goes", edit: func(pod *Pod) { pod.Terminating = true }, want: "gone"},
	} {
		m := statefulSceneAt(t, gathering)
		id := m.status().trial.Slots[0].ID
		decision := m.look(t, func(trial *v1alpha1.Trial, view *View) {
			trial.Slots[0].Replaces = "old"
			view.Unsettled = true
			view.Now = view.Now.Add(10 * time.Second)
			pod := Pod{UID: "new", Name: "shop-5", Revision: "rs-1", CreatedAt: view.Now.Add(-5 * time.Second), Settings: bold}
			test.edit(&pod)
			view.Pods = append(slices.DeleteFunc(view.Pods, func(pod Pod) bool { return pod.Name == "shop-5" }), pod)
			view.Replicas++ // so that a name without a pod still gets one
		})
		if got := slotState(decision, id); got != test.want {
			t.Errorf("%s: the slot is %s, want %s", test.name, got, test.want)
			continue
		}
		if decision.Trial.Misses != test.misses {
			t.Errorf("%s: %d misses, want %d", test.name, decision.Trial.Misses, test.misses)
		}
		if len(decision.Trial.Slots) == 1 && decision.Trial.Slots[0].Replaces != test.replaces {
			t.Errorf("%s: replaces %q, want %q", test.name, decision.Trial.Slots[0].Replaces, test.replaces)
		}
	}
}

// TestNamedSlotOutOfReach: a slot for a name that was scaled away is given up, and another opens.
func TestNamedSlotOutOfReach(t *testing.T) {
	m := blockedSceneAt(t, gathering)
	decision := m.look(t, func(trial *v1alpha1.Trial, view *View) {
		view.Pods = slices.DeleteFunc(view.Pods, func(pod Pod) bool { return pod.Name == "shop-5" })
		view.Replicas = 5
	})
	if slots := decision.Trial.Slots; len(slots) != 1 || slots[0].PodName != "shop-4" {
		t.Errorf("the slots are %+v", slots)
	}
}

// TestPinnedPods: a pod whose successor would be of another revision is never replaced, and a revert says so.
func TestPinnedPods(t *testing.T) {
	pin := func(view *View) {
		for i := range view.Pods {
			view.Pods[i].Pinned = true
		}
	}
	for name, when := range map[string]moment{"gathering": gathering, "in the waves": inWaves} {
		m := statefulSceneAt(t, when)
		if decision := m.look(t, func(_ *v1alpha1.Trial, view *View) { pin(view) }); len(decision.Evict) > 0 {
			t.Errorf("%s: evicts %v", name, names(decision.Evict))
		}
	}
	m := statefulSceneAt(t, lastWarm)
	decision := m.look(t, func(trial *v1alpha1.Trial, view *View) {
		trial.Stage, trial.End = v1alpha1.StageReverting, &v1alpha1.TrialEnd{Reason: v1alpha1.ReasonNoGain, At: stamp(view.Now)}
		pin(view)
		view.Now = view.Now.Add(time.Hour)
		view.Pods = append(view.Pods, Pod{UID: "down", Name: "down", Revision: "rs-1", CreatedAt: view.Now.Add(-time.Hour), Settings: bold, Pinned: true})
	})
	if len(decision.Evict) > 0 || len(decision.Pinned) != 4 || decision.Record != nil {
		t.Errorf("a revert evicts %v, names %v, and ends with %+v", names(decision.Evict), names(decision.Pinned), decision.Record)
	}
}

// TestWithoutPredecessors: what Prometheus says of an older pod of the same name is not the pod's.
func TestWithoutPredecessors(t *testing.T) {
	born := epoch.Add(time.Hour)
	pods := []Pod{{Name: "shop-0", CreatedAt: born}}
	at := func(at time.Time) signal.Value { return present(float64(at.Unix())) }
	for name, test := range map[string]struct {
		end   time.Time
		pod   signal.Pod
		other string
		kept  bool
	}{
		"its own process":               {born.Add(time.Minute), signal.Pod{ProcessStartSeconds: at(born.Add(time.Second)), Sampled: true, SampleAge: time.Second}, "", true},
		"an older process":              {born.Add(time.Minute), signal.Pod{ProcessStartSeconds: at(born.Add(-time.Minute)), Sampled: true, SampleAge: time.Second}, "", false},
		"a node's clock that is behind": {born.Add(time.Minute), signal.Pod{ProcessStartSeconds: at(born.Add(-4 * time.Second)), Sampled: true, SampleAge: time.Second}, "", true},
		"a sample from before":          {born.Add(10 * time.Second), signal.Pod{Sampled: true, SampleAge: 20 * time.Second}, "", false},
		"a sample, no start":            {born.Add(time.Minute), signal.Pod{Sampled: true, SampleAge: 20 * time.Second}, "", true},
		"no sample":                     {born.Add(time.Minute), signal.Pod{}, "", true},
		"another pod's":                 {born.Add(time.Minute), signal.Pod{ProcessStartSeconds: at(epoch), Sampled: true, SampleAge: time.Second}, "shop-1", true},
	} {
		key := "shop-0"
		if test.other != "" {
			key = test.other
		}
		window := &signal.Window{End: test.end, Pods: map[string]signal.Pod{key: test.pod}}
		_, kept := withoutPredecessors(window, pods).Pods[key]
		if kept != test.kept || len(window.Pods) != 1 {
			t.Errorf("%s: kept %t; the window itself has %d pods", name, kept, len(window.Pods))
		}
	}
	if withoutPredecessors(nil, pods) != nil {
		t.Error("no window became one")
	}
}
