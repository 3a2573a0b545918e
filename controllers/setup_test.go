package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// listed are policies as a cache has them.
type listed struct {
	policies []v1alpha1.RuntimeTuningPolicy
	err      error
}

func (l listed) ForTarget(_ context.Context, namespace string, target v1alpha1.TargetReference) ([]v1alpha1.RuntimeTuningPolicy, error) {
	return slices.DeleteFunc(slices.Clone(l.policies), func(policy v1alpha1.RuntimeTuningPolicy) bool {
		return policy.Namespace != namespace || policy.Spec.TargetRef != target
	}), l.err
}

type mapping = func(context.Context, client.Object) []reconcile.Request

func TestMapping(t *testing.T) {
	policy := func(name string, change func(*v1alpha1.RuntimeTuningPolicy)) v1alpha1.RuntimeTuningPolicy {
		p := newPolicy(name)
		p.Namespace = "shop"
		change(p)
		return *p
	}
	policies := listed{policies: []v1alpha1.RuntimeTuningPolicy{
		policy("idle", func(*v1alpha1.RuntimeTuningPolicy) {}),
		policy("trying", func(p *v1alpha1.RuntimeTuningPolicy) { p.Status.Trial = &v1alpha1.Trial{} }),
		policy("leaving", func(p *v1alpha1.RuntimeTuningPolicy) { p.DeletionTimestamp = &metav1.Time{} }),
		policy("elsewhere", func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.TargetRef.Name = "other" }),
		policy("away", func(p *v1alpha1.RuntimeTuningPolicy) { p.Namespace = "bank" }),
	}}
	owned := func(owner, hash string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "pod", Labels: map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, Controller: ptr.To(true)}},
		}}
	}
	deployment := &appsv1.Deployment{ObjectMeta: objectMeta("shop", target, nil)}
	r := &Reconciler{Policies: policies}
	broken := &Reconciler{Policies: listed{policies: policies.policies, err: errors.New("no cache")}}
	for name, test := range map[string]struct {
		of     func(*Reconciler) mapping
		object client.Object
		want   string
	}{
		"a Deployment":            {func(r *Reconciler) mapping { return r.ofTarget("Deployment") }, deployment, "idle trying leaving"},
		"a Deployment of nobody":  {func(r *Reconciler) mapping { return r.ofTarget("Deployment") }, &appsv1.Deployment{ObjectMeta: objectMeta("shop", "x", nil)}, ""},
		"a StatefulSet":           {func(r *Reconciler) mapping { return r.ofTarget("StatefulSet") }, deployment, ""},
		"a pod":                   {func(r *Reconciler) mapping { return r.ofPod }, owned("checkout-5d9c", "5d9c"), "trying leaving"},
		"a pod without an owner":  {func(r *Reconciler) mapping { return r.ofPod }, &corev1.Pod{ObjectMeta: objectMeta("shop", "checkout-5d9c-1", nil)}, ""},
		"a pod of another target": {func(r *Reconciler) mapping { return r.ofPod }, owned("checkout-api-5d9c", "5d9c"), ""},
		"no pod":                  {func(r *Reconciler) mapping { return r.ofPod }, deployment, ""},
	} {
		var names []string
		for _, request := range test.of(r)(t.Context(), test.object) {
			if request.Namespace != "shop" {
				t.Errorf("%s wakes %s", name, request)
			}
			names = append(names, request.Name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%s wakes %q, want %q", name, got, test.want)
		}
		if got := test.of(broken)(t.Context(), test.object); got != nil {
			t.Errorf("%s without a cache wakes %v", name, got)
		}
	}
}

func TestOthers(t *testing.T) {
	at := func(name string, minute int64, change func(*v1alpha1.RuntimeTuningPolicy)) v1alpha1.RuntimeTuningPolicy {
		policy := newPolicy(name)
		policy.UID, policy.CreationTimestamp = types.UID(name), metav1.Unix(60*minute, 0)
		if change != nil {
			change(policy)
		}
		return *policy
	}
	leaving := func(policy *v1alpha1.RuntimeTuningPolicy) {
		policy.DeletionTimestamp, policy.Finalizers = &metav1.Time{}, []string{v1alpha1.Finalizer}
	}
	leaves := func(policy *v1alpha1.RuntimeTuningPolicy) { policy.DeletionTimestamp = &metav1.Time{} }
	for name, test := range map[string]struct {
		self  v1alpha1.RuntimeTuningPolicy
		other []v1alpha1.RuntimeTuningPolicy
		want  others
	}{
		"alone":                          {at("b", 2, nil), nil, others{}},
		"a younger one":                  {at("b", 2, nil), []v1alpha1.RuntimeTuningPolicy{at("c", 3, nil)}, others{}},
		"an older one":                   {at("b", 2, nil), []v1alpha1.RuntimeTuningPolicy{at("c", 1, nil)}, others{ruling: "c"}},
		"as old, by name":                {at("b", 2, nil), []v1alpha1.RuntimeTuningPolicy{at("a", 2, nil)}, others{ruling: "a"}},
		"an older one that is leaving":   {at("b", 2, nil), []v1alpha1.RuntimeTuningPolicy{at("a", 1, leaving)}, others{leaving: "a"}},
		"an older one that is gone":      {at("b", 2, nil), []v1alpha1.RuntimeTuningPolicy{at("a", 1, leaves)}, others{}},
		"leaving, and ruled":             {at("b", 2, leaving), []v1alpha1.RuntimeTuningPolicy{at("c", 3, nil)}, others{}},
		"leaving, and never ruled":       {at("b", 2, leaving), []v1alpha1.RuntimeTuningPolicy{at("a", 1, nil)}, others{ruling: "a"}},
		"the cache has an older version": {at("b", 2, leaving), []v1alpha1.RuntimeTuningPolicy{at("b", 2, nil)}, others{}},
	} {
		if got := othersAmong(append(test.other, test.self), &test.self); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestNote(t *testing.T) {
	if got := note("short"); got != "short" {
		t.Errorf("%q", got)
	}
	long := note(strings.Repeat("ü", maxNote) + "x")
	if len(long) > maxNote || !utf8.ValidString(long) || !utf8.ValidString(note("x"+long+long)) {
		t.Errorf("a note of %d bytes: %q", len(long), long)
	}
}

func TestOccasion(t *testing.T) {
	policy := func(trial *v1alpha1.Trial) *v1alpha1.RuntimeTuningPolicy {
		p := newPolicy("policy")
		p.Status.Trial = trial
		return p
	}
	first, second := policy(&v1alpha1.Trial{Number: 3}), policy(&v1alpha1.Trial{Number: 3, Step: 1})
	for want, got := range map[string]string{
		"Trial3Step1": occasion(first, second), "Trial3Step2": occasion(policy(nil), second), "": occasion(policy(nil), policy(nil)),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
