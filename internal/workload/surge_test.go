package workload

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
)

// surging is a Deployment with its ReplicaSet and two ready pods, on a real API server.
func surging(t *testing.T) (client.Client, string, *v1alpha1.RuntimeTuningPolicy) {
	t.Helper()
	c, namespace := cluster(t)
	deployment := newDeployment()
	deployment.Namespace, deployment.UID = namespace, ""
	deployment.Spec.Selector, deployment.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: appLabels}, appLabels
	create(t, c, deployment)
	replicaSet := newReplicaSet(deployment, "new", "2", 2)
	replicaSet.UID = ""
	create(t, c, &replicaSet)
	for _, name := range []string{"old", "bad"} {
		template := newPod(&replicaSet, "new", name)
		pod := runningPod(t, c, namespace, name)
		pod.Labels, pod.OwnerReferences = template.Labels, append(template.OwnerReferences, metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: "another", UID: "another-owner",
		})
		if err := c.Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	policy := &v1alpha1.RuntimeTuningPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "policy"}}
	policy.Spec.TargetRef = reference(KindDeployment, deployment.Name)
	policy.Spec.Rollout.Replacement = v1alpha1.ReplacementSurge
	return c, namespace, policy
}

func load(t *testing.T, c client.Client, policy *v1alpha1.RuntimeTuningPolicy) (Target, map[string]rollout.Pod) {
	t.Helper()
	target, err := Load(t.Context(), c, policy)
	if err != nil {
		t.Fatal(err)
	}
	pods := map[string]rollout.Pod{}
	for _, pod := range target.Pods {
		pods[pod.Name] = pod
	}
	return target, pods
}

func controllerOf(t *testing.T, c client.Client, namespace, name string) metav1.OwnerReference {
	t.Helper()
	var pod corev1.Pod
	get(t, c, namespace, name, &pod)
	if len(pod.OwnerReferences) != 2 || pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != "new" {
		t.Fatalf("owners %v, labels %v; want the other owner and all labels kept", pod.OwnerReferences, pod.Labels)
	}
	return *metav1.GetControllerOf(&pod)
}

// TestHandOver: a pod goes to the Deployment and back, each in one write that the API server accepts, and is known as what it is in between.
func TestHandOver(t *testing.T) {
	c, namespace, policy := surging(t)
	target, pods := load(t, c, policy)
	if target.SurgeRefused != "" || target.MaxSurge != 1 {
		t.Fatalf("surge of %d, refused: %q", target.MaxSurge, target.SurgeRefused)
	}
	if err := target.HandOver(t.Context(), c, namespace, pods["old"]); err != nil {
		t.Fatal(err)
	}
	want := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "checkout", UID: target.UID, Controller: ptr.To(true)}
	if diff := cmp.Diff(want, controllerOf(t, c, namespace, "old")); diff != "" {
		t.Errorf("controller (-want +got):\n%s", diff)
	}
	target, pods = load(t, c, policy)
	if old := pods["old"]; !old.HandedOver || old.Revision != target.Revision || pods["bad"].HandedOver {
		t.Errorf("pods %+v", pods)
	}

	if err := target.GiveBack(t.Context(), c, namespace, rollout.GiveBack{Pod: pods["old"], Drop: pods["bad"]}); err != nil {
		t.Fatal(err)
	}
	want = metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "checkout-new", UID: target.Revision, Controller: ptr.To(true)}
	if diff := cmp.Diff(want, controllerOf(t, c, namespace, "old")); diff != "" {
		t.Errorf("controller (-want +got):\n%s", diff)
	}
	_, pods = load(t, c, policy)
	if pods["old"].HandedOver || !pods["bad"].DropFirst || pods["old"].DropFirst {
		t.Errorf("pods %+v", pods)
	}
	if err := Spare(t.Context(), c, namespace, pods["bad"]); err != nil {
		t.Fatal(err)
	}
	if _, pods = load(t, c, policy); pods["bad"].DropFirst {
		t.Error("the deletion cost is left over")
	}
}

