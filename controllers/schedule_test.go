package controllers

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/fleet"
)

func readyMessage(policy *v1alpha1.RuntimeTuningPolicy) string {
	if ready := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.Message
	}
	return ""
}

// inWindow is open from an hour after now on, for an hour.
func inWindow(now time.Time) func(*v1alpha1.RuntimeTuningPolicy) {
	return func(policy *v1alpha1.RuntimeTuningPolicy) {
		policy.Spec.Schedule.Windows = []v1alpha1.MaintenanceWindow{{
			TimeZone: "UTC", Start: now.UTC().Add(time.Hour).Format("15:04"), Duration: *seconds(3600),
		}}
	}
}

// TestWindows: a trial starts in a window, is held once it closes, and goes on in the next.
func TestWindows(t *testing.T) {
	w := newWorld(t)
	w.clock.SetTime(w.clock.Now().Truncate(time.Minute))
	w.deploy(6)
	now := w.clock.Now()
	w.policy(inWindow(now))
	w.pass(10 * time.Minute)
	policy := w.rest()
	opening := now.UTC().Add(time.Hour)
	if reasonOf(policy) != v1alpha1.ReasonOutsideWindow || !strings.Contains(readyMessage(policy), opening.Format(time.RFC3339)) {
		t.Fatalf("it waits as %s", dump(policy.Status.Conditions))
	}
	w.clock.SetTime(opening.Add(time.Minute))
	w.run(slotsTaken)
	w.clock.SetTime(opening.Add(time.Hour))
	for range 50 {
		w.pass(w.mustTurn().RequeueAfter)
	}
	if policy := w.get(); !inStage(v1alpha1.StageCanary)(policy) || !strings.Contains(readyMessage(policy), "outside of spec.schedule.windows") || w.running("35") != 3 {
		t.Fatalf("outside of the window it is %s", dump(policy.Status))
	}
	w.clock.SetTime(opening.Add(24 * time.Hour))
	if policy := w.run(ended); policy.Status.History[0].Result != v1alpha1.TrialPromoted {
		t.Errorf("it ended with %s", dump(policy.Status.History[0]))
	}
}

// TestI3FailFastOutsideWindow: a breach reverts at once, whatever the window, the fleet's stop or the budget.
func TestI3FailFastOutsideWindow(t *testing.T) {
	w := newWorldInMemory(t)
	limits := w.inFleet()
	w.tune(nil)
	w.run(slotsTaken)
	now := w.clock.Now()
	w.edit(inWindow(now))
	w.edit(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Schedule.ReplacementsPerWeek = 1 })
	limits.Stop = fleet.StopHold
	w.prometheus.alter = breach("35")
	policy := w.run(ended)
	if policy.Status.History[0].Reason != v1alpha1.ReasonLatencyBreached || w.running("25") != 6 || w.clock.Now().Sub(now) > 5*time.Minute {
		t.Errorf("after %s it ended with %s", w.clock.Now().Sub(now), dump(policy.Status.History[0]))
	}
}

func TestUnknownTimeZone(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(func(policy *v1alpha1.RuntimeTuningPolicy) {
		inWindow(time.Now())(policy)
		policy.Spec.Schedule.Windows[0].TimeZone = "Europe/Atlantis"
	})
	if policy := w.rest(); reasonOf(policy) != v1alpha1.ReasonInvalidSpec || !strings.Contains(readyMessage(policy), "Europe/Berlin") {
		t.Errorf("it is %s", dump(policy.Status.Conditions))
	}
}

// TestReplacementBudget: what was replaced is counted, and the next trial waits until all that it takes fits.
func TestReplacementBudget(t *testing.T) {
	w := newWorld(t)
	w.tune(func(policy *v1alpha1.RuntimeTuningPolicy) {
		policy.Spec.Schedule.ReplacementsPerWeek, policy.Spec.Schedule.Cooldown = 10, seconds(0)
	})
	w.run(ended)
	w.pass(10 * time.Minute)
	policy := w.rest()
	total := 0
	for _, day := range policy.Status.Replacements {
		total += int(day.Count)
	}
	if total != 9 {
		t.Errorf("%d replacements are counted, want 3 canary pods, 3 control pods and 3 that followed: %s", total, dump(policy.Status.Replacements))
	}
	if reasonOf(policy) != v1alpha1.ReasonReplacementBudgetSpent || policy.Status.Trials != 1 || !strings.Contains(readyMessage(policy), "9 pods were replaced") {
		t.Fatalf("it waits as %s", dump(policy.Status.Conditions))
	}
	w.pass(9 * 24 * time.Hour)
	w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool { return policy.Status.Trials == 2 })
	w.edit(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Schedule.ReplacementsPerWeek = 1 })
	w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool { return policy.Status.Trial == nil })
	w.pass(10 * time.Minute)
	if policy := w.rest(); reasonOf(policy) != v1alpha1.ReasonReplacementBudgetSpent || !strings.Contains(readyMessage(policy), "raise it") {
		t.Errorf("a budget that no trial fits is %s", dump(policy.Status.Conditions))
	}
}

