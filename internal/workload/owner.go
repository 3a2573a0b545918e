package workload

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// TargetsOf tells, from the pod alone, what a policy may name to mean a pod: the most likely first. It also gives the pod's revision. No
// look-up means that the first pods of a new revision are not missed.
//
// A ReplicaSet of a Deployment is named after it and the hash of the pod template (k8s.io/kubernetes/pkg/controller/deployment/sync.go,
// getNewReplicaSet), and that of an Argo Rollout likewise; the pod does not tell whether there still is such an owner. StatefulSets and
// DaemonSets control their pods themselves, and label them with their revision. Any other controller may be meant too, but for Nodes, whose
// pods are mirrors, and Jobs, whose pods end.
func TargetsOf(pod *corev1.Pod) (targets []v1alpha1.TargetReference, revision types.UID) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return nil, ""
	}
	switch group := groupOf(owner.APIVersion); {
	case owner.APIVersion == appsv1.SchemeGroupVersion.String() && owner.Kind == KindReplicaSet:
		if name, ok := nameBefore(owner.Name, pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]); ok {
			targets = append(targets, reference(KindDeployment, name))
		}
		if name, ok := nameBefore(owner.Name, pod.Labels[labelRolloutHash]); ok {
			targets = append(targets, v1alpha1.TargetReference{APIVersion: groupArgo + "/v1alpha1", Kind: kindRollout, Name: name})
		}
		return append(targets, reference(KindReplicaSet, owner.Name)), owner.UID
	case group == appsv1.GroupName && (owner.Kind == KindStatefulSet || owner.Kind == KindDaemonSet):
		return []v1alpha1.TargetReference{reference(owner.Kind, owner.Name)}, revisionLabel(pod)
	case !strings.Contains(group, "."):
		return nil, "" // Nodes, Jobs, and what else of Kubernetes' own no policy can name
	}
	return []v1alpha1.TargetReference{{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name}}, revisionOf(pod)
}

// nameBefore is what a ReplicaSet's name says before the hash.
func nameBefore(name, hash string) (string, bool) {
	before, ok := strings.CutSuffix(name, "-"+hash)
	return before, ok && hash != "" && before != ""
}

// revisionLabel is the name of the pod's ControllerRevision with StatefulSets, the end of that name with DaemonSets.
func revisionLabel(pod *corev1.Pod) types.UID {
	return types.UID(pod.Labels[appsv1.ControllerRevisionHashLabelKey])
}

// reference names a workload of Kubernetes' own.
func reference(kind, name string) v1alpha1.TargetReference {
	return v1alpha1.TargetReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: kind, Name: name}
}

// SameTarget says that two references mean one workload: versions of an API group are views of the same objects.
func SameTarget(a, b v1alpha1.TargetReference) bool {
	return a.Kind == b.Kind && a.Name == b.Name && groupOf(a.APIVersion) == groupOf(b.APIVersion)
}

func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
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
