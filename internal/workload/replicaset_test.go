package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// bareReplicaSet of two replicas is settled.
func bareReplicaSet() *appsv1.ReplicaSet {
	set := newReplicaSet(newDeployment(), "new", "1", 2)
	set.Name, set.UID, set.OwnerReferences, set.Annotations = "checkout", "set", nil, nil
	set.Generation, set.Status.ObservedGeneration = 3, 3
	return &set
}

func TestOfReplicaSet(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*appsv1.ReplicaSet)
		image   string
		want    func(*Target)
		pinned  bool
		pending string
	}{
		"settled": {},
		"one replica where none is said": {
			change: func(set *appsv1.ReplicaSet) { set.Spec.Replicas, set.Status.Replicas = nil, 1 },
			want:   func(target *Target) { target.Replicas = 1 },
		},
		"scaling": {
			change: func(set *appsv1.ReplicaSet) { set.Spec.Replicas = ptr.To[int32](5) },
			want:   func(target *Target) { target.Replicas, target.Scaling = 5, true },
		},
		"its controller has not seen the last change": {
			change: func(set *appsv1.ReplicaSet) { set.Generation = 4 }, want: func(target *Target) { target.RollingOut = true },
		},
		"the template has another image": {
			image: "app:2", want: func(target *Target) { target.RollingOut = true }, pinned: true,
			pending: "pods of ReplicaSet checkout that run another image than its template says: 1; delete those pods, or take the change back",
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := bareReplicaSet()
			if test.change != nil {
				test.change(set)
			}
			pod, stranger := newPod(set, "new", "one"), newPod(set, "new", "stranger")
			stranger.OwnerReferences[0].UID = "other"
			pod.Spec.Containers = append([]corev1.Container{{Name: "injected", Image: "proxy"}}, pod.Spec.Containers...)
			if test.image != "" {
				set.Spec.Template.Spec.Containers[0].Image = test.image
			}
			pods := []corev1.Pod{*pod, *stranger}
			got, err := assemble(newPolicy(""), ofReplicaSet(set, pods), pods)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Pods) != 1 || got.Pods[0].Revision != "set" || got.Pods[0].Pinned != test.pinned {
				t.Errorf("pods %+v", got.Pods)
			}
			want := Target{UID: "set", Replicas: 2, Container: "app", Revision: "set", PendingUpdate: test.pending}
			if test.want != nil {
				test.want(&want)
			}
			got.Pods = nil
			if diff := cmp.Diff(want, got, ignoreUnexported); diff != "" {
				t.Errorf("target (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLoadReplicaSet reads what a real API server returns; one that a Deployment controls is refused.
func TestLoadReplicaSet(t *testing.T) {
	c, namespace := cluster(t)
	policy := newPolicy("")
	policy.Namespace, policy.Spec.TargetRef.Kind = namespace, "ReplicaSet"
	set := bareReplicaSet()
	set.Namespace, set.UID = namespace, ""
	create(t, c, set)
	create(t, c, newPod(set, "new", "one"))
	got, err := Load(t.Context(), c, policy)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one of " + string(set.UID)}, described(got)); diff != "" || got.Revision != set.UID || got.Replicas != 2 {
		t.Errorf("target %+v, pods %s", got, diff)
	}
	owned := newReplicaSet(newDeployment(), "new", "1", 2)
	owned.Namespace, owned.UID = namespace, ""
	create(t, c, &owned)
	policy.Spec.TargetRef.Name = owned.Name
	_, err = Load(t.Context(), c, policy)
	checkRefusal(t, err, v1alpha1.ReasonInvalidSpec, "belongs to Deployment checkout")
}
