package workload

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/internal/rollout"
)

// dropFirst is the deletion cost of a pod that its ReplicaSet is to drop before others (KEP-2255): one above the least, which a person would
// rather choose, so that gopacer clears its own only.
const dropFirst = "-2147483647"

// HandOver makes the Deployment itself the controller of a pod, in the place of its ReplicaSet, in one write. The ReplicaSet ignores a pod that
// another controls, and starts a successor at once (k8s.io/kubernetes/pkg/controller, PodControllerRefManager.ClaimPods); no label changes, so
// that Services, budgets and kubectl drain know no difference. There is no blockOwnerDeletion: with it the API server may ask for the right to
// update the Deployment's finalizers. A pod that has changed since it was looked at is left as it is.
func (t *Target) HandOver(ctx context.Context, c client.Client, namespace string, pod rollout.Pod) error {
	deployment := metav1.OwnerReference{
		APIVersion: appsv1.SchemeGroupVersion.String(), Kind: KindDeployment, Name: t.name, UID: t.UID, Controller: ptr.To(true),
	}
	if err := t.setController(ctx, c, namespace, pod, deployment); err != nil {
		return fmt.Errorf("hand pod %s/%s over: %w", namespace, pod.Name, err)
	}
	return nil
}

// GiveBack undoes a hand-over: the pod's ReplicaSet controls it again, has one too many, and drops the other one. That is told first: a manager
// that dies in between leaves a pod that is dropped when there is one too many, and not before.
func (t *Target) GiveBack(ctx context.Context, c client.Client, namespace string, back rollout.GiveBack) error {
	name, live := t.replicaSets[back.Pod.Revision]
	if !live {
		return fmt.Errorf("give pod %s/%s back: %w: its ReplicaSet is gone", namespace, back.Pod.Name, ErrChanged)
	}
	if _, set := t.costs[back.Drop.UID]; back.Drop.UID != "" && !set { // what a person set stays
		if err := patchPod(ctx, c, namespace, back.Drop, deletionCost(dropFirst)); err != nil {
			return fmt.Errorf("ask the ReplicaSet to drop pod %s/%s first: %w", namespace, back.Drop.Name, err)
		}
	}
	replicaSet := metav1.OwnerReference{
		APIVersion: appsv1.SchemeGroupVersion.String(), Kind: KindReplicaSet, Name: name, UID: back.Pod.Revision, Controller: ptr.To(true),
	}
	if err := t.setController(ctx, c, namespace, back.Pod, replicaSet); err != nil {
		return fmt.Errorf("give pod %s/%s back to ReplicaSet %s: %w", namespace, back.Pod.Name, name, err)
	}
	return nil
}

// Spare takes back what GiveBack asked of a pod that lives on.
func Spare(ctx context.Context, c client.Client, namespace string, pod rollout.Pod) error {
	if err := patchPod(ctx, c, namespace, pod, deletionCost(nil)); err != nil {
		return fmt.Errorf("clear the deletion cost of pod %s/%s: %w", namespace, pod.Name, err)
	}
	return nil
}

func deletionCost(cost any) map[string]any {
	return map[string]any{"annotations": map[string]any{corev1.PodDeletionCost: cost}} // nil in a merge patch removes the key
}

// setController replaces a pod's controller. Its other owners stay.
func (t *Target) setController(ctx context.Context, c client.Client, namespace string, pod rollout.Pod, controller metav1.OwnerReference) error {
	owners := []metav1.OwnerReference{controller}
	for _, owner := range t.owners[pod.UID] {
		if !ptr.Deref(owner.Controller, false) {
			owners = append(owners, owner)
		}
	}
	return patchPod(ctx, c, namespace, pod, map[string]any{"ownerReferences": owners})
}

// patchPod changes a pod as it was looked at, and no other: the API server compares UID and resourceVersion. That it has changed since, or is gone,
// is for the next look: ErrChanged.
func patchPod(ctx context.Context, c client.Client, namespace string, pod rollout.Pod, metadata map[string]any) error {
	metadata["uid"], metadata["resourceVersion"] = pod.UID, pod.Version
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("write the patch: %w", err)
	}
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod.Name}}
	err = c.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || otherUID(err) {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}
