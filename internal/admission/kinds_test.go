package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// stateful makes a pod the StatefulSet checkout's, with both names, as its controller asks for it (k8s.io/kubernetes/pkg/controller/statefulset,
// newStatefulSetPod).
func stateful(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Name, pod.GenerateName = name, "checkout-"
		pod.Labels = map[string]string{"app": "checkout", "controller-revision-hash": string(revision)}
		pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].Name, pod.OwnerReferences[0].UID = "StatefulSet", "checkout", "set"
	}
}

// daemon makes a pod the DaemonSet checkout's.
func daemon(pod *corev1.Pod) {
	pod.GenerateName = "checkout-"
	pod.Labels = map[string]string{"app": "checkout", "controller-revision-hash": string(revision)}
	pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].Name, pod.OwnerReferences[0].UID = "DaemonSet", "checkout", "set"
}

// statefulPolicy has one open slot, for the pod checkout-1.
func statefulPolicy() *v1alpha1.RuntimeTuningPolicy {
	policy := newPolicy()
	policy.Spec.TargetRef.Kind = "StatefulSet"
	policy.Status.Trial.Slots = []v1alpha1.Slot{{ID: slot, PodName: "checkout-1", Replaces: "before"}}
	return policy
}

func TestCandidateOfStatefulSet(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod, *v1alpha1.RuntimeTuningPolicy)
		want   bool
	}{
		"open to the name": {want: true},
		"another name":     {change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) { pod.Name = "checkout-0" }},
		"a longer name":    {change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) { pod.Name = "checkout-11" }},
		"no name":          {change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) { pod.Name = "" }},
		"taken": {change: func(_ *corev1.Pod, policy *v1alpha1.RuntimeTuningPolicy) {
			policy.Status.Trial.Slots[0] = v1alpha1.Slot{ID: slot, PodName: "checkout-1", PodUID: "pod"}
		}},
		"a slot for any name": {change: func(_ *corev1.Pod, policy *v1alpha1.RuntimeTuningPolicy) {
			policy.Status.Trial.Slots[0] = v1alpha1.Slot{ID: slot}
		}},
		"another revision": {change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) {
			pod.Labels["controller-revision-hash"] = "newer"
		}},
		"no revision":   {change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) { delete(pod.Labels, "controller-revision-hash") }},
		"a DaemonSet's": {change: func(pod *corev1.Pod, _ *v1alpha1.RuntimeTuningPolicy) { pod.OwnerReferences[0].Kind = "DaemonSet" }},
		"another API's": {change: func(_ *corev1.Pod, policy *v1alpha1.RuntimeTuningPolicy) {
			policy.Spec.TargetRef.APIVersion = "example.com/v1"
		}},
	} {
		pod, policy := newPod(), statefulPolicy()
		stateful("checkout-1")(pod)
		if test.change != nil {
			test.change(pod, policy)
		}
		if _, open := Candidate(pod, policy); open != test.want {
			t.Errorf("%s: the slot is open to it: %t", name, open)
		}
	}
}

// TestI1CanaryBound_StatefulSet: the one slot goes to the pod of its name, again to the next of that name while nobody has bound it, but never
// to two at a time; every other pod gets the baseline.
func TestI1CanaryBound_StatefulSet(t *testing.T) {
	s := newShop(t)
	policy := s.policy(statefulPolicy())
	s.serve(s.policies(), s.stale(policy.DeepCopy()))
	if got := settingsOf(t, s.mustPod(stateful("checkout-0"))); got != baseline {
		t.Errorf("a pod of another name starts with %+v", got)
	}
	pod := s.mustPod(stateful("checkout-1"))
	if got := settingsOf(t, pod); got != candidate || pod.Name != "checkout-1" || pod.Labels[v1alpha1.LabelCohort] != v1alpha1.CohortCanary {
		t.Errorf("pod %s starts with %+v, labels %v", pod.Name, got, pod.Labels)
	}
	for range 2 {
		if _, err := s.pod(stateful("checkout-1")); !apierrors.IsAlreadyExists(err) {
			t.Errorf("a second pod of the name: %v", err)
		}
	}
	s.remove(pod)
	again := s.mustPod(stateful("checkout-1"))
	s.checkCanaries("checkout-1")

	policy.Status.Trial.Slots[0] = v1alpha1.Slot{ID: slot, PodName: again.Name, PodUID: again.UID}
	s.updateStatus(policy)
	s.remove(again)
	if got := settingsOf(t, s.mustPod(stateful("checkout-1"))); got != baseline {
		t.Errorf("once the slot is bound the next pod of its name starts with %+v", got)
	}
	s.checkCanaries()
}

func TestI1CanaryBound_DaemonSet(t *testing.T) {
	s := newShop(t)
	policy := newPolicy()
	policy.Spec.TargetRef.Kind = "DaemonSet"
	s.policy(policy)
	s.serve(s.policies())
	for range 2 {
		s.mustPod(daemon)
	}
	s.checkCanaries("checkout-" + slot)
}

// TestI1CanaryBound_Kinds: of two pods of each further kind one takes the slot, and the other gets the baseline.
func TestI1CanaryBound_Kinds(t *testing.T) {
	for name, test := range map[string]struct {
		target v1alpha1.TargetReference
		pod    func(*corev1.Pod)
	}{
		"a bare ReplicaSet": {v1alpha1.TargetReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "checkout"}, func(pod *corev1.Pod) {
			pod.OwnerReferences[0].Name, pod.Labels = "checkout", map[string]string{"app": "checkout"}
		}},
		"a ReplicaSet that lost its Deployment": {v1alpha1.TargetReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "checkout-5d9c"}, func(*corev1.Pod) {}},
		"an Argo Rollout": {v1alpha1.TargetReference{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "checkout"}, func(pod *corev1.Pod) {
			pod.Labels = map[string]string{"app": "checkout", "rollouts-pod-template-hash": "5d9c"}
		}},
		"another kind": {v1alpha1.TargetReference{APIVersion: "example.com/v1beta1", Kind: "Fleet", Name: "checkout"}, func(pod *corev1.Pod) {
			pod.OwnerReferences[0].APIVersion, pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].Name = "example.com/v1", "Fleet", "checkout"
			pod.Labels = map[string]string{"app": "checkout"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			policy := newPolicy()
			policy.Spec.TargetRef = test.target
			s.policy(policy)
			s.serve(s.policies())
			first, second := s.mustPod(test.pod), s.mustPod(test.pod)
			if settingsOf(t, first) != candidate || settingsOf(t, second) != baseline {
				t.Errorf("the pods start with %+v and %+v", settingsOf(t, first), settingsOf(t, second))
			}
			s.checkCanaries("checkout-5d9c-" + slot)
		})
	}
}

func (s *shop) remove(pod *corev1.Pod) {
	s.t.Helper()
	if err := s.client.Delete(s.t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		s.t.Fatal(err)
	}
}
