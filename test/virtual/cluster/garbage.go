package cluster

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// collected are the kinds that the garbage collector looks at, owners first.
var collected = []kindType{DeploymentKind, ReplicaSetKind, PodKind}

// collectGarbage deletes what its owners have left, and lets owners go that wait for that (k8s.io/kubernetes/pkg/controller/garbagecollector).
func (c *Cluster) collectGarbage() {
	living := map[types.UID]client.Object{}
	for _, kind := range append(slices.Clone(collected), PolicyKind) {
		for _, object := range c.Server.All(kind) {
			living[object.GetUID()] = object
		}
	}
	for _, kind := range collected {
		for _, object := range c.Server.All(kind) {
			c.collect(object, living)
		}
	}
}

func (c *Cluster) collect(object client.Object, living map[types.UID]client.Object) {
	if object.GetDeletionTimestamp() != nil {
		c.finalize(object)
	}
	owners := object.GetOwnerReferences()
	if len(owners) == 0 || object.GetDeletionTimestamp() != nil {
		return
	}
	waited := false
	for _, owner := range owners {
		found := living[owner.UID]
		if found == nil {
			continue
		}
		if !slices.Contains(found.GetFinalizers(), metav1.FinalizerDeleteDependents) || found.GetDeletionTimestamp() == nil {
			return // it has an owner
		}
		waited = true
	}
	policy := metav1.DeletePropagationBackground
	if _, leaf := object.(*corev1.Pod); waited && !leaf {
		policy = metav1.DeletePropagationForeground
	}
	uid := object.GetUID()
	copied := object.DeepCopyObject().(client.Object)
	if err := c.kube.Delete(context.Background(), copied, client.Preconditions{UID: &uid}, client.PropagationPolicy(policy)); err != nil {
		c.tell("garbage collector: %v", err)
	}
}

// finalize carries out foreground deletion, and orphans.
func (c *Cluster) finalize(object client.Object) {
	orphans := slices.Contains(object.GetFinalizers(), metav1.FinalizerOrphanDependents)
	foreground := slices.Contains(object.GetFinalizers(), metav1.FinalizerDeleteDependents)
	if !orphans && !foreground {
		return
	}
	blocked := false
	for _, kind := range collected {
		for _, dependent := range c.Server.All(kind) {
			owned := slices.ContainsFunc(dependent.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
				return owner.UID == object.GetUID() && (orphans || ptr.Deref(owner.BlockOwnerDeletion, false))
			})
			if !owned {
				continue
			}
			if orphans {
				c.orphan(dependent, object.GetUID())
			} else {
				blocked = true
			}
		}
	}
	if !blocked {
		changed := object.DeepCopyObject().(client.Object)
		changed.SetFinalizers(slices.DeleteFunc(changed.GetFinalizers(), func(finalizer string) bool {
			return finalizer == metav1.FinalizerOrphanDependents || finalizer == metav1.FinalizerDeleteDependents
		}))
		c.update(changed)
	}
}

func (c *Cluster) orphan(dependent client.Object, owner types.UID) {
	changed := dependent.DeepCopyObject().(client.Object)
	changed.SetOwnerReferences(slices.DeleteFunc(changed.GetOwnerReferences(), func(reference metav1.OwnerReference) bool { return reference.UID == owner }))
	c.update(changed)
}
