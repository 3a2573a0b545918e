package controllers

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

// inAuto is a world at rest, with a policy in mode Auto.
func inAuto(t *testing.T, change func(*v1alpha1.RuntimeTuningPolicy)) *world {
	t.Helper()
	w := newWorld(t)
	w.tune(change)
	return w
}

func (w *world) tune(change func(*v1alpha1.RuntimeTuningPolicy)) {
	w.t.Helper()
	w.deploy(6)
	w.policy(change)
	w.pass(10 * time.Minute)
}

func ended(policy *v1alpha1.RuntimeTuningPolicy) bool {
	return policy.Status.Trial == nil && len(policy.Status.History) > 0
}

// slotsTaken says that all canary pods of the trial are there.
func slotsTaken(policy *v1alpha1.RuntimeTuningPolicy) bool {
	trial := policy.Status.Trial
	return trial != nil && trial.VerifiedAt != nil
}

func inStage(stage v1alpha1.Stage) func(*v1alpha1.RuntimeTuningPolicy) bool {
	return func(policy *v1alpha1.RuntimeTuningPolicy) bool {
		return policy.Status.Trial != nil && policy.Status.Trial.Stage == stage
	}
}

// TestI7Scope: a trial, promoted and restored, changes pods of its target and its own policy, and nothing else; of pods that stay only
// the cohort label.
func TestI7Scope(t *testing.T) {
	w := newWorld(t)
	w.deployment("checkout-api", 2)
	w.deployment("other", 2)
	w.must(w.create(w.stray("checkout-5d9c-stray", map[string]string{"app": target, "pod-template-hash": "5d9c"})))
	w.must(w.create(w.stray("checkout-debug", map[string]string{"app": target})))
	w.tune(nil)
	template, others := w.getDeployment(), w.foreign()
	if policy := w.run(ended); policy.Status.History[0].Result != v1alpha1.TrialPromoted {
		t.Fatalf("it ended with %s", dump(policy.Status))
	}
	w.delete()
	w.runGone()
	if after := w.getDeployment(); after.ResourceVersion != template.ResourceVersion {
		t.Errorf("the Deployment was written: %s", dump(after))
	}
	if now := w.foreign(); !maps.Equal(others, now) {
		t.Errorf("pods of others were touched: %v before, %v now", others, now)
	}
}

func (w *world) stray(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: objectMeta(w.namespace, name, labels), Spec: corev1.PodSpec{Containers: []corev1.Container{app("25")}}}
}

// foreign are the resource versions of pods that are not the target's.
func (w *world) foreign() map[types.UID]string {
	found := w.versions()
	for _, pod := range w.pods() {
		if len(pod.OwnerReferences) > 0 && pod.OwnerReferences[0].Name == target+"-5d9c" {
			delete(found, pod.UID)
		}
	}
	return found
}

func TestPromotion(t *testing.T) {
	w := inAuto(t, nil)
	finalizerFirst(w)
	policy := w.run(ended)
	record, baseline := policy.Status.History[0], policy.Status.Baseline
	if record.Result != v1alpha1.TrialPromoted || record.Reason != v1alpha1.ReasonPromoted || record.Verdict == nil {
		t.Errorf("the record is %s", dump(record))
	}
	if baseline.Source != v1alpha1.BaselinePromoted || baseline.Settings.GOGC.IntValue() != 35 || baseline.PromotedAt == nil {
		t.Errorf("the baseline is %s", dump(baseline))
	}
	if got := w.running("35"); got != 6 {
		t.Errorf("%d pods run the new baseline, want 6: %v", got, w.gogc())
	}
	for _, pod := range w.pods() {
		if cohort, ok := pod.Labels[v1alpha1.LabelCohort]; ok {
			t.Errorf("pod %s still has the label of cohort %s", pod.Name, cohort)
		}
	}
	w.pass(10 * time.Minute)
	if policy := w.rest(); reasonOf(policy) != v1alpha1.ReasonCooldown {
		t.Errorf("after the trial Ready is %s", reasonOf(policy))
	}
	for _, reason := range []string{v1alpha1.EventTrialStarted, v1alpha1.EventStepStarted, v1alpha1.EventStepPassed, v1alpha1.EventTrialPromoted} {
		if got := w.recorder.count(reason); got != 1 {
			t.Errorf("%d events %s", got, reason)
		}
	}
}

