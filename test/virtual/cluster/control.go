package cluster

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/test/virtual/api"
)

// heard wakes the controllers, and the kubelet of a pod.
func (c *Cluster) heard(event api.Event) {
	switch event.Kind {
	case PodKind:
		c.kubelet(event)
		c.wake()
	case DeploymentKind, ReplicaSetKind, BudgetKind:
		c.wake()
	}
}

// wake lets the controllers look soon.
func (c *Cluster) wake() {
	if !c.syncing {
		c.syncing = true
		c.After(c.Between(c.Sync), c.sync)
	}
}

// sync is one round of all controllers.
func (c *Cluster) sync() {
	c.syncing = false
	c.collectGarbage()
	for _, deployment := range all[*deploymentType](c, DeploymentKind) {
		c.syncDeployment(deployment)
	}
	for _, replicaSet := range all[*replicaSetType](c, ReplicaSetKind) {
		c.syncReplicaSet(replicaSet)
	}
	for _, budget := range all[*budgetType](c, BudgetKind) {
		c.syncBudget(budget)
	}
}

// all are the objects of a kind. They must not be changed.
func all[T client.Object](c *Cluster, kind kindType) []T {
	objects := c.Server.All(kind)
	typed := make([]T, 0, len(objects))
	for _, object := range objects {
		typed = append(typed, object.(T))
	}
	return typed
}

// Pods are all pods of the cluster. They must not be changed.
func (c *Cluster) Pods() []*corev1.Pod { return all[*corev1.Pod](c, PodKind) }

// update and updateStatus write as a controller does; what it can't write now it writes with the next round.
func (c *Cluster) update(object client.Object) {
	if err := c.kube.Update(context.Background(), object); err != nil {
		c.tell("controllers: %v", err)
		c.wakeLater()
	}
}

func (c *Cluster) updateStatus(object client.Object) {
	if err := c.kube.Status().Update(context.Background(), object); err != nil {
		c.tell("controllers: %v", err)
		c.wakeLater()
	}
}

func (c *Cluster) wakeLater() { c.After(time.Second, c.wake) }
