package cluster

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/test/virtual/api"
)

// syncBudget is the disruption controller (k8s.io/kubernetes/pkg/controller/disruption).
func (c *Cluster) syncBudget(budget *policyv1.PodDisruptionBudget) {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return
	}
	var pods []*corev1.Pod
	healthy := int32(0)
	disrupted := maps.Clone(budget.Status.DisruptedPods)
	maps.DeleteFunc(disrupted, func(name string, _ metav1.Time) bool { return !c.isThere(budget.Namespace, name) })
	for _, pod := range c.Pods() {
		if pod.Namespace != budget.Namespace || !selector.Matches(labelSet(pod.Labels)) || finished(pod) {
			continue
		}
		pods = append(pods, pod)
		if _, going := disrupted[pod.Name]; api.Ready(pod) && pod.DeletionTimestamp == nil && !going {
			healthy++
		}
	}
	expected, desired := c.expected(budget, pods)
	if len(disrupted) == 0 {
		disrupted = nil
	}
	changed := budget.DeepCopy()
	changed.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: budget.Generation, CurrentHealthy: healthy, DesiredHealthy: desired, ExpectedPods: expected, DisruptedPods: disrupted,
	}
	if healthy >= desired && expected > 0 {
		changed.Status.DisruptionsAllowed = healthy - desired
	}
	if !equality.Semantic.DeepEqual(changed.Status, budget.Status) {
		c.updateStatus(changed)
	}
}

// isThere says that a pod is there and not on its way out.
func (c *Cluster) isThere(namespace, name string) bool {
	for _, pod := range c.Pods() {
		if pod.Namespace == namespace && pod.Name == name {
			return pod.DeletionTimestamp == nil
		}
	}
	return false
}

func (c *Cluster) expected(budget *policyv1.PodDisruptionBudget, pods []*corev1.Pod) (expected, desired int32) {
	if least := budget.Spec.MinAvailable; least != nil && least.Type == intstr.Int {
		return int32(len(pods)), least.IntVal
	}
	expected = c.asked(pods)
	if least := budget.Spec.MinAvailable; least != nil {
		scaled, _ := intstr.GetScaledValueFromIntOrPercent(least, int(expected), true)
		return expected, int32(scaled)
	}
	most, _ := intstr.GetScaledValueFromIntOrPercent(budget.Spec.MaxUnavailable, int(expected), true)
	return expected, max(0, expected-int32(most))
}

// asked is how many pods the controllers of the pods are asked for: a Deployment for those of its ReplicaSets, and for those that it controls
// itself (finders getPodDeployment and getScaleController).
func (c *Cluster) asked(pods []*corev1.Pod) int32 {
	counted := map[types.UID]int32{}
	for _, pod := range pods {
		owner := metav1.GetControllerOf(pod)
		if owner == nil {
			continue
		}
		for _, replicaSet := range all[*appsv1.ReplicaSet](c, ReplicaSetKind) {
			if replicaSet.UID != owner.UID {
				continue
			}
			counted[replicaSet.UID] = ptr.Deref(replicaSet.Spec.Replicas, 1)
			if parent := metav1.GetControllerOf(replicaSet); parent != nil {
				delete(counted, replicaSet.UID)
				owner = parent
			}
		}
		for _, deployment := range all[*appsv1.Deployment](c, DeploymentKind) {
			if deployment.UID == owner.UID {
				counted[deployment.UID] = ptr.Deref(deployment.Spec.Replicas, 1)
			}
		}
	}
	total := int32(0)
	for _, replicas := range counted {
		total += replicas
	}
	return total
}
