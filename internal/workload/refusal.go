package workload

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/internal/rollout"
)

// defaultMaxSurge is what the API server fills in.
var defaultMaxSurge = intstr.FromString("25%")

// maxSurge is how many pods above its replicas the Deployment itself would start in a rollout; rounded up, as its controller does
// (k8s.io/kubernetes/pkg/controller/deployment/util, ResolveFenceposts).
func maxSurge(deployment *appsv1.Deployment) (int, error) {
	value := &defaultMaxSurge
	if rolling := deployment.Spec.Strategy.RollingUpdate; rolling != nil && rolling.MaxSurge != nil {
		value = rolling.MaxSurge
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(value, int(replicas(deployment)), true)
	if err != nil {
		return 0, fmt.Errorf("read maxSurge of Deployment %s/%s: %w", deployment.Namespace, deployment.Name, err)
	}
	return most, nil
}

// settleSurge finds out how many pods of the target may run beside those asked for, and why none may.
func (t *Target) settleSurge(ctx context.Context, reader client.Reader, deployment *appsv1.Deployment) error {
	most, err := maxSurge(deployment)
	if err != nil {
		return err
	}
	t.MaxSurge = most
	if t.SurgeRefused = refusedByTemplate(deployment, most); t.SurgeRefused != "" {
		return nil
	}
	if t.SurgeRefused, err = refusedByVolume(ctx, reader, deployment); err != nil || t.SurgeRefused != "" {
		return err
	}
	inFlight := func(pod rollout.Pod) bool { return pod.HandedOver || pod.Terminating }
	if slices.ContainsFunc(t.Pods, inFlight) {
		return nil // what a surge takes of a quota is no reason against it
	}
	t.SurgeRefused, err = refusedByQuota(ctx, reader, deployment)
	return err
}

// settleSurge is for the kinds of which no pod can be handed over as well.
func (o owner) settleSurge(ctx context.Context, reader client.Reader, target *Target) error {
	if o.surge == nil {
		target.SurgeRefused = "only the pods of Deployments can surge"
		return nil
	}
	return o.surge(ctx, reader, target)
}

// refusedByTemplate says why one pod more can't run, as far as the Deployment itself tells. Whether another node has room is not asked: hostPort and
// anti-affinity are refused on any number of nodes.
func refusedByTemplate(deployment *appsv1.Deployment, most int) string {
	spec := &deployment.Spec.Template.Spec
	switch {
	case deployment.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		return "the Deployment's strategy is Recreate"
	case most < 1:
		return "the Deployment's maxSurge is 0"
	case usesHostPort(spec):
		return "a container uses a hostPort"
	case repelsItself(deployment):
		return "a required anti-affinity keeps the pods apart from each other"
	}
	return ""
}

func usesHostPort(spec *corev1.PodSpec) bool {
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		if slices.ContainsFunc(container.Ports, func(port corev1.ContainerPort) bool { return port.HostPort != 0 }) {
			return true
		}
	}
	return false
}

func repelsItself(deployment *appsv1.Deployment) bool {
	affinity := deployment.Spec.Template.Spec.Affinity
	if affinity == nil || affinity.PodAntiAffinity == nil {
		return false
	}
	for _, term := range affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		if err != nil || selector.Matches(labels.Set(deployment.Spec.Template.Labels)) {
			return true
		}
	}
	return false
}

// refusedByVolume: a volume of one node, or of one pod, may keep a second pod from starting while the first runs. A claim that each pod has for itself
// (ephemeral) does not.
func refusedByVolume(ctx context.Context, reader client.Reader, deployment *appsv1.Deployment) (string, error) {
	for _, volume := range deployment.Spec.Template.Spec.Volumes {
		if volume.PersistentVolumeClaim == nil || volume.PersistentVolumeClaim.ReadOnly {
			continue
		}
		name := volume.PersistentVolumeClaim.ClaimName
		var claim corev1.PersistentVolumeClaim
		err := reader.Get(ctx, client.ObjectKey{Namespace: deployment.Namespace, Name: name}, &claim)
		if err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("get PersistentVolumeClaim %s/%s: %w", deployment.Namespace, name, err)
		}
		shared := slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteMany) || slices.Contains(claim.Spec.AccessModes, corev1.ReadOnlyMany)
		if !shared {
			return fmt.Sprintf("volume claim %s is not one that pods on several nodes may share", name), nil
		}
	}
	return "", nil
}

// refusedByQuota names a quota that has no room for one pod more. Quotas for some pods only, by priority or a deadline, are not looked at: where such a
// one is in the way, the successor does not come, and the pod is given back.
func refusedByQuota(ctx context.Context, reader client.Reader, deployment *appsv1.Deployment) (string, error) {
	var quotas corev1.ResourceQuotaList
	if err := reader.List(ctx, &quotas, client.InNamespace(deployment.Namespace)); err != nil {
		return "", fmt.Errorf("list the ResourceQuotas of namespace %s: %w", deployment.Namespace, err)
	}
	needed := usage(&deployment.Spec.Template.Spec)
	for i := range quotas.Items {
		quota := &quotas.Items[i]
		if len(quota.Spec.Scopes) > 0 || quota.Spec.ScopeSelector != nil {
			continue
		}
		for name, hard := range quota.Status.Hard {
			more, counted := needed[name]
			if !counted {
				continue
			}
			more.Add(quota.Status.Used[name])
			if more.Cmp(hard) > 0 {
				return fmt.Sprintf("ResourceQuota %s has no room for one more pod: %s of %s is used, the limit is %s",
					quota.Name, quantity(quota.Status.Used[name]), name, quantity(hard)), nil
			}
		}
	}
	return "", nil
}

func quantity(q resource.Quantity) string { return q.String() }

// usage is what one pod takes of a quota.
func usage(spec *corev1.PodSpec) corev1.ResourceList {
	used := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1"), "count/pods": resource.MustParse("1")}
	add := func(prefix string, list corev1.ResourceList) {
		for name, amount := range list {
			sum := used[corev1.ResourceName(prefix)+name]
			sum.Add(amount)
			used[corev1.ResourceName(prefix)+name] = sum
			if prefix == "requests." { // cpu stands for requests.cpu in a quota
				used[name] = sum
			}
		}
	}
	for _, container := range spec.Containers {
		add("requests.", container.Resources.Requests)
		add("limits.", container.Resources.Limits)
	}
	return used
}
