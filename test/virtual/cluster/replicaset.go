package cluster

import (
	"cmp"
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"strconv"

	"github.com/gopacer/gopacer/test/virtual/api"
)

func labelSet(of map[string]string) labels.Set { return labels.Set(of) }

// syncReplicaSet is the ReplicaSet controller: it adopts orphans, ignores what another controls, creates what is missing, and deletes by rank.
func (c *Cluster) syncReplicaSet(replicaSet *appsv1.ReplicaSet) {
	pods := c.claim(replicaSet)
	if replicaSet.DeletionTimestamp == nil {
		missing := int(ptr.Deref(replicaSet.Spec.Replicas, 1)) - len(pods) - c.inFlight[replicaSet.UID]
		if missing > 0 && !c.now.Before(c.backoff[replicaSet.UID]) {
			for range missing {
				c.create(replicaSet)
			}
		}
		if extra := -missing; extra > 0 && c.inFlight[replicaSet.UID] == 0 { // expectations: it waits for its own creates first
			rank(pods, c.now)
			for _, pod := range pods[:min(extra, len(pods))] {
				c.deletePod(pod)
			}
		}
	}
	c.showReplicaSet(replicaSet, c.activeOf(replicaSet))
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// activeOf are the pods that a ReplicaSet counts.
func (c *Cluster) activeOf(replicaSet *appsv1.ReplicaSet) []*corev1.Pod {
	var active []*corev1.Pod
	for _, pod := range c.Pods() {
		if metav1.IsControlledBy(pod, replicaSet) && pod.DeletionTimestamp == nil && !finished(pod) {
			active = append(active, pod)
		}
	}
	return active
}

// claim adopts and releases pods (k8s.io/kubernetes/pkg/controller/controller_ref_manager.go).
func (c *Cluster) claim(replicaSet *appsv1.ReplicaSet) []*corev1.Pod {
	selector, err := metav1.LabelSelectorAsSelector(replicaSet.Spec.Selector)
	if err != nil {
		return nil
	}
	for _, pod := range c.Pods() {
		owner := metav1.GetControllerOf(pod)
		matches := pod.Namespace == replicaSet.Namespace && selector.Matches(labelSet(pod.Labels))
		switch {
		case owner != nil && owner.UID == replicaSet.UID && !matches && replicaSet.DeletionTimestamp == nil:
			released := pod.DeepCopy()
			released.OwnerReferences = slices.DeleteFunc(released.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == replicaSet.UID })
			c.update(released)
		case owner == nil && matches && pod.DeletionTimestamp == nil && replicaSet.DeletionTimestamp == nil && !finished(pod):
			adopted := pod.DeepCopy()
			adopted.OwnerReferences = append(adopted.OwnerReferences, *metav1.NewControllerRef(replicaSet, ReplicaSetKind))
			c.update(adopted)
		}
	}
	return c.activeOf(replicaSet)
}

func deletionCost(pod *corev1.Pod) int {
	cost, _ := strconv.Atoi(pod.Annotations[corev1.PodDeletionCost]) // 0 where it is none
	return cost
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func readySince(pod *corev1.Pod) time.Time {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}

func restarts(pod *corev1.Pod) int32 {
	most := int32(0)
	for _, status := range pod.Status.ContainerStatuses {
		most = max(most, status.RestartCount)
	}
	return most
}

// rank sorts those first that go first (k8s.io/kubernetes/pkg/controller, ActivePodsWithRanks; pods that share a node are not told apart).
func rank(pods []*corev1.Pod, _ time.Time) {
	phase := map[corev1.PodPhase]int{corev1.PodPending: 0, corev1.PodUnknown: 1, corev1.PodRunning: 2}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(
			cmp.Compare(boolean(a.Spec.NodeName != ""), boolean(b.Spec.NodeName != "")),
			cmp.Compare(phase[a.Status.Phase], phase[b.Status.Phase]),
			cmp.Compare(boolean(api.Ready(a)), boolean(api.Ready(b))),
			cmp.Compare(deletionCost(a), deletionCost(b)),
			readySince(b).Compare(readySince(a)),
			cmp.Compare(restarts(b), restarts(a)),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
}

func (c *Cluster) deletePod(pod *corev1.Pod) {
	if err := c.kube.Delete(context.Background(), pod.DeepCopy(), client.Preconditions{UID: &pod.UID}); err != nil {
		c.tell("controllers: %v", err)
	}
}

// create sends a pod on its way: through the webhook, and some time later into the store.
func (c *Cluster) create(replicaSet *appsv1.ReplicaSet) {
	pod := &corev1.Pod{
		ObjectMeta: *replicaSet.Spec.Template.ObjectMeta.DeepCopy(), Spec: *replicaSet.Spec.Template.Spec.DeepCopy(),
	}
	pod.Namespace, pod.GenerateName = replicaSet.Namespace, replicaSet.Name+"-"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(replicaSet, ReplicaSetKind)}
	c.inFlight[replicaSet.UID]++
	c.After(time.Millisecond, func() {
		if c.Admit != nil {
			pod = c.Admit(pod)
		}
		wait := c.Between(c.Admission)
		if c.Chance(c.Late) {
			wait = c.Between([2]time.Duration{time.Second, longestRequest})
		}
		c.send(replicaSet, pod, wait)
	})
}

// longestRequest is how long the API server works on a request at the most (k8s.io/apiserver, RequestTimeout of 60 s for most, and 34 s for
// what webhooks may take of it).
const longestRequest = 34 * time.Second

// patience of a ReplicaSet: its client gives up before the API server does, and the pod may still come.
const patience = 20 * time.Second

func (c *Cluster) send(replicaSet *appsv1.ReplicaSet, pod *corev1.Pod, wait time.Duration) {
	answered := false
	answer := func(failed bool) {
		if answered {
			return
		}
		answered = true
		c.inFlight[replicaSet.UID]--
		if failed {
			c.failures[replicaSet.UID]++
			c.backoff[replicaSet.UID] = c.now.Add(c.Between([2]time.Duration{10 * time.Millisecond, time.Second << min(c.failures[replicaSet.UID], 4)}))
			c.After(c.backoff[replicaSet.UID].Sub(c.now), c.wake)
		} else {
			c.failures[replicaSet.UID] = 0
		}
		c.wake()
	}
	if wait > patience {
		c.After(patience, func() { answer(true) })
	}
	c.After(wait, func() {
		if c.Trouble.NoQuota {
			answer(true)
			return
		}
		err := c.kube.Create(context.Background(), pod)
		if err != nil {
			c.tell("ReplicaSet %s: %v", replicaSet.Name, err)
		}
		answer(err != nil)
	})
}

func (c *Cluster) showReplicaSet(replicaSet *appsv1.ReplicaSet, active []*corev1.Pod) {
	status := appsv1.ReplicaSetStatus{Replicas: int32(len(active)), FullyLabeledReplicas: int32(len(active)), ObservedGeneration: replicaSet.Generation}
	for _, pod := range active {
		if !api.Ready(pod) {
			continue
		}
		status.ReadyReplicas++
		if available := readySince(pod).Add(time.Duration(replicaSet.Spec.MinReadySeconds) * time.Second); !available.After(c.now) {
			status.AvailableReplicas++
		} else {
			c.After(available.Sub(c.now), c.wake)
		}
	}
	changed := replicaSet.DeepCopy()
	changed.Status = status
	if !equality.Semantic.DeepEqual(changed.Status, replicaSet.Status) {
		c.updateStatus(changed)
	}
}