// inFleet gives the manager limits to change.
func (w *world) inFleet() *fleet.Limits {
	limits := fleet.Defaults()
	w.reconciler.Fleet = fleetOf(func() fleet.Limits { return limits })
	return &limits
}

type fleetOf func() fleet.Limits

func (f fleetOf) Limits() fleet.Limits { return f() }

// TestFleetStop: one line of the manager's configuration holds or reverts all trials, without a restart.
func TestFleetStop(t *testing.T) {
	w := newWorld(t)
	limits := w.inFleet()
	limits.Stop = fleet.StopHold
	w.tune(nil)
	if policy := w.rest(); reasonOf(policy) != v1alpha1.ReasonFleetStopped || policy.Status.Trials != 0 {
		t.Fatalf("it starts: %s", dump(policy.Status))
	}
	limits.Stop = fleet.StopNone
	w.run(slotsTaken)
	limits.Stop, limits.Fault = fleet.StopHold, "the manager's configuration: trials.stop is \"off\""
	for range 50 {
		w.pass(w.mustTurn().RequeueAfter)
	}
	if policy := w.get(); !inStage(v1alpha1.StageCanary)(policy) || !strings.Contains(readyMessage(policy), limits.Fault) {
		t.Fatalf("it is not held: %s", dump(policy.Status))
	}
	limits.Stop, limits.Fault = fleet.StopRevert, ""
	policy := w.run(ended)
	if record := policy.Status.History[0]; record.Reason != v1alpha1.ReasonFleetStopped || len(policy.Status.Rejected) > 0 || w.running("25") != 6 {
		t.Errorf("it ended with %s", dump(record))
	}
}

// TestTooManyTrials: a trial waits while as many run as may, told by the API server or admitted by this manager a moment ago.
func TestTooManyTrials(t *testing.T) {
	w := newWorld(t)
	limits := w.inFleet()
	limits.PerNamespace = 1
	other := newPolicy("other")
	other.Namespace, other.Spec.TargetRef.Name = w.namespace, "other"
	w.must(w.create(other))
	running := v1alpha1.Trial{Number: 1, Stage: v1alpha1.StageCanary, StartedAt: other.CreationTimestamp, StepStartedAt: other.CreationTimestamp, Revision: "x"}
	running.Previous.Source = v1alpha1.BaselineDeclared
	other.Status.Trial = &running
	w.must(w.server.Status().Update(t.Context(), other))
	w.tune(nil)
	policy := w.rest()
	if reasonOf(policy) != v1alpha1.ReasonTooManyTrials || !strings.Contains(readyMessage(policy), "1 trials run in namespace "+w.namespace+", of 1") {
		t.Fatalf("it waits as %s", dump(policy.Status.Conditions))
	}
	other.Status.Trial = nil
	w.must(w.server.Status().Update(t.Context(), other))
	admitted := client.ObjectKeyFromObject(other)
	w.reconciler.admissions.admitted = map[types.NamespacedName]bool{admitted: true}
	if policy := w.rest(); reasonOf(policy) != v1alpha1.ReasonTooManyTrials {
		t.Fatalf("one that was just admitted does not count: %s", dump(policy.Status.Conditions))
	}
	w.reconciler.admissions.saw(admitted, false)
	w.run(slotsTaken)
}

// TestDeploysTooFrequent: after three trials that a deploy ended, the next waits for a time without one that is as long as a trial.
func TestDeploysTooFrequent(t *testing.T) {
	w := newWorldInMemory(t)
	superseded := v1alpha1.TrialRecord{Number: 1, Result: v1alpha1.TrialReverted, Reason: v1alpha1.ReasonSuperseded, Message: "the target has a new revision"}
	w.deploy(6)
	w.policy(func(policy *v1alpha1.RuntimeTuningPolicy) {
		policy.Spec.Rollout.Steps[0].Hold = seconds(3600)
		superseded.EndedAt.Time, superseded.StartedAt.Time = w.clock.Now(), w.clock.Now()
		policy.Status.History = []v1alpha1.TrialRecord{superseded, superseded, superseded}
		policy.Status.Trials = 3
	})
	w.pass(30 * time.Minute)
	policy := w.rest()
	if reasonOf(policy) != v1alpha1.ReasonDeploysTooFrequent || !strings.Contains(readyMessage(policy), "1h0m20s at the least") {
		t.Fatalf("it waits as %s", dump(policy.Status.Conditions))
	}
	w.pass(31 * time.Minute)
	w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool { return policy.Status.Trials == 4 })
}

// resize the target, as an autoscaler does, all settled.
func (w *world) resize(replicas int32) {
	w.t.Helper()
	deployment := w.getDeployment()
	deployment.Spec.Replicas = ptr.To(replicas)
	w.must(w.server.Update(w.t.Context(), deployment))
	set := replicaSets.DeepCopy()
	w.must(w.server.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: target + "-5d9c"}, set))
	set.Spec.Replicas = ptr.To(replicas)
	w.must(w.server.Update(w.t.Context(), set))
	for i, pod := range w.pods() {
		if i >= int(replicas) {
			w.must(w.server.Delete(w.t.Context(), &pod))
		}
	}
	w.settled(deployment)
	w.settle()
}

