package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/test/virtual/api"
)

// retry is how soon the scheduler and a kubelet try again what is not possible now.
const retry = 5 * time.Second

// crashBackoff is the wait before a container that ended is started again.
const crashBackoff = 10 * time.Second

// kubelet takes on pods, and ends those that are deleted.
func (c *Cluster) kubelet(event api.Event) {
	if event.After == nil {
		delete(c.running, event.Before.GetUID())
		delete(c.ending, event.Before.GetUID())
		return
	}
	pod := event.After.(*corev1.Pod)
	key, uid := client.ObjectKeyFromObject(pod), pod.UID
	switch {
	case pod.DeletionTimestamp != nil && !c.ending[uid]:
		c.ending[uid] = true
		c.After(c.Between(c.Grace), func() { c.end(key, uid) })
	case pod.DeletionTimestamp == nil && !c.running[uid]:
		c.running[uid] = true
		c.After(c.Between(c.Schedule), func() { c.bind(key, uid) })
	}
}

// pod is the pod if it still exists.
func (c *Cluster) pod(key types.NamespacedName, uid types.UID) *corev1.Pod {
	pod := &corev1.Pod{}
	if err := c.kube.Get(context.Background(), key, pod); err != nil || pod.UID != uid {
		return nil
	}
	return pod
}

func (c *Cluster) bind(key types.NamespacedName, uid types.UID) {
	pod := c.pod(key, uid)
	if pod == nil || pod.DeletionTimestamp != nil {
		return
	}
	node := fmt.Sprintf("node-%d", c.Random.IntN(c.Nodes))
	if c.Trouble.NoRoom || c.Trouble.Lost[node] {
		c.After(retry, func() { c.bind(key, uid) })
		return
	}
	pod.Spec.NodeName = node
	c.update(pod)
	c.After(c.Between(c.Start), func() { c.start(key, uid, 0) })
}

// start a container, for the first time or again.
func (c *Cluster) start(key types.NamespacedName, uid types.UID, restarts int32) {
	pod := c.pod(key, uid)
	if pod == nil || c.Trouble.Lost[pod.Spec.NodeName] || pod.DeletionTimestamp != nil {
		return
	}
	pod.Status.Phase = corev1.PodRunning
	last := corev1.ContainerState{}
	if len(pod.Status.ContainerStatuses) > 0 {
		last = pod.Status.ContainerStatuses[0].LastTerminationState
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, RestartCount: restarts, LastTerminationState: last,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: c.stamp()}},
	}}
	c.setReady(pod, false)
	c.updateStatus(pod)
	wait := c.Between(c.Ready) + c.Service.startsLater(pod)
	c.After(wait, func() { c.getReady(key, uid, restarts) })
	if after, reason := c.Service.crashes(pod, restarts); reason != "" {
		c.After(after, func() { c.Crash(key, uid, reason) })
	}
}

func (c *Cluster) getReady(key types.NamespacedName, uid types.UID, restarts int32) {
	pod := c.pod(key, uid)
	if pod == nil || pod.DeletionTimestamp != nil || pod.Status.ContainerStatuses[0].RestartCount != restarts {
		return
	}
	if c.Trouble.NeverReady || c.Service.neverReady(pod) || c.Trouble.Lost[pod.Spec.NodeName] || pod.Status.ContainerStatuses[0].State.Running == nil {
		c.After(retry, func() { c.getReady(key, uid, restarts) })
		return
	}
	c.setReady(pod, true)
	c.updateStatus(pod)
}

// Crash ends a pod's container, which starts again a while later.
func (c *Cluster) Crash(key types.NamespacedName, uid types.UID, reason string) {
	pod := c.pod(key, uid)
	if pod == nil || pod.DeletionTimestamp != nil || len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Running == nil {
		return
	}
	status := &pod.Status.ContainerStatuses[0]
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: reason, FinishedAt: c.stamp()}}
	restarts := status.RestartCount + 1
	status.LastTerminationState = ended
	status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	status.RestartCount = restarts // the kubelet counts with the next start; it is seen a little sooner here
	c.setReady(pod, false)
	c.updateStatus(pod)
	c.After(crashBackoff, func() { c.start(key, uid, restarts) })
}

// Unready makes a pod lose its readiness for a while.
func (c *Cluster) Unready(key types.NamespacedName, uid types.UID, length time.Duration) {
	pod := c.pod(key, uid)
	if pod == nil || pod.DeletionTimestamp != nil || !api.Ready(pod) {
		return
	}
	c.setReady(pod, false)
	c.updateStatus(pod)
	restarts := pod.Status.ContainerStatuses[0].RestartCount
	c.After(length, func() { c.getReady(key, uid, restarts) })
}

func (c *Cluster) setReady(pod *corev1.Pod, ready bool) {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodReady {
			if condition.Status != status {
				condition.Status, condition.LastTransitionTime = status, c.stamp()
			}
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: c.stamp()})
}

func (c *Cluster) stamp() metav1.Time { return metav1.NewTime(c.now.Truncate(time.Second)) }

// end removes a pod whose containers have stopped; on a lost node nobody does.
func (c *Cluster) end(key types.NamespacedName, uid types.UID) {
	pod := c.pod(key, uid)
	switch {
	case pod == nil:
	case c.Trouble.Stuck || c.Trouble.Lost[pod.Spec.NodeName]:
		c.After(retry, func() { c.end(key, uid) })
	default:
		c.Server.Finish("kubelet", uid, key)
	}
}

const (
	// unreachableAfter is when the pods of a lost node count as not ready, evictedAfter when they are deleted
	// (k8s.io/kubernetes/pkg/controller/nodelifecycle; the toleration of unreachable nodes).
	unreachableAfter = 40 * time.Second
	evictedAfter     = 5 * time.Minute
)

// LoseNode cuts a node off for a while. Its pods then run again, or are removed if they were deleted meanwhile.
func (c *Cluster) LoseNode(node string, length time.Duration) {
	c.Trouble.Lost[node] = true
	c.After(unreachableAfter, func() { c.onLost(node, func(pod *corev1.Pod) { c.setReady(pod, false); c.updateStatus(pod) }) })
	c.After(unreachableAfter+evictedAfter, func() { c.onLost(node, c.deletePod) })
	c.After(length, func() { c.Recover(node) })
}

func (c *Cluster) onLost(node string, do func(*corev1.Pod)) {
	if !c.Trouble.Lost[node] {
		return
	}
	for _, pod := range c.Pods() {
		if pod.Spec.NodeName == node && pod.DeletionTimestamp == nil {
			do(pod.DeepCopy())
		}
	}
}

// Recover brings a node back.
func (c *Cluster) Recover(node string) {
	delete(c.Trouble.Lost, node)
	for _, pod := range c.Pods() {
		if pod.Spec.NodeName != node || pod.DeletionTimestamp != nil || api.Ready(pod) {
			continue
		}
		key, uid := client.ObjectKeyFromObject(pod), pod.UID
		if len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Running == nil {
			restarts := restarts(pod)
			c.After(c.Between(c.Start), func() { c.start(key, uid, restarts) })
			continue
		}
		restarts := pod.Status.ContainerStatuses[0].RestartCount
		c.After(c.Between(c.Sync), func() { c.getReady(key, uid, restarts) })
	}
}
