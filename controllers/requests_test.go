package controllers

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// ask makes a request.
func (w *world) ask(annotation, value string) {
	w.t.Helper()
	w.edit(func(policy *v1alpha1.RuntimeTuningPolicy) {
		if policy.Annotations == nil {
			policy.Annotations = map[string]string{}
		}
		policy.Annotations[annotation] = value
	})
}

func (w *world) answer(request v1alpha1.Request) v1alpha1.HandledRequest {
	w.t.Helper()
	handled := handledRequest(w.get(), request)
	if handled == nil {
		w.t.Fatalf("%s is not handled: %s", request, dump(w.get().Status))
	}
	return *handled
}

func byHand(policy *v1alpha1.RuntimeTuningPolicy) {
	policy.Spec.Rollout.Promotion.By = v1alpha1.PromotionManual
}

func awaiting(policy *v1alpha1.RuntimeTuningPolicy) bool {
	return policy.Status.Trial != nil && policy.Status.Trial.PassedAt != nil
}

// TestAbort: the trial goes back, is followed by a cooldown, and the candidate is tried again after it.
func TestAbort(t *testing.T) {
	w := inAuto(t, nil)
	w.run(slotsTaken)
	w.ask(v1alpha1.AnnotationAbort, "now")
	w.mustTurn()
	if got := w.answer(v1alpha1.RequestAbort); got.Value != "now" || got.Result != "trial 1 goes back: Aborted" || !inStage(v1alpha1.StageReverting)(w.get()) {
		t.Errorf("the answer is %s", dump(got))
	}
	policy := w.run(ended)
	record := policy.Status.History[0]
	if record.Reason != v1alpha1.ReasonAborted || record.Result != v1alpha1.TrialReverted || w.running("25") != 6 {
		t.Errorf("the record is %s, the pods run %v", dump(record), w.gogc())
	}
	if len(policy.Status.Rejected) > 0 || policy.Status.CooldownUntil == nil {
		t.Errorf("rejected are %s, the cooldown ends %v", dump(policy.Status.Rejected), policy.Status.CooldownUntil)
	}
	w.pass(10 * time.Minute)
	if policy := w.rest(); policy.Status.Trials != 1 || reasonOf(policy) != v1alpha1.ReasonCooldown {
		t.Errorf("it does not wait: %s", dump(policy.Status))
	}
	w.pass(time.Hour)
	w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool { return policy.Status.Trials == 2 })
	if got := w.recorder.count(v1alpha1.EventRequestHandled); got != 1 {
		t.Errorf("%d events say that the request was handled", got)
	}
}

// TestI3FailFastAbort: an abort waits for no Prometheus, no hold and no window, also in the waves, and brings the old baseline back.
func TestI3FailFastAbort(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	w.run(inStage(v1alpha1.StagePromoting))
	w.edit(suspending(v1alpha1.SuspendHold))
	w.prometheus.down = errDown
	asked := w.prometheus.asked
	w.ask(v1alpha1.AnnotationAbort, "1")
	w.mustTurn()
	if policy := w.get(); !inStage(v1alpha1.StageReverting)(policy) || policy.Status.Baseline.Source != v1alpha1.BaselineDeclared || w.prometheus.asked != asked {
		t.Errorf("it is %s", dump(policy.Status))
	}
	w.run(ended)
	if w.running("25") != 6 {
		t.Errorf("the pods run %v", w.gogc())
	}
}

// TestI5RequestOnce: a manager that dies before or after the write of a request leaves it neither undone nor done twice.
func TestI5RequestOnce(t *testing.T) {
	for name, kill := range map[string]func(*world, error){
		"before the write": func(w *world, dead error) { w.lens.before = func() error { return dead } },
		"after the write":  func(w *world, dead error) { w.lens.after = func() error { return dead } },
	} {
		t.Run(name, func(t *testing.T) {
			w := inAuto(t, nil)
			w.run(slotsTaken)
			w.ask(v1alpha1.AnnotationAbort, "1")
			kill(w, errKilled)
			if _, err := w.turn(); !errors.Is(err, errKilled) {
				t.Fatalf("the manager lives: %v", err)
			}
			w.lens.before, w.lens.after = nil, nil
			w.restart()
			w.pass(time.Second)
			policy := w.run(ended)
			if len(policy.Status.History) != 1 || policy.Status.History[0].Reason != v1alpha1.ReasonAborted {
				t.Errorf("it ended with %s", dump(policy.Status.History))
			}
			handled := w.answer(v1alpha1.RequestAbort)
			w.pass(2 * time.Hour)
			w.run(slotsTaken)
			if again := w.answer(v1alpha1.RequestAbort); !again.At.Equal(&handled.At) || w.get().Status.Trial.Number != 2 {
				t.Errorf("the request is handled again: %s", dump(again))
			}
		})
	}
}

