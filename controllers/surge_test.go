package controllers

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
)

func surging(policy *v1alpha1.RuntimeTuningPolicy) {
	policy.Spec.Rollout.Replacement = v1alpha1.ReplacementSurge
}

func (w *world) serving() int {
	count := 0
	for _, pod := range w.pods() {
		if pod.DeletionTimestamp == nil && len(pod.Status.Conditions) > 0 && pod.Status.Conditions[0].Status == corev1.ConditionTrue {
			count++
		}
	}
	return count
}

// handedOver are the pods that the Deployment itself controls.
func (w *world) handedOver() []corev1.Pod {
	var found []corev1.Pod
	for _, pod := range w.pods() {
		if controller := metav1.GetControllerOf(&pod); controller != nil && controller.Kind == "Deployment" {
			found = append(found, pod)
		}
	}
	return found
}

// nothingLeft fails where a pod is handed over, or to be dropped first.
func (w *world) nothingLeft() {
	w.t.Helper()
	if pods := w.handedOver(); len(pods) > 0 {
		w.t.Errorf("pod %s is left over", pods[0].Name)
	}
	for _, pod := range w.pods() {
		if pod.Annotations[corev1.PodDeletionCost] != "" {
			w.t.Errorf("pod %s still has a deletion cost", pod.Name)
		}
	}
}

// neverBelow fails where fewer pods serve after any write of the manager.
func (w *world) neverBelow(replicas int) {
	w.lens.after = func() error {
		if serving := w.serving(); serving < replicas {
			w.t.Errorf("I6: %d of %d pods serve", serving, replicas)
		}
		return nil
	}
}

// TestI6SurgeKeepsCapacity: a whole trial, promoted, and its restore after deletion take no pod down before its successor is up.
func TestI6SurgeKeepsCapacity(t *testing.T) {
	w := inAuto(t, surging)
	w.neverBelow(6)
	policy := w.run(ended)
	if policy.Status.History[0].Result != v1alpha1.TrialPromoted || w.running("35") != 6 {
		t.Fatalf("it ended with %s", dump(policy.Status))
	}
	if target := policy.Status.Target; target.Replacement != v1alpha1.ReplacementSurge || target.ReplacementReason != "" {
		t.Errorf("status.target is %s", dump(target))
	}
	w.rest()
	w.nothingLeft()
	w.delete()
	w.runGone()
	w.nothingLeft()
	if len(w.pods()) != 6 || w.running("25") != 6 {
		t.Errorf("pods %v", w.gogc())
	}
}

// TestOneReplica: one pod is tried, recommended, approved by a person and promoted, and always one serves.
func TestOneReplica(t *testing.T) {
	w := newWorld(t)
	w.deploy(1)
	w.policy(surging)
	w.pass(10 * time.Minute)
	w.neverBelow(1)
	policy := w.run(ended)
	if policy.Status.History[0].Result != v1alpha1.TrialRecommended || policy.Status.Recommendation == nil {
		t.Fatalf("it ended with %s", dump(policy.Status))
	}
	w.edit(func(policy *v1alpha1.RuntimeTuningPolicy) {
		policy.Spec.Approved = &policy.Status.Recommendation.Settings
	})
	w.pass(10 * time.Minute)
	w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool {
		return ended(policy) && policy.Status.History[0].Result == v1alpha1.TrialPromoted
	})
	w.rest()
	w.nothingLeft()
	if len(w.pods()) != 1 || w.running("35") != 1 {
		t.Errorf("pods %v", w.gogc())
	}
}

// TestOneReplicaEvicted: where a single pod can't surge, it is left alone, and the policy says why.
func TestOneReplicaEvicted(t *testing.T) {
	w := newWorld(t)
	port := app("25")
	port.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	w.deploy(1, port)
	w.policy(surging)
	w.pass(10 * time.Minute)
	policy := w.rest()
	if reasonOf(policy) != v1alpha1.ReasonTooFewReplicas || policy.Status.Target.Replacement != v1alpha1.ReplacementEvict || policy.Status.Target.ReplacementReason == "" {
		t.Errorf("status %s", dump(policy.Status))
	}
}

