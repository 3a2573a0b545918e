package admission

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

const (
	revision = types.UID("revision-of-the-trial")
	slot     = "a1b2c3d4"
)

// What a pod of the target declares, what was promoted, and what is on trial.
var (
	declared  = settings.Settings{GOGC: 25}
	baseline  = settings.Settings{GOGC: 150}
	candidate = settings.Settings{GOGC: 300}
	noon      = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
)

// newPod is a pod of the Deployment checkout as its ReplicaSet asks for it.
func newPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "checkout-5d9c-", Namespace: "shop",
			Labels: map[string]string{"app": "checkout", "pod-template-hash": "5d9c"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "checkout-5d9c", UID: revision, Controller: ptr.To(true),
			}},
		},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "migrate", Image: "migrate", Env: []corev1.EnvVar{{Name: "GOGC", Value: "10"}}}},
			Containers: []corev1.Container{
				{Name: "proxy", Image: "proxy", Env: []corev1.EnvVar{{Name: "GOGC", Value: "20"}}},
				{Name: "app", Image: "app", Env: []corev1.EnvVar{{Name: "PORT", Value: "80"}, {Name: "GOGC", Value: "25"}, {Name: "TOKEN", Value: "t"}}},
			},
		},
	}
}

// newPolicy has promoted a baseline, and tries a candidate with one open slot.
func newPolicy() *v1alpha1.RuntimeTuningPolicy {
	footing := settings.Footing{Declared: declared}.API()
	promoted := v1alpha1.Baseline{Source: v1alpha1.BaselinePromoted, Settings: baseline.API(), Footing: footing}
	return &v1alpha1.RuntimeTuningPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "policy", Namespace: "shop", UID: "policy-uid", CreationTimestamp: metav1.NewTime(noon)},
		Spec: v1alpha1.RuntimeTuningPolicySpec{
			TargetRef: v1alpha1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "checkout"},
			Container: "app", Mode: v1alpha1.ModeAuto, Suspend: v1alpha1.SuspendNone,
			Rollout: v1alpha1.Rollout{Steps: []v1alpha1.Step{{Canary: intstr.FromInt32(1)}}},
		},
		Status: v1alpha1.RuntimeTuningPolicyStatus{
			Target:   &v1alpha1.TargetStatus{Container: "app", Footing: footing},
			Baseline: &promoted,
			Trial: &v1alpha1.Trial{
				Number: 2, Candidate: candidate.API(), Footing: footing, Previous: promoted, Revision: revision, Stage: v1alpha1.StageCanary,
				StartedAt: metav1.NewTime(noon), StepStartedAt: metav1.NewTime(noon), Slots: []v1alpha1.Slot{{ID: slot}}, SlotsOpened: 1,
			},
		},
	}
}

// settingsOf reads back what the tuned container of a pod starts with.
func settingsOf(t *testing.T, pod *corev1.Pod) settings.Settings {
	t.Helper()
	found, err := settings.Declared(container(pod, "app"))
	if err != nil {
		t.Fatalf("read the settings of pod %s: %v", pod.Name, err)
	}
	return found
}

// fixedPolicies answers with what it holds, as a cache does that hears nothing new; live overrides what the API server says.
type fixedPolicies struct {
	cached   []v1alpha1.RuntimeTuningPolicy
	cacheErr error
	live     func(context.Context) (*v1alpha1.RuntimeTuningPolicy, error)
}

func (f fixedPolicies) ForTarget(_ context.Context, namespace string, target v1alpha1.TargetReference) ([]v1alpha1.RuntimeTuningPolicy, error) {
	var named []v1alpha1.RuntimeTuningPolicy
	for _, policy := range f.cached {
		if policy.Namespace == namespace && policy.Spec.TargetRef == target {
			named = append(named, policy)
		}
	}
	return named, f.cacheErr
}

func (f fixedPolicies) Live(ctx context.Context, _ types.NamespacedName) (*v1alpha1.RuntimeTuningPolicy, error) {
	if f.live != nil {
		return f.live(ctx)
	}
	return f.cached[0].DeepCopy(), nil
}

func newHandler(t *testing.T, policies Policies, clock clock.PassiveClock) (*Handler, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	handler, err := NewHandler(policies, clock, registry)
	if err != nil {
		t.Fatal(err)
	}
	return handler, registry
}

func fixedClock() *clocktesting.FakePassiveClock { return clocktesting.NewFakePassiveClock(noon) }

// review is the request of an API server for a new pod.
func review(t *testing.T, pod *corev1.Pod) admission.Request {
	t.Helper()
	raw, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "request", Namespace: "shop", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw},
	}}
}

// admissions reads the counter back, by result, without those that are 0.
func admissions(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "gopacer_admissions_total" {
			t.Errorf("an unexpected metric %s", family.GetName())
		}
		for _, metric := range family.GetMetric() {
			if value := metric.GetCounter().GetValue(); value != 0 {
				counted[metric.GetLabel()[0].GetValue()] = value
			}
		}
	}
	return counted
}
