package controllers

import (
	"fmt"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
)

func TestRepairsBackOff(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	policy, other := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	born := func(at time.Time) []rollout.Pod {
		return []rollout.Pod{{CreatedAt: noon.Add(-time.Hour)}, {CreatedAt: at}}
	}
	old := born(noon.Add(-time.Minute))
	t.Run("successors are good", func(t *testing.T) {
		var r repairs
		for i := range 5 {
			at := noon.Add(time.Duration(i) * firstRepair)
			if !r.due(policy, at, old) || r.due(policy, at.Add(firstRepair-time.Second), old) {
				t.Errorf("repair %d does not come after exactly %s", i, firstRepair)
			}
		}
	})
	t.Run("successors lack it too", func(t *testing.T) {
		var r repairs
		at, wait := noon, firstRepair
		if !r.due(policy, at, old) {
			t.Fatal("the first is not due")
		}
		for range 12 {
			wait = min(2*wait, mostRepair)
			drifted := born(at) // in the second of the eviction
			if r.due(policy, at.Add(wait-time.Second), drifted) {
				t.Errorf("due before %s", wait)
			}
			if at = at.Add(wait); !r.due(policy, at, drifted) {
				t.Errorf("not due after %s", wait)
			}
		}
		if wait != mostRepair {
			t.Errorf("the wait ends at %s", wait)
		}
		if !r.due(policy, at.Add(firstRepair), old) {
			t.Error("admission works again, and the wait does not end")
		}
	})
	t.Run("policies apart", func(t *testing.T) {
		var r repairs
		if !r.due(policy, noon, old) || !r.due(other, noon, old) {
			t.Error("one policy's repair keeps another waiting")
		}
		r.forget(policy)
		if !r.due(policy, noon, old) || len(r.last) != 2 {
			t.Errorf("a policy that is gone is remembered: %v", r.last)
		}
	})
}

// promotedAt150 is a policy whose baseline was promoted on GOGC=25.
func promotedAt150(policy *v1alpha1.RuntimeTuningPolicy) {
	policy.Status.Baseline = promotedBaseline(150, 25)
	policy.Status.Target = &v1alpha1.TargetStatus{Container: "app", Footing: policy.Status.Baseline.Footing}
}

// TestRepair: pods that were born while admission was down are replaced, one at a time, and the world is left alone where that helps
// nothing.
func TestRepair(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(promotedAt150)
	for repaired := 1; repaired <= 6; repaired++ {
		policy := w.get()
		w.mustTurn()
		if w.running("150") != repaired {
			t.Fatalf("repair %d: %v; status %s", repaired, w.gogc(), dump(policy.Status))
		}
		w.mustTurn()
		if w.running("150") != repaired {
			t.Fatalf("two repairs at a time: %v", w.gogc())
		}
		w.pass(firstRepair)
	}
	if got := w.recorder.count(v1alpha1.EventPodRepaired); got != 6 {
		t.Errorf("%d events of 6 repairs", got)
	}
}

func TestRepairChurnsNot(t *testing.T) {
	w := newWorldInMemory(t)
	w.withoutAdmission = true
	w.tune(promotedAt150)
	before := w.clock.Now()
	for w.clock.Now().Sub(before) < time.Hour {
		w.pass(w.mustTurn().RequeueAfter)
	}
	if got := w.recorder.count(v1alpha1.EventPodRepaired); got < 3 || got > 8 {
		t.Errorf("%d pods were replaced in an hour in vain", got)
	}
	if policy := w.get(); reasonOf(policy) != v1alpha1.ReasonRepairing {
		t.Errorf("Ready is %s", reasonOf(policy))
	}
}

func TestRepairKeepsAway(t *testing.T) {
	for name, change := range map[string]struct {
		policy func(*v1alpha1.RuntimeTuningPolicy)
		world  func(*world)
		reason string
	}{
		"mode Recommend": {policy: inMode(v1alpha1.ModeRecommend), reason: v1alpha1.ReasonRecommended},
		"suspended":      {policy: suspending(v1alpha1.SuspendHold), reason: v1alpha1.ReasonSuspended},
		"rolling out":    {world: (*world).pauseRollout, reason: v1alpha1.ReasonWaitingForTarget},
		"scaling":        {world: func(w *world) { w.showReplicas(5) }, reason: v1alpha1.ReasonRepairing},
		"pods down":      {world: (*world).oneDown, reason: v1alpha1.ReasonRepairing},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldInMemory(t)
			w.tune(func(policy *v1alpha1.RuntimeTuningPolicy) {
				promotedAt150(policy)
				if change.policy != nil {
					change.policy(policy)
				}
			})
			if change.world != nil {
				change.world(w)
			}
			pods := w.versions()
			for range 5 {
				w.pass(w.mustTurn().RequeueAfter)
			}
			if !maps.Equal(pods, w.versions()) {
				t.Errorf("a pod was touched; status %s", dump(w.get().Status))
			}
			if got := reasonOf(w.get()); got != change.reason {
				t.Errorf("Ready is %s, want %s", got, change.reason)
			}
		})
	}
}

func (w *world) pauseRollout() {
	deployment := w.getDeployment()
	deployment.Spec.Paused = true
	w.must(w.server.Update(w.t.Context(), deployment))
}

// oneDown takes the budget of maxUnavailable with a pod that runs what it should.
func (w *world) oneDown() {
	pod := w.pods()[0]
	pod.Spec.Containers[0].Env[1].Value = "150"
	w.must(w.server.Update(w.t.Context(), &pod))
	w.ready(&pod, corev1.ConditionFalse)
}

// TestBaselineVoid: where Git declares something else than what the promotion rested on, Git wins, and that is told once.
func TestBaselineVoid(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(func(policy *v1alpha1.RuntimeTuningPolicy) {
		promotedAt150(policy)
		policy.Spec.Suspend = v1alpha1.SuspendHold
	})
	if policy := w.rest(); policy.Status.Baseline.Source != v1alpha1.BaselinePromoted {
		t.Fatalf("the baseline is %s", dump(policy.Status.Baseline))
	}
	w.rollOut(func(template *corev1.PodTemplateSpec) { template.Spec.Containers[0].Env[1].Value = "80" })
	for range 3 {
		w.rest()
	}
	policy := w.get()
	if baseline := policy.Status.Baseline; baseline.Source != v1alpha1.BaselineDeclared || baseline.Settings.GOGC.IntValue() != 80 {
		t.Errorf("the baseline is %s", dump(baseline))
	}
	if fmt.Sprint(w.recorder.count(v1alpha1.EventBaselineVoid), w.running("80")) != "1 6" {
		t.Errorf("events %v, pods %v", w.recorder.events, w.gogc())
	}
}

// TestBaselineOutlivesStaleCache: a cache that lags behind the API server voids nothing.
func TestBaselineOutlivesStaleCache(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(func(policy *v1alpha1.RuntimeTuningPolicy) {
		promotedAt150(policy)
		policy.Spec.Suspend = v1alpha1.SuspendHold
	})
	stale := newWorldInMemory(t)
	stale.namespace = w.namespace
	stale.deploy(6, app("99"))
	w.reconciler.Client = writingTo{Client: w.client(), reader: stale.client()}
	if policy := w.rest(); policy.Status.Baseline.Source != v1alpha1.BaselinePromoted || len(w.recorder.events) > 0 {
		t.Errorf("the baseline is %s, events %v", dump(policy.Status.Baseline), w.recorder.events)
	}
}
