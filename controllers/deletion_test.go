package controllers

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/signal/prometheus"
)

// runGone turns until the policy is gone, and returns how long that took.
func (w *world) runGone() time.Duration {
	w.t.Helper()
	started := w.clock.Now()
	for range mostTurns {
		err := w.server.Get(w.t.Context(), w.key(), &v1alpha1.RuntimeTuningPolicy{})
		if apierrors.IsNotFound(err) {
			w.mustTurn() // the look that its end wakes
			return w.clock.Now().Sub(started)
		}
		w.must(err)
		w.pass(w.mustTurn().RequeueAfter)
	}
	w.t.Fatalf("the policy stays; status %s", dump(w.get().Status))
	return 0
}

func TestDeletion(t *testing.T) {
	promoted := ended
	keep := func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.DeletionPolicy = v1alpha1.DeletionKeep }
	tests := map[string]struct {
		policy func(*v1alpha1.RuntimeTuningPolicy)
		after  func(*v1alpha1.RuntimeTuningPolicy) bool
		world  func(*world)
		// tuned is how many pods run the candidate in the end.
		tuned int
		// bound says that it waits until no admitted pod is on its way.
		bound bool
	}{
		"nothing happened yet":        {after: func(policy *v1alpha1.RuntimeTuningPolicy) bool { return policy.Status.Baseline != nil }},
		"restore":                     {after: promoted, bound: true},
		"keep":                        {policy: keep, after: promoted, tuned: 6},
		"restore in a trial":          {after: slotsTaken, bound: true},
		"keep in a trial":             {policy: keep, after: slotsTaken, bound: true},
		"restore in the waves":        {after: inStage(v1alpha1.StagePromoting), bound: true},
		"restore without a provider":  {after: promoted, world: func(w *world) { w.prometheus.unknownProvider = prometheus.ErrUnknownProvider }, bound: true},
		"trial without a provider":    {after: slotsTaken, world: func(w *world) { w.prometheus.unknownProvider = prometheus.ErrUnknownProvider }, bound: true},
		"restore without a container": {after: promoted, world: func(w *world) { w.edit(func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Container = "other" }) }, bound: true},
		"restore under an older CRD":  {after: promoted, world: func(w *world) { w.lens.stored = withoutInterval }, bound: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorldInMemory(t)
			w.tune(test.policy)
			w.run(test.after)
			if test.world != nil {
				test.world(w)
			}
			w.delete()
			took := w.runGone()
			if got := w.running("35"); got != test.tuned {
				t.Errorf("%d pods run the candidate, want %d: %v", got, test.tuned, w.gogc())
			}
			if waited := took >= rollout.AdmissionBound; waited != test.bound {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestDeletionOfTarget: with the target gone there is nothing to restore.
func TestDeletionOfTarget(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	w.run(ended)
	w.must(w.server.Delete(t.Context(), w.getDeployment()))
	w.delete()
	if took := w.runGone(); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

// TestDeletionRace: a pod that a webhook with an old cache gave the baseline in the last moment is restored too.
func TestDeletionRace(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	w.run(ended)
	w.delete()
	late := false
	w.kubelet = nil
	for range 10 {
		w.pass(w.mustTurn().RequeueAfter)
		if w.running("35") == 0 && !late {
			late = true
			w.giveLate("35")
		}
	}
	if !late {
		t.Fatal("the pods were not restored")
	}
	w.runGone()
	if got := w.running("35"); got != 0 {
		t.Errorf("%d pods run the candidate: %v", got, w.gogc())
	}
}

// giveLate puts a pod with settings in the place of one without.
func (w *world) giveLate(gogc string) {
	w.t.Helper()
	old := w.pods()[0]
	pod := old.DeepCopy()
	w.must(w.server.Delete(w.t.Context(), &old))
	pod.ResourceVersion, pod.Name = "", old.Name+"-late"
	pod.Annotations = map[string]string{v1alpha1.AnnotationSettings: "GOGC=" + gogc}
	for i := range pod.Spec.Containers[0].Env {
		if pod.Spec.Containers[0].Env[i].Name == "GOGC" {
			pod.Spec.Containers[0].Env[i].Value = gogc
		}
	}
	w.must(w.create(pod))
	w.lens.see(pod.UID)
}

// TestDeletionOfConflicted: a policy that never ruled takes no pods back, though it has the finalizer.
func TestDeletionOfConflicted(t *testing.T) {
	w := newWorldInMemory(t)
	w.deploy(6)
	w.policyName = "older"
	w.policy(nil)
	w.pass(10 * time.Minute)
	w.run(ended)
	w.policyName = "policy"
	w.policy(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Finalizers = []string{v1alpha1.Finalizer} })
	if policy := w.rest(); reasonOf(policy) != v1alpha1.ReasonConflicted {
		t.Fatalf("Ready is %s", reasonOf(policy))
	}
	w.delete()
	w.runGone()
	if got := w.running("35"); got != 6 {
		t.Errorf("%d pods of the older policy are left: %v", got, w.gogc())
	}
}
