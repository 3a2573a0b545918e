package workload

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// OwnerOf tells the Deployment that a pod belongs to, and its revision, from the pod alone: a ReplicaSet of a Deployment is named after it and
// the hash of the pod template (k8s.io/kubernetes/pkg/controller/deployment/sync.go, getNewReplicaSet). No look-up means that the first pods
// of a new revision are not missed.
func OwnerOf(pod *corev1.Pod) (deployment string, revision types.UID, ok bool) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "ReplicaSet" || owner.APIVersion != appsv1.SchemeGroupVersion.String() {
		return "", "", false
	}
	hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	if hash == "" {
		return "", "", false
	}
	name, ok := strings.CutSuffix(owner.Name, "-"+hash)
	if !ok || name == "" {
		return "", "", false
	}
	return name, owner.UID, true
}

// Ruling is the policy that settles what the pods of a target run, out of all that name the target: the oldest, or the first by name among
// equally old ones. The others are Conflicted. Policies that are being deleted have no say.
func Ruling(policies []v1alpha1.RuntimeTuningPolicy) *v1alpha1.RuntimeTuningPolicy {
	var ruling *v1alpha1.RuntimeTuningPolicy
	for i := range policies {
		policy := &policies[i]
		if policy.DeletionTimestamp == nil && (ruling == nil || older(policy, ruling)) {
			ruling = policy
		}
	}
	return ruling
}

func older(a, b *v1alpha1.RuntimeTuningPolicy) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}