// finalizerFirst fails the test if a slot is written without the finalizer.
func finalizerFirst(w *world) {
	w.lens.written = func(policy *v1alpha1.RuntimeTuningPolicy) {
		if policy.Status.Trial != nil && !controllerutil.ContainsFinalizer(policy, v1alpha1.Finalizer) {
			w.t.Error("a trial was written before the finalizer")
		}
	}
}

// TestRevert: whatever goes wrong, the trial ends with its reason and every pod runs the baseline again.
func TestRevert(t *testing.T) {
	crash := func(pod *corev1.Pod) {
		if envOf(pod, "GOGC") == "35" {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", RestartCount: 2}}
		}
	}
	override := func(_ string, pod *signal.Pod) { pod.GOGCPercent = present(25) }
	noGain := func(_ string, pod *signal.Pod) { pod.GCCPUSeconds = present(0.1 * pod.CPUSeconds.Number) }
	tests := map[string]struct {
		// after is when it goes wrong; at once unless said otherwise.
		after  func(*v1alpha1.RuntimeTuningPolicy) bool
		world  func(*world)
		reason string
	}{
		"breach":                 {world: func(w *world) { w.prometheus.alter = breach("35") }, reason: v1alpha1.ReasonLatencyBreached},
		"shared breach":          {after: slotsTaken, world: func(w *world) { w.prometheus.alter = breach("25", "35") }, reason: v1alpha1.ReasonSharedBreach},
		"breach in the waves":    {after: inStage(v1alpha1.StagePromoting), world: func(w *world) { w.prometheus.alter = breach("35") }, reason: v1alpha1.ReasonLatencyBreached},
		"no data":                {after: slotsTaken, world: answering(errDown), reason: v1alpha1.ReasonNoData},
		"the provider is gone":   {after: slotsTaken, world: func(w *world) { w.prometheus.unknownProvider, w.prometheus.down = errDown, errDown }, reason: v1alpha1.ReasonNoData},
		"overridden in code":     {world: func(w *world) { w.prometheus.alter = override }, reason: v1alpha1.ReasonNotApplied},
		"crash, Prometheus down": {after: inStage(v1alpha1.StageCanary), world: func(w *world) { w.kubelet, w.prometheus.down = crash, errDown }, reason: v1alpha1.ReasonRestarted},
		"no gain":                {after: slotsTaken, world: func(w *world) { w.prometheus.alter = noGain }, reason: v1alpha1.ReasonNoGain},
		"admission is down":      {after: inStage(v1alpha1.StageCanary), world: func(w *world) { w.withoutAdmission = true }, reason: v1alpha1.ReasonNotAdmitted},
		"suspended":              {after: slotsTaken, world: func(w *world) { w.edit(suspending(v1alpha1.SuspendRevert)) }, reason: v1alpha1.ReasonSuspended},
		"mode Recommend":         {after: slotsTaken, world: func(w *world) { w.edit(inMode(v1alpha1.ModeRecommend)) }, reason: v1alpha1.ReasonModeChanged},
		"an older policy":        {after: slotsTaken, world: (*world).olderPolicy, reason: v1alpha1.ReasonSuperseded},
		"an older CRD":           {after: slotsTaken, world: func(w *world) { w.lens.stored = withoutInterval }, reason: v1alpha1.ReasonSuperseded},
		"a new template":         {after: slotsTaken, world: func(w *world) { w.rollOut(func(*corev1.PodTemplateSpec) {}) }, reason: v1alpha1.ReasonSuperseded},
		"another container":      {after: slotsTaken, world: func(w *world) { w.edit(naming("other")) }, reason: v1alpha1.ReasonSuperseded},
		"another in the waves":   {after: inStage(v1alpha1.StagePromoting), world: func(w *world) { w.edit(naming("other")) }, reason: v1alpha1.ReasonSuperseded},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorldInMemory(t)
			w.tune(nil)
			if test.after != nil {
				w.run(test.after)
			}
			test.world(w)
			policy := w.run(ended)
			record := policy.Status.History[0]
			if record.Result != v1alpha1.TrialReverted || record.Reason != test.reason {
				t.Errorf("it ended with %s, want %s", dump(record), test.reason)
			}
			if w.running("25") != 6 || policy.Status.Baseline.Source != v1alpha1.BaselineDeclared {
				t.Errorf("the pods run %v, the baseline is %s", w.gogc(), dump(policy.Status.Baseline))
			}
			if w.recorder.count(v1alpha1.EventTrialReverted) != 1 {
				t.Errorf("events: %v", w.recorder.events)
			}
		})
	}
}

