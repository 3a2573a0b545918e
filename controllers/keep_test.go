package controllers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
)

const recordName = "deployment-" + target

func (w *world) record() *v1alpha1.RuntimeBaseline {
	w.t.Helper()
	stored := &v1alpha1.RuntimeBaseline{}
	w.must(w.server.Get(w.t.Context(), types.NamespacedName{Namespace: w.namespace, Name: recordName}, stored))
	return stored
}

// given is what the record gives to new pods, by variable; nil where they start as declared.
func (w *world) given() map[string]string {
	w.t.Helper()
	stored := w.record().Spec.Baseline
	if stored == nil {
		return nil
	}
	found := map[string]string{}
	for _, variable := range stored.Settings {
		found[string(variable.Name)] = variable.Value
	}
	return found
}

// lose takes the policy away as if nobody had told gopacer.
func (w *world) lose() {
	w.t.Helper()
	policy := w.get()
	policy.Finalizers = nil
	w.must(w.server.Update(w.t.Context(), policy))
	w.must(w.server.Delete(w.t.Context(), policy))
}

// TestRecordOutlivesPolicy: the next policy of a target goes on from the record. What was promoted it takes over where pods still run it.
func TestRecordOutlivesPolicy(t *testing.T) {
	for name, test := range map[string]struct {
		end    func(*world)
		source v1alpha1.BaselineSource
		events int
	}{
		"deleted, and restored": {func(w *world) { w.delete(); w.runGone() }, v1alpha1.BaselineDeclared, 1},
		"deleted, and kept": {func(w *world) {
			w.edit(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.DeletionPolicy = v1alpha1.DeletionKeep })
			w.delete()
			w.runGone()
		}, v1alpha1.BaselinePromoted, 1},
		"lost": {(*world).lose, v1alpha1.BaselinePromoted, 1},
		"lost, and another value declared": {func(w *world) {
			w.lose()
			w.rollOut(func(template *corev1.PodTemplateSpec) { template.Spec.Containers[0].Env[1].Value = "50" })
		}, v1alpha1.BaselineDeclared, 1},
		"lost its status only": {func(w *world) {
			policy := w.get()
			policy.Status = v1alpha1.RuntimeTuningPolicyStatus{}
			w.must(w.server.Status().Update(w.t.Context(), policy))
			w.policyName = "policy"
		}, v1alpha1.BaselinePromoted, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldInMemory(t)
			w.tune(nil)
			before := w.run(ended)
			test.end(w)
			if err := w.server.Get(t.Context(), w.key(), &v1alpha1.RuntimeTuningPolicy{}); apierrors.IsNotFound(err) {
				w.policyName = "next"
				w.policy(nil)
			}
			w.withoutAdmission = true // what pods start with is looked at here, not what they would become
			w.mustTurn()
			w.mustTurn()
			got := w.get()
			if got.Status.Trials != before.Status.Trials || len(got.Status.History) != len(before.Status.History) {
				t.Errorf("%d trials and %d in the history, want %d and %d", got.Status.Trials, len(got.Status.History), before.Status.Trials, len(before.Status.History))
			}
			if diff := cmp.Diff(before.Status.Rejected, got.Status.Rejected); diff != "" {
				t.Errorf("rejections (-want +got):\n%s", diff)
			}
			if !got.Status.CooldownUntil.Equal(before.Status.CooldownUntil) {
				t.Errorf("it rests until %v, want %v", got.Status.CooldownUntil, before.Status.CooldownUntil)
			}
			if got.Status.Baseline.Source != test.source {
				t.Errorf("the baseline is %s, want %s", got.Status.Baseline.Source, test.source)
			}
			want := map[string]string(nil)
			if test.source == v1alpha1.BaselinePromoted {
				want = map[string]string{"GOGC": "35"}
				if diff := cmp.Diff(before.Status.Baseline, got.Status.Baseline); diff != "" {
					t.Errorf("I8 Reversible: baseline (-want +got):\n%s", diff)
				}
				if len(got.Finalizers) == 0 {
					t.Error("the policy has no finalizer, and its pods run what was promoted")
				}
			}
			if diff := cmp.Diff(want, w.given()); diff != "" {
				t.Errorf("new pods get (-want +got):\n%s", diff)
			}
			if count := w.recorder.count(v1alpha1.EventRecordAdopted); count != test.events {
				t.Errorf("%d events tell of the adoption, want %d", count, test.events)
			}
		})
	}
}

