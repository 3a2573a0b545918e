package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// revisionAnnotation is set by the Deployment controller on the Deployment and on the ReplicaSet of its current template alike
// (k8s.io/kubernetes/pkg/controller/deployment/util, RevisionAnnotation).
const revisionAnnotation = "deployment.kubernetes.io/revision"

// replicas asked for; the API server fills in 1 where nothing is said.
func replicas(deployment *appsv1.Deployment) int32 {
	return ptr.Deref(deployment.Spec.Replicas, 1)
}

func ownedBy(deployment *appsv1.Deployment, replicaSets []appsv1.ReplicaSet) []appsv1.ReplicaSet {
	var owned []appsv1.ReplicaSet
	for _, replicaSet := range replicaSets {
		if metav1.IsControlledBy(&replicaSet, deployment) {
			owned = append(owned, replicaSet)
		}
	}
	return owned
}

func currentRevision(deployment *appsv1.Deployment, owned []appsv1.ReplicaSet) types.UID {
	revision := deployment.Annotations[revisionAnnotation]
	if revision == "" {
		return ""
	}
	for i := range owned {
		if owned[i].Annotations[revisionAnnotation] == revision {
			return owned[i].UID
		}
	}
	return ""
}

func rollingOut(deployment *appsv1.Deployment, owned []appsv1.ReplicaSet) bool {
	status := deployment.Status
	if deployment.Spec.Paused || status.ObservedGeneration < deployment.Generation || status.UpdatedReplicas != status.Replicas {
		return true
	}
	active := 0
	for i := range owned {
		if ptr.Deref(owned[i].Spec.Replicas, 1) != 0 || owned[i].Status.Replicas != 0 {
			active++
		}
	}
	return active > 1 || currentRevision(deployment, owned) == ""
}

// anyOfUnknownRevision finds a pod of a ReplicaSet of the Deployment that is not among those listed: the lists come from caches that
// follow the API server each at its own pace, and such a pod says that a rollout has begun.
func anyOfUnknownRevision(deployment *appsv1.Deployment, owned []appsv1.ReplicaSet, pods []corev1.Pod) bool {
	known := make(map[types.UID]bool, len(owned))
	for i := range owned {
		known[owned[i].UID] = true
	}
	for i := range pods {
		name, revision, ok := OwnerOf(&pods[i])
		if ok && name == deployment.Name && !known[revision] && pods[i].DeletionTimestamp == nil {
			return true
		}
	}
	return false
}