// TestStableReplicas: no trial starts while an autoscaler goes up and down.
func TestStableReplicas(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Suspend = v1alpha1.SuspendHold })
	w.rest()
	since := w.clock.Now().UTC().Add(90 * time.Second)
	for i := range 8 {
		w.resize(int32(6 + i%2))
		w.mustTurn()
		w.pass(90 * time.Second)
	}
	w.edit(suspending(v1alpha1.SuspendNone))
	policy := w.rest()
	if reasonOf(policy) != v1alpha1.ReasonWaitingForStableReplicas || !strings.Contains(readyMessage(policy), "since "+since.Truncate(time.Second).Format(time.RFC3339)) ||
		!strings.Contains(readyMessage(policy), "more than 10m0s") {
		t.Fatalf("it waits as %s", dump(policy.Status.Conditions))
	}
	w.pass(time.Minute)
	w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool { return policy.Status.Trials == 1 })
}

// TestScaledToZero: a trial ends as Superseded, and after the scale-up all pods are born with the baseline and the next trial starts.
func TestScaledToZero(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Schedule.Cooldown = seconds(0) })
	w.run(slotsTaken)
	w.resize(0)
	policy := w.run(ended)
	if policy.Status.History[0].Reason != v1alpha1.ReasonSuperseded || len(policy.Status.Rejected) > 0 {
		t.Fatalf("it ended with %s", dump(policy.Status.History[0]))
	}
	w.resize(6)
	if w.running("25") != 6 {
		t.Errorf("the pods run %v", w.gogc())
	}
	w.pass(10 * time.Minute)
	if policy := w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool { return policy.Status.Trials == 2 && ended(policy) }); policy.Status.History[0].Result != v1alpha1.TrialPromoted {
		t.Errorf("the next ended with %s", dump(policy.Status.History[0]))
	}
}

// TestResized: pods of another size than the template's are not measured, and where none other is left Ready says so.
func TestResized(t *testing.T) {
	w := newWorldInMemory(t)
	container := app("25")
	container.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	w.deploy(6, container)
	w.policy(inMode(v1alpha1.ModeRecommend))
	w.pass(10 * time.Minute)
	pods := w.pods()
	for i := range pods {
		pods[i].Spec.Containers[0].Resources.Limits[corev1.ResourceMemory] = resource.MustParse("512Mi")
		w.must(w.server.Update(t.Context(), &pods[i]))
		if i == 0 {
			if policy := w.rest(); reasonOf(policy) != v1alpha1.ReasonRecommended {
				t.Fatalf("with one resized pod it is %s", dump(policy.Status.Conditions))
			}
		}
	}
	w.pass(time.Minute)
	if policy := w.rest(); reasonOf(policy) != v1alpha1.ReasonResized || !strings.Contains(readyMessage(policy), "declare the limit") {
		t.Errorf("it is %s", dump(policy.Status.Conditions))
	}
}

// TestConflictEnds: the younger of two policies waits, and takes over once the older is gone.
func TestConflictEnds(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	w.olderPolicy()
	if policy := w.rest(); reasonOf(policy) != v1alpha1.ReasonConflicted || policy.Status.Trials != 0 {
		t.Fatalf("it is %s", dump(policy.Status.Conditions))
	}
	older := newPolicy("older")
	older.Namespace = w.namespace
	w.must(w.server.Delete(t.Context(), older))
	w.run(slotsTaken)
}

// TestRenamedTarget: a target that comes under another name leaves the policy without one, and the new pods are born as declared.
func TestRenamedTarget(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	w.run(ended)
	ctx := t.Context()
	w.must(w.server.DeleteAllOf(ctx, replicaSets, client.InNamespace(w.namespace)))
	w.must(w.server.Delete(ctx, w.getDeployment()))
	w.must(w.server.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(w.namespace)))
	w.deployment("checkout-v2", 6)
	w.settle()
	if policy := w.rest(); reasonOf(policy) != v1alpha1.ReasonTargetNotFound || w.running("25") != 6 {
		t.Errorf("it is %s; the pods run %v", dump(policy.Status.Conditions), w.gogc())
	}
	w.delete()
	w.runGone()
}

// TestMovedContainer: a promoted baseline of one container is void once the policy names another.
func TestMovedContainer(t *testing.T) {
	w := newWorldInMemory(t)
	w.deploy(6, app("25"), corev1.Container{Name: "other", Image: "other"})
	w.policy(naming("app"))
	w.pass(10 * time.Minute)
	w.run(ended)
	w.edit(naming("other"))
	w.mustTurn()
	policy := w.get()
	if policy.Status.Baseline.Source != v1alpha1.BaselineDeclared || policy.Status.Target.Container != "other" || w.recorder.count(v1alpha1.EventBaselineVoid) != 1 {
		t.Errorf("it is %s", dump(policy.Status))
	}
}