// TestI2EvidencePromote: a person promotes what has passed every step, and nothing else.
func TestI2EvidencePromote(t *testing.T) {
	w := inAuto(t, byHand)
	w.ask(v1alpha1.AnnotationPromote, "0")
	w.mustTurn()
	if got := w.answer(v1alpha1.RequestPromote); got.Result != "no trial runs" {
		t.Errorf("without a trial the answer is %s", dump(got))
	}
	w.run(slotsTaken)
	w.ask(v1alpha1.AnnotationPromote, "1")
	w.mustTurn()
	if got := w.answer(v1alpha1.RequestPromote); got.Value != "1" || !strings.Contains(got.Result, "step 1 of 1, and nothing is promoted without a pass") {
		t.Errorf("in a step the answer is %s", dump(got))
	}
	policy := w.run(awaiting)
	if reasonOf(policy) != v1alpha1.ReasonAwaitingPromotion || policy.Status.Trial.Stage != v1alpha1.StageCanary {
		t.Errorf("it waits as %s", dump(policy.Status.Conditions))
	}
	w.pass(time.Hour)
	for range 3 {
		w.pass(w.mustTurn().RequeueAfter)
	}
	if w.running("35") != 3 || !awaiting(w.get()) {
		t.Fatalf("it does not wait: %s", dump(w.get().Status))
	}
	w.edit(suspending(v1alpha1.SuspendHold))
	w.ask(v1alpha1.AnnotationPromote, "2")
	w.mustTurn()
	if got := w.answer(v1alpha1.RequestPromote); !strings.Contains(got.Result, "held") {
		t.Errorf("while it is held the answer is %s", dump(got))
	}
	w.edit(suspending(v1alpha1.SuspendNone))
	w.ask(v1alpha1.AnnotationPromote, "3")
	policy = w.run(ended)
	if got := w.answer(v1alpha1.RequestPromote); got.Result != "trial 1 is promoted" || policy.Status.History[0].Result != v1alpha1.TrialPromoted || w.running("35") != 6 {
		t.Errorf("the answer is %s, the record %s", dump(got), dump(policy.Status.History[0]))
	}
}

// TestAwaitingPromotion: the guards are on while a trial waits, and it does not wait for ever.
func TestAwaitingPromotion(t *testing.T) {
	for reason, happens := range map[string]func(*world){
		v1alpha1.ReasonLatencyBreached:   func(w *world) { w.prometheus.alter = breach("35") },
		v1alpha1.ReasonPromotionTimedOut: func(w *world) { w.pass(24 * time.Hour) },
	} {
		w := newWorldInMemory(t)
		w.tune(byHand)
		w.run(awaiting)
		happens(w)
		if policy := w.run(ended); policy.Status.History[0].Reason != reason || w.running("25") != 6 {
			t.Errorf("it ended with %s, want %s", dump(policy.Status.History[0]), reason)
		}
	}
}

// TestRetry: what failed may be tried again at once.
func TestRetry(t *testing.T) {
	w := inAuto(t, nil)
	w.prometheus.alter = breach("35")
	if policy := w.run(ended); len(policy.Status.Rejected) != 1 {
		t.Fatalf("nothing is rejected: %s", dump(policy.Status))
	}
	w.prometheus.alter = nil
	w.pass(10 * time.Minute)
	w.ask(v1alpha1.AnnotationRetry, strings.Repeat("x", 254))
	w.mustTurn()
	if got := w.answer(v1alpha1.RequestRetry); len(got.Value) != 253 || !strings.Contains(got.Result, "refused") || w.get().Status.CooldownUntil == nil {
		t.Errorf("a long value is %s", dump(got))
	}
	w.ask(v1alpha1.AnnotationRetry, "")
	policy := w.run(func(policy *v1alpha1.RuntimeTuningPolicy) bool { return policy.Status.Trials == 2 && ended(policy) })
	record := policy.Status.History[0]
	if record.Result != v1alpha1.TrialPromoted || record.Candidate.GOGC.IntValue() != 35 {
		t.Errorf("it ended with %s", dump(record))
	}
}

