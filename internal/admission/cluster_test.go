package admission

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// TestPodsStartWithoutWebhook: while it is away, or panics, pods start as declared.
func TestPodsStartWithoutWebhook(t *testing.T) {
	for name, policies := range map[string][]Policies{
		"away":     nil,
		"panicked": {panicking{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.policy(newPolicy())
			s.serve(policies...)
			if got := settingsOf(t, s.mustPod(nil)); got != declared {
				t.Errorf("the pod starts with %+v, want what it declares", got)
			}
		})
	}
}

type panicking struct{ fixedPolicies }

func (panicking) ForTarget(context.Context, string, v1alpha1.TargetReference) ([]v1alpha1.RuntimeTuningPolicy, error) {
	panic("as the test asks")
}

// TestExcludedNamespaces: not even a marked pod of these is sent to the webhook.
func TestExcludedNamespaces(t *testing.T) { bothWays(t, testExcludedNamespaces) }

func testExcludedNamespaces(t *testing.T, s *shop) {
	own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gopacer-system"}}
	if err := s.client.Create(t.Context(), own); err != nil && !apierrors.IsAlreadyExists(err) { // a repeated run
		t.Fatal(err)
	}
	for _, namespace := range []string{"kube-system", "gopacer-system"} {
		excluded := &shop{t: t, client: s.client, namespace: namespace, withPolicy: s.withPolicy}
		excluded.serve(panicking{})
		pod := excluded.mustPod(func(pod *corev1.Pod) { pod.Labels[v1alpha1.LabelCohort] = "canary" })
		if pod.Labels[v1alpha1.LabelCohort] != "canary" {
			t.Errorf("a pod of %s was changed: labels %v", namespace, pod.Labels)
		}
	}
}

// TestUpdatesAreNotSent: the cohort label and later changes of a pod stay as they are written.
func TestUpdatesAreNotSent(t *testing.T) { bothWays(t, testUpdatesAreNotSent) }

func testUpdatesAreNotSent(t *testing.T, s *shop) {
	s.policy(newPolicy())
	s.serve(s.policies())
	pod := s.mustPod(nil)
	pod.Labels[v1alpha1.LabelCohort] = v1alpha1.CohortControl
	if err := s.client.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if pod.Labels[v1alpha1.LabelCohort] != v1alpha1.CohortControl || settingsOf(t, pod) != candidate {
		t.Errorf("labels %v, settings %+v", pod.Labels, settingsOf(t, pod))
	}
}

// TestLongNames: neither a long ReplicaSet's name nor a long policy's may keep a pod from being created.
func TestLongNames(t *testing.T) { bothWays(t, testLongNames) }

func testLongNames(t *testing.T, s *shop) {
	deployment := strings.Repeat("checkout-", 20) + "web"
	policy := newPolicy()
	policy.Name, policy.Spec.TargetRef.Name = strings.Repeat("policy-", 20)+"web", deployment
	s.policy(policy)
	s.serve(s.policies())
	pod := s.mustPod(func(pod *corev1.Pod) {
		pod.GenerateName, pod.OwnerReferences[0].Name = deployment+"-5d9c-", deployment+"-5d9c"
	})
	if len(pod.Name) != 63 || !strings.HasSuffix(pod.Name, slot) || settingsOf(t, pod) != candidate {
		t.Errorf("pod %q starts with %+v", pod.Name, settingsOf(t, pod))
	}
	if label := pod.Labels[v1alpha1.LabelPolicy]; !strings.HasPrefix(label, "policy-policy-") || len(label) > 63 {
		t.Errorf("the policy's label is %q", label)
	}
}

func TestClusterPolicies(t *testing.T) {
	s := newShop(t)
	for name, target := range map[string]string{"one": "checkout", "two": "cart", "three": "checkout"} {
		policy := newPolicy()
		policy.Name, policy.Spec.TargetRef.Name = name, target
		s.policy(policy)
	}
	policies := s.policies()
	for target, want := range map[string][]string{"checkout": {"one", "three"}, "cart": {"two"}, "check": nil} {
		found, err := policies.ForTarget(t.Context(), s.namespace, v1alpha1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: target})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, policy := range found {
			got[policy.Name] = true
		}
		wanted := map[string]bool{}
		for _, name := range want {
			wanted[name] = true
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("policies for %s (-want +got):\n%s", target, diff)
		}
	}
	for _, test := range []struct {
		apiVersion, kind string
		want             int
	}{{"apps/v1", "StatefulSet", 0}, {"example.com/v1", "Deployment", 0}, {"apps/v1beta1", "Deployment", 2}} {
		target := v1alpha1.TargetReference{APIVersion: test.apiVersion, Kind: test.kind, Name: "checkout"}
		if found, err := policies.ForTarget(t.Context(), s.namespace, target); err != nil || len(found) != test.want {
			t.Errorf("%d policies for %+v, want %d: %v", len(found), target, test.want, err)
		}
	}

	live, err := policies.Live(t.Context(), types.NamespacedName{Namespace: s.namespace, Name: "two"})
	if err != nil || live.Spec.TargetRef.Name != "cart" {
		t.Errorf("live: %v, %v", live, err)
	}
	if _, err := policies.Live(t.Context(), types.NamespacedName{Namespace: s.namespace, Name: "four"}); !apierrors.IsNotFound(err) {
		t.Errorf("error %v, want NotFound", err)
	}
}
