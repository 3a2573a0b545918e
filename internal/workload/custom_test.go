package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func custom(apiVersion, kind, namespace string, spec, status map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "checkout", "namespace": namespace}, "spec": spec, "status": status,
	}}
	return object
}

func rolloutSpec() map[string]any {
	return map[string]any{"replicas": int64(2), "selector": map[string]any{"matchLabels": map[string]any{"app": "checkout"}}}
}

func TestOfRollout(t *testing.T) {
	for name, test := range map[string]struct {
		spec, status map[string]any
		more         bool
		want         func(*Target)
	}{
		"settled":                   {},
		"the generation is a text":  {status: map[string]any{"observedGeneration": "3"}},
		"an older generation":       {status: map[string]any{"observedGeneration": int64(2)}, want: func(target *Target) { target.RollingOut = true }},
		"none was observed":         {status: map[string]any{"observedGeneration": nil}, want: func(target *Target) { target.RollingOut = true }},
		"paused":                    {spec: map[string]any{"paused": true}, want: func(target *Target) { target.RollingOut = true }},
		"a canary of Argo's own":    {status: map[string]any{"stableRS": "old"}, want: func(target *Target) { target.RollingOut = true }},
		"two ReplicaSets have pods": {more: true, want: func(target *Target) { target.RollingOut = true }},
		"scaling":                   {spec: map[string]any{"replicas": int64(5)}, want: func(target *Target) { target.Replicas, target.Scaling = 5, true }},
		"its ReplicaSet is not there": {status: map[string]any{"currentPodHash": "newest", "stableRS": "newest"}, want: func(target *Target) {
			target.Revision, target.RollingOut, target.Container = "", true, ""
		}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := rolloutSpec()
			status := map[string]any{"observedGeneration": int64(3), "currentPodHash": "new", "stableRS": "new", "replicas": int64(2)}
			for key, value := range test.spec {
				spec[key] = value
			}
			for key, value := range test.status {
				status[key] = value
			}
			object := custom("argoproj.io/v1alpha1", "Rollout", "shop", spec, status)
			object.SetUID("rollout")
			object.SetGeneration(3)
			var rollout argoRollout
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &rollout); err != nil {
				t.Fatal(err)
			}
			sets := []appsv1.ReplicaSet{underRollout(object, "new", 2), underRollout(object, "old", 0)}
			if test.more {
				sets[1].Status.Replicas = 1
			}
			pods := []corev1.Pod{*newPod(&sets[0], "new", "one")}
			got, err := assemble(newPolicy(""), ofRollout(object, rollout, sets), pods)
			want := Target{UID: "rollout", Replicas: 2, Container: "app", Revision: "replicaset-new"}
			if test.want != nil {
				test.want(&want)
			}
			if (err != nil) != (want.Container == "") {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff([]string{"one of replicaset-new"}, described(got)); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
			got.Pods = nil
			if diff := cmp.Diff(want, got, ignoreUnexported); diff != "" {
				t.Errorf("target (-want +got):\n%s", diff)
			}
		})
	}
}

func underRollout(object *unstructured.Unstructured, hash string, replicas int32) appsv1.ReplicaSet {
	set := newReplicaSet(newDeployment(), hash, "1", replicas)
	set.Namespace, set.Labels = object.GetNamespace(), map[string]string{"app": "checkout", labelRolloutHash: hash}
	set.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: object.GetName(), UID: object.GetUID(), Controller: ptr.To(true),
	}}
	return set
}

// TestLoadRollout reads what a real API server returns, also where the selector stands in the status alone.
func TestLoadRollout(t *testing.T) {
	c, namespace := cluster(t)
	policy := newPolicy("")
	policy.Namespace, policy.Spec.TargetRef.APIVersion, policy.Spec.TargetRef.Kind = namespace, "argoproj.io/v1alpha1", "Rollout"
	_, err := Load(t.Context(), c, policy)
	checkRefusal(t, err, v1alpha1.ReasonTargetNotFound, "there is no Rollout")

	status := map[string]any{"observedGeneration": int64(1), "currentPodHash": "new", "stableRS": "new", "replicas": int64(2), "selector": "app=checkout"}
	object := custom("argoproj.io/v1alpha1", "Rollout", namespace, map[string]any{"replicas": int64(2)}, status)
	create(t, c, object)
	set := underRollout(object, "new", 2)
	set.UID = ""
	create(t, c, &set)
	create(t, c, newPod(&set, "new", "one"))
	got, err := Load(t.Context(), c, policy)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one of " + string(set.UID)}, described(got)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	got.Pods = nil
	if diff := cmp.Diff(Target{UID: object.GetUID(), Replicas: 2, Container: "app", Revision: set.UID}, got, ignoreUnexported); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
}

