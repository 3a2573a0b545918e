package cluster

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"
)

type (
	deploymentType = appsv1.Deployment
	replicaSetType = appsv1.ReplicaSet
	budgetType     = policyv1.PodDisruptionBudget
	kindType       = schema.GroupVersionKind
)

// revisionAnnotation is on a Deployment and on the ReplicaSet of its template.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// syncDeployment is the Deployment controller (k8s.io/kubernetes/pkg/controller/deployment), in short.
func (c *Cluster) syncDeployment(deployment *appsv1.Deployment) {
	owned := c.replicaSetsOf(deployment)
	current := c.currentReplicaSet(deployment, owned)
	if deployment.DeletionTimestamp == nil {
		if current == nil && !deployment.Spec.Paused {
			c.createReplicaSet(deployment, owned)
			return // it wakes the controllers again
		}
		if current != nil && c.renumber(current, owned) {
			return
		}
		c.rollOut(deployment, current, owned)
	}
	c.showDeployment(deployment, current, owned)
}

func (c *Cluster) replicaSetsOf(deployment *appsv1.Deployment) []*appsv1.ReplicaSet {
	var owned []*appsv1.ReplicaSet
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return nil
	}
	for _, replicaSet := range all[*replicaSetType](c, ReplicaSetKind) {
		owner := metav1.GetControllerOf(replicaSet)
		switch {
		case owner != nil && owner.UID == deployment.UID:
			owned = append(owned, replicaSet)
		case owner == nil && deployment.DeletionTimestamp == nil && replicaSet.DeletionTimestamp == nil && replicaSet.Namespace == deployment.Namespace &&
			selector.Matches(labelSet(replicaSet.Labels)):
			adopted := replicaSet.DeepCopy()
			adopted.OwnerReferences = append(adopted.OwnerReferences, *metav1.NewControllerRef(deployment, DeploymentKind))
			c.update(adopted)
			owned = append(owned, adopted)
		}
	}
	return owned
}

func withoutHash(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	template.Labels = maps.Clone(template.Labels)
	delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return template
}

func (c *Cluster) currentReplicaSet(deployment *appsv1.Deployment, owned []*appsv1.ReplicaSet) *appsv1.ReplicaSet {
	for _, replicaSet := range owned {
		if equality.Semantic.DeepEqual(withoutHash(replicaSet.Spec.Template), withoutHash(deployment.Spec.Template)) {
			return replicaSet
		}
	}
	return nil
}

func revisionOf(replicaSet *appsv1.ReplicaSet) int {
	revision, _ := strconv.Atoi(replicaSet.Annotations[revisionAnnotation]) // 0 where it is none
	return revision
}

// renumber gives a template that came back the newest revision.
func (c *Cluster) renumber(current *appsv1.ReplicaSet, owned []*appsv1.ReplicaSet) bool {
	newest := 0
	for _, replicaSet := range owned {
		if replicaSet.UID != current.UID {
			newest = max(newest, revisionOf(replicaSet))
		}
	}
	if revisionOf(current) > newest {
		return false
	}
	changed := current.DeepCopy()
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	changed.Annotations[revisionAnnotation] = strconv.Itoa(newest + 1)
	c.update(changed)
	return true
}

func templateHash(template corev1.PodTemplateSpec) string {
	text, err := json.Marshal(template)
	if err != nil {
		return "none"
	}
	hash := fnv.New32a()
	hash.Write(text)
	return fmt.Sprintf("%08x", hash.Sum32())
}

func (c *Cluster) createReplicaSet(deployment *appsv1.Deployment, owned []*appsv1.ReplicaSet) {
	hash := templateHash(deployment.Spec.Template)
	labels := maps.Clone(deployment.Spec.Template.Labels)
	labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	template := *deployment.Spec.Template.DeepCopy()
	template.Labels = labels
	newest := 0
	for _, replicaSet := range owned {
		newest = max(newest, revisionOf(replicaSet))
	}
	first := int32(0)
	if newest == 0 {
		first = ptr.Deref(deployment.Spec.Replicas, 1)
	}
	replicaSet := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: deployment.Namespace, Name: deployment.Name + "-" + hash, Labels: labels,
			Annotations:     map[string]string{revisionAnnotation: strconv.Itoa(newest + 1)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment, DeploymentKind)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &first, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template, MinReadySeconds: deployment.Spec.MinReadySeconds,
		},
	}
	if err := c.kube.Create(context.Background(), replicaSet); err != nil {
		c.tell("create ReplicaSet: %v", err)
		c.wakeLater()
	}
}