// TestNextRollout: promoted, the candidate stays on its pods, no other is replaced, and the next deploy's pods are born with it.
func TestNextRollout(t *testing.T) {
	atNextRollout := func(policy *v1alpha1.RuntimeTuningPolicy) {
		policy.Spec.Rollout.Promotion.As = v1alpha1.PromotionNextRollout
	}
	w := inAuto(t, atNextRollout)
	w.run(inStage(v1alpha1.StagePromoting))
	for range 100 {
		w.pass(w.mustTurn().RequeueAfter)
	}
	policy := w.get()
	if w.running("35") != 3 || reasonOf(policy) != v1alpha1.ReasonAwaitingRollout || policy.Status.Baseline.Source != v1alpha1.BaselinePromoted {
		t.Fatalf("the pods run %v: %s", w.gogc(), dump(policy.Status))
	}
	answering(errDown)(w)
	w.pass(12 * time.Hour)
	w.pass(w.mustTurn().RequeueAfter)
	if !inStage(v1alpha1.StagePromoting)(w.get()) {
		t.Fatalf("without data, with nothing going on, it is %s", dump(w.get().Status))
	}
	answering(nil)(w)
	w.rollOut(newImage)
	policy = w.run(ended)
	if policy.Status.History[0].Result != v1alpha1.TrialPromoted || w.running("35") != 6 {
		t.Errorf("it ended with %s; the pods run %v", dump(policy.Status.History[0]), w.gogc())
	}
}

func newImage(template *corev1.PodTemplateSpec) { template.Spec.Containers[0].Image = "app:2" }

// TestNextRolloutBreach: the guards stay on until the rollout is through.
func TestNextRolloutBreach(t *testing.T) {
	for name, happens := range map[string]func(*world){
		"before the rollout": func(*world) {},
		"in the rollout":     func(w *world) { w.rollOut(newImage) },
	} {
		w := newWorldInMemory(t)
		w.tune(func(policy *v1alpha1.RuntimeTuningPolicy) {
			policy.Spec.Rollout.Promotion.As = v1alpha1.PromotionNextRollout
		})
		w.run(inStage(v1alpha1.StagePromoting))
		happens(w)
		w.prometheus.alter = breach("35")
		policy := w.run(ended)
		if policy.Status.History[0].Reason != v1alpha1.ReasonLatencyBreached || w.running("25") != 6 || policy.Status.Baseline.Source != v1alpha1.BaselineDeclared {
			t.Errorf("%s: it ended with %s; the pods run %v", name, dump(policy.Status.History[0]), w.gogc())
		}
	}
}

// TestNextRolloutSweep: the drift sweep leaves pods alone that are older than a baseline which comes with the next rollout.
func TestNextRolloutSweep(t *testing.T) {
	w := newWorldInMemory(t)
	w.deploy(6)
	w.policy(func(policy *v1alpha1.RuntimeTuningPolicy) {
		policy.Spec.Rollout.Promotion.As = v1alpha1.PromotionNextRollout
		policy.Spec.Knobs.GOGC.Mode = v1alpha1.KnobKeep
		policy.Status.Target = &v1alpha1.TargetStatus{Container: "app"}
		policy.Status.Baseline = promotedBaseline(35, 25)
		policy.Status.Baseline.PromotedAt.Time = w.clock.Now().Add(time.Minute)
	})
	w.pass(10 * time.Minute)
	if w.rest(); w.running("25") != 6 {
		t.Errorf("the sweep replaced pods: %v", w.gogc())
	}
	w.edit(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Rollout.Promotion.As = v1alpha1.PromotionWaves })
	if w.mustTurn(); w.running("35") != 1 {
		t.Errorf("with waves the sweep replaces none: %v", w.gogc())
	}
}
