// Package workload turns a policy's target into plain facts, and carries out what is decided about its pods.
package workload

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
)

// KindDeployment is the one kind of target so far.
const KindDeployment = "Deployment"

// Target is a Deployment with its pods, as the reader has them.
type Target struct {
	UID      types.UID
	Replicas int32
	// Container is the tuned container, Footing what the pod template declares for it.
	Container string
	Footing   settings.Footing
	// Unmanageable names the variables, of GOMAXPROCS and GODEBUG, that may not be proposed for the container: settings.Unmanageable.
	Unmanageable []string
	// Revision is the UID of the ReplicaSet of the current template; empty where there is none yet.
	Revision types.UID
	// RollingOut says that pods of more than one template run or may soon: a trial must wait, or end.
	RollingOut bool
	// Scaling says that there are more or fewer pods than asked for. Replacing a pod shows for a moment as well.
	Scaling  bool
	Selector labels.Selector
	// Pods are the pods that a ReplicaSet of the Deployment controls and whose processes may still run; terminating ones are among them.
	Pods []rollout.Pod
}

// Refusal is a target that can't be tuned until a person changes something.
type Refusal struct {
	// Reason is one of the reasons of Ready; Message says what to change.
	Reason, Message string
}

func (r *Refusal) Error() string { return r.Message }

// Load reads the target of a policy. An error that is a Refusal is for a person to cure. If the container or its environment is refused, the
// Target has all else, so that pods that run a candidate can still be replaced.
//
// Given a reader that asks the API server, the pods are those of one consistent list. They are listed before the ReplicaSets, so that a
// pod's ReplicaSet is never too new to be known.
func Load(ctx context.Context, reader client.Reader, policy *v1alpha1.RuntimeTuningPolicy) (Target, error) {
	deployment, err := getDeployment(ctx, reader, policy)
	if err != nil {
		return Target{}, err
	}
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return Target{}, fmt.Errorf("read the selector of Deployment %s/%s: %w", deployment.Namespace, deployment.Name, err)
	}
	selected := []client.ListOption{client.InNamespace(deployment.Namespace), client.MatchingLabelsSelector{Selector: selector}}
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, selected...); err != nil {
		return Target{}, fmt.Errorf("list the pods of Deployment %s/%s: %w", deployment.Namespace, deployment.Name, err)
	}
	var replicaSets appsv1.ReplicaSetList
	if err := reader.List(ctx, &replicaSets, selected...); err != nil {
		return Target{}, fmt.Errorf("list the ReplicaSets of Deployment %s/%s: %w", deployment.Namespace, deployment.Name, err)
	}
	return assemble(policy, deployment, selector, replicaSets.Items, pods.Items)
}

func getDeployment(ctx context.Context, reader client.Reader, policy *v1alpha1.RuntimeTuningPolicy) (*appsv1.Deployment, error) {
	key := types.NamespacedName{Namespace: policy.Namespace, Name: policy.Spec.TargetRef.Name}
	var deployment appsv1.Deployment
	err := reader.Get(ctx, key, &deployment)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &Refusal{v1alpha1.ReasonTargetNotFound, fmt.Sprintf("there is no Deployment %s: create it, or delete this policy", key)}
	case err != nil:
		return nil, fmt.Errorf("get Deployment %s: %w", key, err)
	case deployment.DeletionTimestamp != nil:
		return nil, &Refusal{v1alpha1.ReasonTargetNotFound, fmt.Sprintf("Deployment %s is being deleted: delete this policy too, or create the Deployment again", key)}
	}
	return &deployment, nil
}

// assemble puts the facts together; it is pure.
func assemble(policy *v1alpha1.RuntimeTuningPolicy, deployment *appsv1.Deployment, selector labels.Selector, replicaSets []appsv1.ReplicaSet, pods []corev1.Pod) (Target, error) {
	owned := ownedBy(deployment, replicaSets)
	target := Target{
		UID:        deployment.UID,
		Replicas:   replicas(deployment),
		Revision:   currentRevision(deployment, owned),
		RollingOut: rollingOut(deployment, owned) || anyOfUnknownRevision(deployment, owned, pods),
		Scaling:    deployment.Status.Replicas != replicas(deployment),
		Selector:   selector,
	}
	container, refusal := tunedContainer(deployment, policy.Spec.Container)
	if refusal == nil {
		target.Container = container.Name
		target.Unmanageable = settings.Unmanageable(container)
		target.Footing, refusal = footing(deployment, container)
	}
	if refusal == nil {
		refusal = checkAsked(policy, deployment, container, target.Footing)
	}
	readFrom := target.Container
	if readFrom == "" && policy.Status.Target != nil {
		readFrom = policy.Status.Target.Container
	}
	target.Pods = podsOf(owned, pods, readFrom)
	if refusal != nil {
		return target, refusal
	}
	return target, nil
}

// tunedContainer finds the container to tune. Init containers, also those that stay as sidecars, are not meant.
func tunedContainer(deployment *appsv1.Deployment, name string) (*corev1.Container, *Refusal) {
	containers := deployment.Spec.Template.Spec.Containers
	names := make([]string, len(containers))
	for i := range containers {
		names[i] = containers[i].Name
		if containers[i].Name == name {
			return &containers[i], nil
		}
	}
	listed := strings.Join(names, ", ")
	switch {
	case name != "":
		return nil, &Refusal{v1alpha1.ReasonContainerNotFound, fmt.Sprintf("Deployment %s has no container %q: set spec.container to one of %s", deployment.Name, name, listed)}
	case len(containers) == 1:
		return &containers[0], nil
	default:
		return nil, &Refusal{v1alpha1.ReasonContainerAmbiguous, fmt.Sprintf("Deployment %s has %d containers: set spec.container to one of %s", deployment.Name, len(containers), listed)}
	}
}

func footing(deployment *appsv1.Deployment, container *corev1.Container) (settings.Footing, *Refusal) {
	footing, err := settings.FootingOf(container)
	if err != nil {
		return settings.Footing{}, &Refusal{v1alpha1.ReasonUnmanageableEnv, fmt.Sprintf("Deployment %s: %v", deployment.Name, err)}
	}
	return footing, nil
}
