package workload

import (
	"cmp"
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// revisionAnnotation is set by the Deployment controller on the Deployment and on the ReplicaSet of its current template alike
// (k8s.io/kubernetes/pkg/controller/deployment/util, RevisionAnnotation).
const revisionAnnotation = "deployment.kubernetes.io/revision"

// loadDeployment lists the pods before the ReplicaSets, so that a pod's ReplicaSet is never too new to be known.
func loadDeployment(ctx context.Context, reader Reader, policy *v1alpha1.RuntimeTuningPolicy) (owner, []corev1.Pod, error) {
	var deployment appsv1.Deployment
	if err := fetch(ctx, reader, policy, &deployment); err != nil {
		return owner{}, nil, err
	}
	selected, pods, err := selectPods(ctx, reader, policy, deployment.Spec.Selector)
	if err != nil {
		return owner{}, nil, err
	}
	var replicaSets appsv1.ReplicaSetList
	if err := reader.List(ctx, &replicaSets, selected...); err != nil {
		return owner{}, nil, fmt.Errorf("list the ReplicaSets of Deployment %s/%s: %w", deployment.Namespace, deployment.Name, err)
	}
	return ofDeployment(&deployment, replicaSets.Items, pods), pods, nil
}

// ofDeployment is pure.
func ofDeployment(deployment *appsv1.Deployment, replicaSets []appsv1.ReplicaSet, pods []corev1.Pod) owner {
	owned := ownedBy(deployment, replicaSets)
	known := make(map[types.UID]bool, len(owned))
	byName := make(map[string]types.UID, len(owned))
	for i := range owned {
		known[owned[i].UID] = true
		byName[owned[i].Name] = owned[i].UID
	}
	handedOver := func(pod *corev1.Pod) bool { return metav1.IsControlledBy(pod, deployment) }
	o := owner{
		Target: Target{
			UID:        deployment.UID,
			Replicas:   replicas(deployment),
			Revision:   currentRevision(deployment, owned),
			RollingOut: rollingOut(deployment, owned) || anyOfUnknownRevision(deployment, known, pods),
			Scaling:    deployment.Status.Replicas != replicas(deployment),
			MinReady:   time.Duration(deployment.Spec.MinReadySeconds) * time.Second,
			name:       deployment.Name,
		},
		called: KindDeployment + " " + deployment.Name, template: &deployment.Spec.Template,
		revision: func(pod *corev1.Pod) types.UID {
			hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
			controller := metav1.GetControllerOf(pod)
			switch {
			case handedOver(pod): // where its ReplicaSet is gone, the hash is the revision of no other pod
				return cmp.Or(byName[deployment.Name+"-"+hash], types.UID(hash), "none")
			case controller != nil && known[controller.UID]:
				return controller.UID
			}
			return ""
		},
		handedOver: handedOver,
		surge: func(ctx context.Context, reader client.Reader, target *Target) error {
			return target.settleSurge(ctx, reader, deployment)
		},
	}
	o.knowReplicaSets(owned)
	return o
}

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

// knowReplicaSets keeps which may get a pod back, and whether the current one can create pods.
func (t *Target) knowReplicaSets(owned []appsv1.ReplicaSet) {
	t.replicaSets = map[types.UID]string{}
	for i := range owned {
		if owned[i].DeletionTimestamp == nil {
			t.replicaSets[owned[i].UID] = owned[i].Name
		}
		if owned[i].UID != t.Revision {
			continue
		}
		for _, condition := range owned[i].Status.Conditions {
			if condition.Type == appsv1.ReplicaSetReplicaFailure && condition.Status == corev1.ConditionTrue {
				t.CreationFailsSince = condition.LastTransitionTime.Time
			}
		}
	}
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
func anyOfUnknownRevision(deployment *appsv1.Deployment, known map[types.UID]bool, pods []corev1.Pod) bool {
	for i := range pods {
		targets, revision := TargetsOf(&pods[i])
		if len(targets) > 0 && targets[0] == reference(KindDeployment, deployment.Name) && !known[revision] && pods[i].DeletionTimestamp == nil {
			return true
		}
	}
	return false
}