// TestI5ResumeSurge: a manager that is killed at any write leaves no pod handed over, and loses none.
func TestI5ResumeSurge(t *testing.T) {
	for k, reached := 1, 1; k <= reached; k++ {
		w := newWorldInMemory(t)
		w.tune(surging)
		policy := w.runKilled(func(attempt int) (before, after bool) {
			reached = max(reached, attempt)
			return attempt == k, attempt == k+1
		})
		if policy.Status.History[0].Result != v1alpha1.TrialPromoted {
			t.Errorf("it ended with %s", dump(policy.Status))
		}
		w.lens.before, w.lens.after = nil, nil
		w.rest()
		w.nothingLeft()
		if len(w.pods()) != 6 || w.running("35") != 6 {
			t.Errorf("pods %v", w.gogc())
		}
		if t.Failed() {
			t.Fatalf("killed at write %d", k)
		}
	}
}

// whileHandedOver runs a trial until a pod is handed over whose successor does not get ready.
func whileHandedOver(t *testing.T) *world {
	t.Helper()
	w := newWorldInMemory(t)
	w.tune(surging)
	w.kubelet = func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }
	w.run(func(*v1alpha1.RuntimeTuningPolicy) bool { return len(w.handedOver()) > 0 })
	return w
}

func (w *world) currentSet() *appsv1.ReplicaSet {
	w.t.Helper()
	set := &appsv1.ReplicaSet{}
	w.must(w.server.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: target + "-5d9c"}, set))
	return set
}

// replaceSet ends a rollout: the pods of the old ReplicaSet are gone, but for those that it does not know of.
func (w *world) replaceSet() {
	w.t.Helper()
	deployment, old := w.getDeployment(), w.currentSet()
	deployment.Annotations["deployment.kubernetes.io/revision"] = "2"
	w.must(w.server.Update(w.t.Context(), deployment))
	old.Spec.Replicas = ptr.To[int32](0)
	w.must(w.server.Update(w.t.Context(), old))
	w.replicaSet(deployment, "7f8b", "2")
	w.settled(deployment)
	w.settle()
}

// allReady lets pods get ready again, those that are there and those to come.
func (w *world) allReady() {
	w.kubelet = nil
	for _, pod := range w.pods() {
		w.ready(&pod, corev1.ConditionTrue)
	}
}

// TestWaysOutOfSurge: whatever happens while a pod is handed over, it is finished or given back, and none is lost or left over.
func TestWaysOutOfSurge(t *testing.T) {
	scale := func(replicas int32) func(*world) {
		return func(w *world) {
			deployment := w.getDeployment()
			deployment.Spec.Replicas = ptr.To(replicas)
			w.must(w.server.Update(w.t.Context(), deployment))
			set := w.currentSet()
			set.Spec.Replicas = ptr.To(replicas)
			w.must(w.server.Update(w.t.Context(), set))
			w.settled(deployment)
			w.settle()
		}
	}
	for name, test := range map[string]struct {
		do   func(*world)
		pods int
	}{
		"the successor never gets ready": {func(*world) {}, 6},
		"it gets ready late":             {(*world).allReady, 6},
		"scaled to zero":                 {scale(0), 0},
		"scaled down":                    {func(w *world) { w.allReady(); scale(4)(w) }, 4},
		"scaled up":                      {func(w *world) { w.allReady(); scale(8)(w) }, 8},
		"rolled out":                     {func(w *world) { w.allReady(); w.replaceSet() }, 6},
		"paused":                         {func(w *world) { w.allReady(); w.pauseRollout() }, 6},
		"suspended":                      {func(w *world) { w.edit(suspending(v1alpha1.SuspendRevert)) }, 6},
		"mode Observe":                   {func(w *world) { w.edit(inMode(v1alpha1.ModeObserve)) }, 6},
		"a manager that starts anew":     {func(w *world) { w.restart(); w.allReady() }, 6},
	} {
		t.Run(name, func(t *testing.T) {
			w := whileHandedOver(t)
			test.do(w)
			started := w.clock.Now()
			for len(w.handedOver()) > 0 && w.clock.Now().Sub(started) < 2*rollout.ProgressDeadline {
				w.pass(w.mustTurn().RequeueAfter)
			}
			w.allReady()
			for range 60 {
				w.pass(w.mustTurn().RequeueAfter)
			}
			w.nothingLeft()
			if len(w.pods()) != test.pods || w.serving() != test.pods {
				t.Errorf("%d pods, %d serve, want %d", len(w.pods()), w.serving(), test.pods)
			}
		})
	}
}