func suspending(how v1alpha1.Suspend) func(*v1alpha1.RuntimeTuningPolicy) {
	return func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Suspend = how }
}

func naming(container string) func(*v1alpha1.RuntimeTuningPolicy) {
	return func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Container = container }
}

func TestTargetGoneInTrial(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	w.run(slotsTaken)
	ctx := t.Context()
	w.must(w.server.DeleteAllOf(ctx, replicaSets, client.InNamespace(w.namespace)))
	w.must(w.server.Delete(ctx, w.getDeployment()))
	w.must(w.server.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(w.namespace)))
	if policy := w.run(ended); policy.Status.History[0].Reason != v1alpha1.ReasonSuperseded {
		t.Errorf("it ended with %s", dump(policy.Status))
	}
	if policy := w.rest(); reasonOf(policy) != v1alpha1.ReasonTargetNotFound {
		t.Errorf("Ready is %s", reasonOf(policy))
	}
}

// TestTrialReadsServer: a running trial rests on the API server itself, whatever a cache says.
func TestTrialReadsServer(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	w.run(slotsTaken)
	w.reconciler.Client = writingTo{Client: w.client(), reader: newWorldInMemory(t).client()}
	if policy := w.run(ended); policy.Status.History[0].Result != v1alpha1.TrialPromoted {
		t.Errorf("it ended with %s", dump(policy.Status.History))
	}
}

func TestHold(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	w.run(slotsTaken)
	w.edit(suspending(v1alpha1.SuspendHold))
	for range 100 {
		w.pass(w.mustTurn().RequeueAfter)
	}
	policy := w.get()
	if !inStage(v1alpha1.StageCanary)(policy) || !strings.Contains(dump(policy.Status.Conditions), "spec.suspend is Hold") {
		t.Fatalf("while it is held: %s", dump(policy.Status))
	}
	w.edit(suspending(v1alpha1.SuspendNone))
	if policy := w.run(ended); policy.Status.History[0].Result != v1alpha1.TrialPromoted {
		t.Errorf("it ended with %s", dump(policy.Status))
	}
}

// TestStaleStatusWrite: a manager that lost the lead while it looked writes nothing over what its successor wrote, and evicts nothing.
func TestStaleStatusWrite(t *testing.T) {
	w := inAuto(t, nil)
	w.run(inStage(v1alpha1.StageCanary))
	pods := w.versions()
	w.lens.before = func() error {
		w.lens.before = nil
		w.edit(func(policy *v1alpha1.RuntimeTuningPolicy) {
			policy.Annotations = map[string]string{"written": "by another"}
		})
		return nil
	}
	w.lens.written = func(policy *v1alpha1.RuntimeTuningPolicy) { t.Errorf("it wrote %s", dump(policy.Status)) }
	before := w.get().Status
	if result, err := w.turn(); err != nil || result.RequeueAfter != soon {
		t.Errorf("%v, %v; want another look soon", result, err)
	}
	if w.lens.before != nil {
		t.Fatal("nothing was to be written: the test proves nothing")
	}
	if after := w.get().Status; dump(after) != dump(before) || !maps.Equal(pods, w.versions()) {
		t.Errorf("the status is %s", dump(after))
	}
}

// TestActGoesOn: one pod that can't be evicted keeps no other from going.
func TestActGoesOn(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	w.run(slotsTaken)
	w.edit(suspending(v1alpha1.SuspendRevert))
	w.run(inStage(v1alpha1.StageReverting))
	p, err := w.reconciler.look(t.Context(), w.get())
	w.must(err)
	p.decision.Evict = p.target.Pods[:3]
	broken := errors.New("no")
	asked := 0
	w.lens.before = func() error {
		if asked++; asked == 1 {
			return broken
		}
		return nil
	}
	if err := w.reconciler.act(t.Context(), p); !errors.Is(err, broken) || asked != 3 || len(w.pods()) != 4 {
		t.Errorf("%v after %d evictions; %d pods are left", err, asked, len(w.pods()))
	}
}