// TestLoadScaled reads a kind by its scale, and refuses what that does not tell.
func TestLoadScaled(t *testing.T) {
	c, namespace := cluster(t)
	policy := newPolicy("")
	policy.Namespace = namespace
	template := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "app", "image": "app"}}}}
	load := func(apiVersion, kind string) (Target, error) {
		policy.Spec.TargetRef.APIVersion, policy.Spec.TargetRef.Kind = apiVersion, kind
		return Load(t.Context(), c, policy)
	}
	_, err := load("example.com/v1", "Unknown")
	checkRefusal(t, err, v1alpha1.ReasonTargetNotFound, "the cluster has no kind Unknown of example.com/v1")
	create(t, c, custom("example.com/v1", "Flock", namespace, map[string]any{"template": template}, nil))
	_, err = load("example.com/v1", "Flock")
	checkRefusal(t, err, v1alpha1.ReasonInvalidSpec, "Flock checkout has no scale")

	fleet := custom("example.com/v1", "Fleet", namespace, map[string]any{"replicas": int64(3)}, nil)
	create(t, c, fleet)
	_, err = load("example.com/v1", "Fleet")
	checkRefusal(t, err, v1alpha1.ReasonInvalidSpec, "no pod template at spec.template")
	fleet.Object["spec"] = map[string]any{"replicas": int64(3), "template": template}
	update(t, c, fleet)
	_, err = load("example.com/v1", "Fleet")
	checkRefusal(t, err, v1alpha1.ReasonInvalidSpec, "has no selector")
	fleet.Object["status"] = map[string]any{"replicas": int64(3), "selector": "app=checkout"}
	update(t, c, fleet)

	for name, revision := range map[string]string{"a": "7f8b", "b": "7f8b"} {
		create(t, c, podOfFleet(fleet, name, revision))
	}
	got, err := load("example.com/v1", "Fleet")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a of 7f8b", "b of 7f8b"}, described(got)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	got.Pods = nil
	if diff := cmp.Diff(Target{UID: fleet.GetUID(), Replicas: 3, Container: "app", Revision: "7f8b"}, got, ignoreUnexported); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
	create(t, c, podOfFleet(fleet, "c", "5d9c"))
	if got, err = load("example.com/v1", "Fleet"); err != nil || got.Revision != "" || !got.RollingOut {
		t.Errorf("with pods of two revisions: %+v, %v", got, err)
	}
}

func podOfFleet(fleet *unstructured.Unstructured, name, revision string) *corev1.Pod {
	pod := podUnder(fleet, "Fleet", name, revision)
	pod.OwnerReferences[0].APIVersion = fleet.GetAPIVersion()
	return &pod
}

// TestScaledWithoutRevisions: where pods bear no revision, their owner's UID stands in, and another image in the template shows.
func TestScaledWithoutRevisions(t *testing.T) {
	fleet := custom("example.com/v1", "Fleet", "shop", nil, nil)
	fleet.SetUID("fleet")
	pod := podOfFleet(fleet, "a", "")
	template := podTemplate()
	owner := ofScale(fleet, "Fleet checkout", settledScale(2), &template, []corev1.Pod{*pod})
	if owner.Revision != types.UID("fleet") || owner.RollingOut || owner.PendingUpdate != "" {
		t.Errorf("settled: %+v", owner.Target)
	}
	template.Spec.Containers[0].Image = "app:2"
	if owner = ofScale(fleet, "Fleet checkout", settledScale(2), &template, []corev1.Pod{*pod}); !owner.RollingOut || owner.PendingUpdate == "" {
		t.Errorf("another image: %+v", owner.Target)
	}
}

func settledScale(replicas int32) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}, Status: autoscalingv1.ScaleStatus{Replicas: replicas}}
}

func update(t *testing.T, c client.Client, object client.Object) {
	t.Helper()
	if err := c.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}