// rollOut moves replicas from old ReplicaSets to the current one, within maxSurge and maxUnavailable.
func (c *Cluster) rollOut(deployment *appsv1.Deployment, current *appsv1.ReplicaSet, owned []*appsv1.ReplicaSet) {
	desired := ptr.Deref(deployment.Spec.Replicas, 1)
	if deployment.Spec.Paused || current == nil {
		c.scalePaused(desired, owned)
		return
	}
	surge, unavailable := bounds(deployment, desired)
	total, available, oldPods := int32(0), int32(0), int32(0)
	for _, replicaSet := range owned {
		total += *replicaSet.Spec.Replicas
		available += replicaSet.Status.AvailableReplicas
		if replicaSet.UID != current.UID {
			oldPods += replicaSet.Status.Replicas
		}
	}
	recreate := deployment.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
	switch size := *current.Spec.Replicas; {
	case size > desired:
		c.scale(current, desired)
	case recreate && size < desired && oldPods == 0:
		c.scale(current, desired)
	case !recreate && size < desired && total < desired+surge:
		c.scale(current, min(desired, size+desired+surge-total))
	}
	mayGo := total - (desired - unavailable) - (*current.Spec.Replicas - current.Status.AvailableReplicas)
	for _, replicaSet := range owned {
		size := *replicaSet.Spec.Replicas
		if replicaSet.UID == current.UID || size == 0 {
			continue
		}
		unhealthy := size - replicaSet.Status.AvailableReplicas
		goes := min(size, max(0, min(mayGo, unhealthy+max(0, available-(desired-unavailable)))))
		if recreate {
			goes = size
		}
		if goes > 0 {
			c.scale(replicaSet, size-goes)
			mayGo -= goes
			available -= max(0, goes-unhealthy)
		}
	}
}

// scalePaused: a paused Deployment is scaled all the same; here its newest ReplicaSet takes the difference.
func (c *Cluster) scalePaused(desired int32, owned []*appsv1.ReplicaSet) {
	var newest *appsv1.ReplicaSet
	others := int32(0)
	for _, replicaSet := range owned {
		if newest == nil || revisionOf(replicaSet) > revisionOf(newest) {
			newest = replicaSet
		}
	}
	for _, replicaSet := range owned {
		if replicaSet != newest {
			others += *replicaSet.Spec.Replicas
		}
	}
	if newest != nil && *newest.Spec.Replicas != max(0, desired-others) {
		c.scale(newest, max(0, desired-others))
	}
}

func (c *Cluster) scale(replicaSet *appsv1.ReplicaSet, replicas int32) {
	changed := replicaSet.DeepCopy()
	changed.Spec.Replicas = &replicas
	c.update(changed)
}

// bounds are maxSurge and maxUnavailable in pods (deployment/util, ResolveFenceposts).
func bounds(deployment *appsv1.Deployment, desired int32) (surge, unavailable int32) {
	rolling := deployment.Spec.Strategy.RollingUpdate
	quarter := intstr.FromString("25%")
	surgeSpec, unavailableSpec := &quarter, &quarter
	if rolling != nil {
		surgeSpec, unavailableSpec = ptr.To(ptr.Deref(rolling.MaxSurge, quarter)), ptr.To(ptr.Deref(rolling.MaxUnavailable, quarter))
	}
	up, _ := intstr.GetScaledValueFromIntOrPercent(surgeSpec, int(desired), true)
	down, _ := intstr.GetScaledValueFromIntOrPercent(unavailableSpec, int(desired), false)
	if up == 0 && down == 0 {
		down = 1
	}
	return int32(up), int32(down)
}

func (c *Cluster) showDeployment(deployment *appsv1.Deployment, current *appsv1.ReplicaSet, owned []*appsv1.ReplicaSet) {
	status := appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Conditions: deployment.Status.Conditions}
	for _, replicaSet := range owned {
		status.Replicas += replicaSet.Status.Replicas
		status.ReadyReplicas += replicaSet.Status.ReadyReplicas
		status.AvailableReplicas += replicaSet.Status.AvailableReplicas
	}
	changed := deployment.DeepCopy()
	if current != nil {
		status.UpdatedReplicas = current.Status.Replicas
		if revision := current.Annotations[revisionAnnotation]; changed.Annotations[revisionAnnotation] != revision {
			if changed.Annotations == nil {
				changed.Annotations = map[string]string{}
			}
			changed.Annotations[revisionAnnotation] = revision
		}
	}
	status.UnavailableReplicas = max(0, ptr.Deref(deployment.Spec.Replicas, 1)-status.AvailableReplicas)
	changed.Status = status
	if !equality.Semantic.DeepEqual(deployment, changed) {
		c.updateStatus(changed)
	}
}