// TestDeletionWhileHandedOver: the policy goes only when no pod is handed over, with either deletion policy.
func TestDeletionWhileHandedOver(t *testing.T) {
	for _, deletion := range []v1alpha1.DeletionPolicy{v1alpha1.DeletionRestore, v1alpha1.DeletionKeep} {
		t.Run(string(deletion), func(t *testing.T) {
			w := whileHandedOver(t)
			w.edit(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.DeletionPolicy = deletion })
			w.allReady()
			w.delete()
			w.runGone()
			w.nothingLeft()
			if len(w.pods()) != 6 || w.running("25") != 6 {
				t.Errorf("pods %v", w.gogc())
			}
		})
	}
}

// TestKeepAfterRestoreBegan: with no trial to revert, too, what Restore began with a pod comes to its end before the policy goes.
func TestKeepAfterRestoreBegan(t *testing.T) {
	w := inAuto(t, surging)
	w.run(ended)
	w.rest()
	w.kubelet = func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }
	w.delete()
	w.run(func(*v1alpha1.RuntimeTuningPolicy) bool { return len(w.handedOver()) > 0 })
	w.edit(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.DeletionPolicy = v1alpha1.DeletionKeep })
	w.mustTurn()
	w.get() // it is still there
	w.allReady()
	w.runGone()
	w.nothingLeft()
	if len(w.pods()) != 6 || w.running("35") != 5 || w.running("25") != 1 {
		t.Errorf("pods %v", w.gogc())
	}
}

// TestEvictionBlocked: a refusal that does not end is told with its cure, after five minutes and not before; it is asked for ever more rarely.
func TestEvictionBlocked(t *testing.T) {
	for name, refusal := range map[string]error{
		"a budget":    apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0),
		"two budgets": apierrors.NewInternalError(errors.New("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldInMemory(t)
			w.tune(nil)
			w.run(ended)
			asked := 0
			w.lens.evicting = func() error { asked++; return refusal }
			w.delete() // and restore
			started := w.clock.Now()
			for reasonOf(w.get()) != v1alpha1.ReasonEvictionBlocked && w.clock.Now().Sub(started) < time.Hour {
				w.pass(w.mustTurn().RequeueAfter)
			}
			policy, took := w.get(), w.clock.Now().Sub(started)
			if message := dump(policy.Status.Conditions); took < blockedDeadline || took > blockedDeadline+time.Minute || !strings.Contains(message, "isruption") {
				t.Errorf("after %s: %s", took, message)
			}
			if asked > 20 {
				t.Errorf("%d times an eviction was asked for in %s", asked, took)
			}
			w.lens.evicting = nil
			w.runGone()
		})
	}
}

// TestForcedInRevert: a canary pod that is not ready is deleted where its eviction is refused, and no other pod is.
func TestForcedInRevert(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	w.run(slotsTaken)
	w.lens.evicting = func() error { return apierrors.NewTooManyRequests("the budget", 0) }
	for _, pod := range w.pods() {
		if envOf(&pod, "GOGC") == "35" {
			w.ready(&pod, corev1.ConditionFalse)
			break
		}
	}
	w.edit(suspending(v1alpha1.SuspendRevert))
	w.run(inStage(v1alpha1.StageReverting))
	for range 5 {
		w.pass(w.mustTurn().RequeueAfter)
	}
	if got := w.running("35"); got != 2 {
		t.Errorf("%d canary pods are left, want the 2 that are ready: %v", got, w.gogc())
	}
}
