package workload

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// A Rollout of Argo is read as it is, without Argo's types. Its ReplicaSets are named and labelled as a Deployment's, but for the label's key
// (github.com/argoproj/argo-rollouts, pkg/apis/rollouts/v1alpha1/types.go).
const (
	groupArgo        = "argoproj.io"
	kindRollout      = "Rollout"
	labelRolloutHash = "rollouts-pod-template-hash"
)

// argoRollout is what counts of one.
type argoRollout struct {
	Spec struct {
		Replicas *int32                `json:"replicas"`
		Paused   bool                  `json:"paused"`
		Selector *metav1.LabelSelector `json:"selector"`
	} `json:"spec"`
	Status struct {
		// ObservedGeneration was a text before it became a number.
		ObservedGeneration any    `json:"observedGeneration"`
		CurrentPodHash     string `json:"currentPodHash"`
		StableRS           string `json:"stableRS"`
		Replicas           int32  `json:"replicas"`
		Selector           string `json:"selector"`
	} `json:"status"`
}

// loadRollout lists the pods before the ReplicaSets, as loadDeployment.
func loadRollout(ctx context.Context, reader Reader, policy *v1alpha1.RuntimeTuningPolicy) (owner, []corev1.Pod, error) {
	object := unstructuredOf(policy.Spec.TargetRef)
	if err := fetch(ctx, reader, policy, object); err != nil {
		return owner{}, nil, err
	}
	var rollout argoRollout
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &rollout); err != nil {
		return owner{}, nil, fmt.Errorf("read Rollout %s/%s: %w", policy.Namespace, object.GetName(), err)
	}
	selector, err := rollout.selector()
	if err != nil {
		return owner{}, nil, fmt.Errorf("read the selector of Rollout %s/%s: %w", policy.Namespace, object.GetName(), err)
	}
	selected, pods, err := listPods(ctx, reader, policy, selector)
	if err != nil {
		return owner{}, nil, err
	}
	var replicaSets appsv1.ReplicaSetList
	if err := reader.List(ctx, &replicaSets, selected...); err != nil {
		return owner{}, nil, fmt.Errorf("list the ReplicaSets of Rollout %s/%s: %w", policy.Namespace, object.GetName(), err)
	}
	return ofRollout(object, rollout, replicaSets.Items), pods, nil
}

func unstructuredOf(target v1alpha1.TargetReference) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(target.APIVersion)
	object.SetKind(target.Kind)
	return object
}

// selector is that of the spec; a Rollout that takes its template from a Deployment has one in its status alone.
func (r argoRollout) selector() (labels.Selector, error) {
	if r.Spec.Selector != nil {
		return metav1.LabelSelectorAsSelector(r.Spec.Selector)
	}
	if r.Status.Selector == "" {
		return labels.Nothing(), nil
	}
	return labels.Parse(r.Status.Selector)
}

// ofRollout is pure. The template is the current ReplicaSet's, if there is one yet: the Rollout's own may lie in a Deployment that it names.
func ofRollout(object *unstructured.Unstructured, rollout argoRollout, replicaSets []appsv1.ReplicaSet) owner {
	status, replicas := rollout.Status, ptr.Deref(rollout.Spec.Replicas, 1)
	known, active := map[types.UID]bool{}, 0
	called := kindRollout + " " + object.GetName()
	template, refusal := templateOf(object, called)
	if refusal != nil {
		template = &corev1.PodTemplateSpec{}
	}
	facts := Target{UID: object.GetUID(), Replicas: replicas, Scaling: status.Replicas != replicas}
	for i := range replicaSets {
		set := &replicaSets[i]
		if !metav1.IsControlledBy(set, object) {
			continue
		}
		known[set.UID] = true
		if ptr.Deref(set.Spec.Replicas, 1) != 0 || set.Status.Replicas != 0 {
			active++
		}
		if status.CurrentPodHash != "" && set.Labels[labelRolloutHash] == status.CurrentPodHash {
			facts.Revision, template = set.UID, &set.Spec.Template
		}
	}
	observed := fmt.Sprint(status.ObservedGeneration) == fmt.Sprint(object.GetGeneration())
	facts.RollingOut = rollout.Spec.Paused || !observed || facts.Revision == "" || status.StableRS != status.CurrentPodHash || active > 1
	return owner{
		Target: facts, called: called, template: template,
		revision: func(pod *corev1.Pod) types.UID {
			if controller := metav1.GetControllerOf(pod); controller != nil && known[controller.UID] {
				return controller.UID
			}
			return ""
		},
	}
}