// TestSurgeLooksAgain: nothing is done to a pod that is not what it was when it was looked at.
func TestSurgeLooksAgain(t *testing.T) {
	for name, change := range map[string]func(*testing.T, client.Client, *corev1.Pod){
		"no longer ready": func(t *testing.T, c client.Client, pod *corev1.Pod) {
			pod.Status.Conditions[0].Status = corev1.ConditionFalse
			if err := c.Status().Update(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
		},
		"gone": func(t *testing.T, c client.Client, pod *corev1.Pod) { deleteNow(t, c, pod) },
		"a successor of the same name": func(t *testing.T, c client.Client, pod *corev1.Pod) {
			deleteNow(t, c, pod)
			runningPod(t, c, pod.Namespace, pod.Name)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, namespace, policy := surging(t)
			target, pods := load(t, c, policy)
			var pod corev1.Pod
			get(t, c, namespace, "old", &pod)
			change(t, c, &pod)
			var before, after corev1.PodList
			list := func(pods *corev1.PodList) {
				if err := c.List(t.Context(), pods, client.InNamespace(namespace)); err != nil {
					t.Fatal(err)
				}
			}
			list(&before)
			for what, err := range map[string]error{
				"hand over": target.HandOver(t.Context(), c, namespace, pods["old"]),
				"give back": target.GiveBack(t.Context(), c, namespace, rollout.GiveBack{Pod: pods["old"]}),
				"spare":     Spare(t.Context(), c, namespace, pods["old"]),
			} {
				if !errors.Is(err, ErrChanged) {
					t.Errorf("%s: error %v, want ErrChanged", what, err)
				}
			}
			list(&after)
			if diff := cmp.Diff(before.Items, after.Items); diff != "" {
				t.Errorf("a pod was changed:\n%s", diff)
			}
		})
	}
}

// TestGiveBackNeedsReplicaSet: no pod is given to a ReplicaSet that is gone, or going, which would be its end.
func TestGiveBackNeedsReplicaSet(t *testing.T) {
	c, namespace, policy := surging(t)
	target, pods := load(t, c, policy)
	target.replicaSets = map[types.UID]string{}
	err := target.GiveBack(t.Context(), c, namespace, rollout.GiveBack{Pod: pods["old"], Drop: pods["bad"]})
	if _, after := load(t, c, policy); !errors.Is(err, ErrChanged) || after["bad"].DropFirst {
		t.Errorf("error %v, dropped first %t", err, after["bad"].DropFirst)
	}
}

// TestForeignDeletionCost: what a person set on a pod is not ours to change.
func TestForeignDeletionCost(t *testing.T) {
	c, namespace, policy := surging(t)
	var pod corev1.Pod
	get(t, c, namespace, "bad", &pod)
	pod.Annotations = map[string]string{corev1.PodDeletionCost: "7"}
	if err := c.Update(t.Context(), &pod); err != nil {
		t.Fatal(err)
	}
	target, pods := load(t, c, policy)
	if err := target.HandOver(t.Context(), c, namespace, pods["old"]); err != nil {
		t.Fatal(err)
	}
	target, pods = load(t, c, policy)
	if err := target.GiveBack(t.Context(), c, namespace, rollout.GiveBack{Pod: pods["old"], Drop: pods["bad"]}); err != nil {
		t.Fatal(err)
	}
	get(t, c, namespace, "bad", &pod)
	if got := pod.Annotations[corev1.PodDeletionCost]; got != "7" {
		t.Errorf("the deletion cost is %q", got)
	}
}

// TestEvictNotReady: a pod that is chosen because it is not ready is left alone if it has changed since.
func TestEvictNotReady(t *testing.T) {
	c, namespace, _ := surging(t)
	var pod corev1.Pod
	get(t, c, namespace, "old", &pod)
	seen := podFacts(&pod, "", "app")
	seen.Ready, seen.Version = false, "1"
	for what, do := range map[string]func() error{
		"evict":  func() error { return Evict(t.Context(), c, namespace, seen) },
		"delete": func() error { return Delete(t.Context(), c, namespace, seen) },
	} {
		if err := do(); !errors.Is(err, ErrChanged) || terminating(t, c, &pod) {
			t.Errorf("%s: error %v, want ErrChanged", what, err)
		}
	}
	seen.Version = pod.ResourceVersion
	if err := Evict(t.Context(), c, namespace, seen); err != nil || !terminating(t, c, &pod) {
		t.Errorf("a pod that is as it was: %v", err)
	}
	get(t, c, namespace, "bad", &pod)
	if err := Delete(t.Context(), c, namespace, podFacts(&pod, "", "app")); err != nil || !terminating(t, c, &pod) {
		t.Errorf("delete a pod that is as it was: %v", err)
	}
}

// TestEvictInTerminatingNamespace: all of its pods are going anyway.
func TestEvictInTerminatingNamespace(t *testing.T) {
	c, namespace := cluster(t)
	pod := runningPod(t, c, namespace, "pod")
	if err := c.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	if err := Evict(t.Context(), c, namespace, asListed(pod)); err != nil {
		t.Error(err)
	}
}