// TestBaselineIsKept: what new pods get follows the policy's status through a trial, and its deletion.
func TestBaselineIsKept(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	w.run(slotsTaken)
	if got := w.given(); got != nil {
		t.Errorf("in a trial without a promotion before new pods get %v", got)
	}
	w.run(ended)
	stored := w.record()
	want := &v1alpha1.GivenBaseline{
		Policy: "policy", Container: "app", Settings: []v1alpha1.Variable{{Name: "GOGC", Value: "35"}},
		Footing:    v1alpha1.VariablesFooting{Declared: []v1alpha1.Variable{{Name: "GOGC", Value: "25"}}},
		PromotedAt: w.get().Status.Baseline.PromotedAt,
	}
	if diff := cmp.Diff(want, stored.Spec.Baseline); diff != "" {
		t.Errorf("new pods get (-want +got):\n%s", diff)
	}
	if len(stored.OwnerReferences) != 0 {
		t.Errorf("it goes with %v", stored.OwnerReferences)
	}
	version := stored.ResourceVersion
	w.rest()
	if got := w.record().ResourceVersion; got != version {
		t.Error("I9 Quiet: the record was written though nothing changed")
	}
	w.delete()
	w.mustTurn()
	if got := w.given(); got != nil {
		t.Errorf("the policy is being deleted, and new pods get %v", got)
	}
}

// TestDeletionWaitsForBaseline: the policy stays until new pods do not get its baseline, and none that got it is on its way, however late
// the manager came to it.
func TestDeletionWaitsForBaseline(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	w.run(ended)
	w.delete()
	w.pass(time.Hour) // the manager was down
	if took := w.runGone(); took < rollout.AdmissionBound {
		t.Errorf("it took %s from when new pods got the baseline last", took)
	}
	if got := w.running("35"); got != 0 {
		t.Errorf("%d pods run what was promoted", got)
	}
}

// TestDeletionWaitsForWithdrawal: while the RuntimeBaseline can't be written, new pods get what was promoted, and the policy stays, with either
// deletion policy.
func TestDeletionWaitsForWithdrawal(t *testing.T) {
	for _, deletion := range []v1alpha1.DeletionPolicy{v1alpha1.DeletionRestore, v1alpha1.DeletionKeep} {
		t.Run(string(deletion), func(t *testing.T) {
			w := newWorldInMemory(t)
			w.tune(func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.DeletionPolicy = deletion })
			w.run(ended)
			w.rest()
			refused := true
			w.reconciler.Client = interceptor.NewClient(w.client().(client.WithWatch), interceptor.Funcs{
				Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
					if _, ok := object.(*v1alpha1.RuntimeBaseline); ok && refused {
						return errors.New("refused")
					}
					return c.Update(ctx, object, options...)
				},
			})
			w.delete()
			for deadline := w.clock.Now().Add(10 * rollout.AdmissionBound); w.clock.Now().Before(deadline); {
				w.pass(w.mustTurn().RequeueAfter)
				w.get() // fails where it is gone
			}
			refused = false
			w.runGone()
			if got := w.given(); got != nil {
				t.Errorf("the policy is gone, and new pods get %v", got)
			}
		})
	}
}

// TestKeepFailureHoldsNothingUp: a trial goes its way though no RuntimeBaseline can be written, and what was missed is made up for.
func TestKeepFailureHoldsNothingUp(t *testing.T) {
	w := newWorldInMemory(t)
	refused := true
	refuse := func(object client.Object) error {
		if _, ok := object.(*v1alpha1.RuntimeBaseline); ok && refused {
			return errors.New("refused")
		}
		return nil
	}
	w.reconciler.Client = interceptor.NewClient(w.client().(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if err := refuse(object); err != nil {
				return err
			}
			return c.Create(ctx, object, options...)
		},
	})
	w.tune(nil)
	w.run(ended)
	refused = false
	w.mustTurn()
	if diff := cmp.Diff(map[string]string{"GOGC": "35"}, w.given()); diff != "" {
		t.Errorf("new pods get (-want +got):\n%s", diff)
	}
}

// TestRecords: without a policy new pods start as declared at once, and the record goes with its age, or its target.
func TestRecords(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*world)
		after  time.Duration
		given  bool
		stays  bool
	}{
		"the policy is there": {func(*world) {}, 60 * 24 * time.Hour, true, true},
		"the policy is gone":  {(*world).lose, time.Minute, false, true},
		"29 days later":       {(*world).lose, 29 * 24 * time.Hour, false, true},
		"30 days later":       {(*world).lose, 30 * 24 * time.Hour, false, false},
		"the target is gone too": {func(w *world) {
			w.lose()
			w.must(w.server.Delete(w.t.Context(), w.getDeployment()))
		}, time.Hour, false, false},
		"the target may come back from a backup": {func(w *world) {
			w.lose()
			w.must(w.server.Delete(w.t.Context(), w.getDeployment()))
		}, 59 * time.Minute, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldInMemory(t)
			w.tune(nil)
			w.run(ended)
			test.change(w)
			records := &Records{Client: w.client(), Server: w.client(), Clock: w.clock}
			look := func() {
				_, err := records.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: recordName}})
				w.must(err)
			}
			look()
			w.pass(test.after)
			look()
			err := w.server.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: recordName}, &v1alpha1.RuntimeBaseline{})
			if stays := err == nil; stays != test.stays {
				t.Fatalf("the record stays: %v, want %v", err, test.stays)
			}
			if test.stays && (w.given() != nil) != test.given {
				t.Errorf("new pods get %v", w.given())
			}
		})
	}
}
