// Package workload turns a policy's target into plain facts, and carries out what is decided about its pods.
package workload

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
)

// Kinds of targets that have a file of their own here.
const (
	KindDeployment  = "Deployment"
	KindStatefulSet = "StatefulSet"
	KindDaemonSet   = "DaemonSet"
	KindReplicaSet  = "ReplicaSet"
)

// Reader reads objects, and the scale of kinds that are known by it alone.
type Reader interface {
	client.Reader
	client.SubResourceClientConstructor
}

// Target is a workload with its pods, as the reader has them.
type Target struct {
	UID      types.UID
	Replicas int32
	// Container is the tuned container, Footing what the pod template declares for it.
	Container string
	Footing   settings.Footing
	// Unmanageable names the variables, of GOMAXPROCS and GODEBUG, that may not be proposed for the container: settings.Unmanageable.
	Unmanageable []string
	// Revision stands for the current template, as the pods bear it: the UID of its ReplicaSet, or its controller-revision-hash. It is
	// empty where there is none yet.
	Revision types.UID
	// RollingOut says that pods of more than one template run or may soon: a trial must wait, or end.
	RollingOut bool
	// Scaling says that there are more or fewer pods than asked for. Replacing a pod shows for a moment as well.
	Scaling bool
	// PendingUpdate says why pods of more than one template run until a person acts, and what to do; empty where they don't.
	PendingUpdate string
	// StableNames says that a pod's successor has its name. InOrder says that successors come one after another, each when the one before
	// is Ready.
	StableNames, InOrder bool
	// Pods are those that the target controls, or that were handed over to it, and whose processes may still run; terminating ones are among
	// them.
	Pods []rollout.Pod
	// MaxSurge is how many pods may run beside those asked for, SurgeRefused why none may. They are read where the policy asks for Surge.
	MaxSurge     int
	SurgeRefused string
	// MinReady is how long a pod must be Ready to be available.
	MinReady time.Duration
	// CreationFailsSince is when the current ReplicaSet began to fail to create pods; zero where it does not fail.
	CreationFailsSince time.Time

	name string
	// replicaSets are the names of those that are not going, owners and costs what pods have of them, all by UID.
	replicaSets map[types.UID]string
	owners      map[types.UID][]metav1.OwnerReference
	costs       map[types.UID]string
}

// Refusal is a target that can't be tuned until a person changes something.
type Refusal struct {
	// Reason is one of the reasons of Ready; Message says what to change.
	Reason, Message string
}

func (r *Refusal) Error() string { return r.Message }

// owner is what the file of a kind says of a target.
type owner struct {
	// Target lacks what assemble fills in for every kind.
	Target
	// called is its kind and name, for a person.
	called   string
	template *corev1.PodTemplateSpec
	// revision of a pod; empty where the pod is none of the owner's.
	revision func(*corev1.Pod) types.UID
	// successor is the revision that the pod after a pod would have; nil where that is always the current one.
	successor func(*corev1.Pod) types.UID
	// handedOver says that a pod was taken from its ReplicaSet; nil where none can be.
	handedOver func(*corev1.Pod) bool
	// surge finds out whether and how a pod may run beside the others; nil where none may.
	surge func(context.Context, client.Reader, *Target) error
}

// loader reads the target of a policy and lists its pods.
type loader func(context.Context, Reader, *v1alpha1.RuntimeTuningPolicy) (owner, []corev1.Pod, error)

// loaderOf the target: other groups may have kinds of the same names.
func loaderOf(target v1alpha1.TargetReference) loader {
	switch {
	case groupOf(target.APIVersion) == groupArgo && target.Kind == kindRollout:
		return loadRollout
	case groupOf(target.APIVersion) == appsv1.GroupName:
		return map[string]loader{
			KindDeployment: loadDeployment, KindStatefulSet: loadStatefulSet, KindDaemonSet: loadDaemonSet, KindReplicaSet: loadReplicaSet,
		}[target.Kind]
	}
	return loadScaled
}

// Load reads the target of a policy. An error that is a Refusal is for a person to cure. If the container or its environment is refused, the
// Target has all else, so that pods that run a candidate can still be replaced.
//
// Given a reader that asks the API server, the pods are those of one consistent list.
func Load(ctx context.Context, reader Reader, policy *v1alpha1.RuntimeTuningPolicy) (Target, error) {
	load := loaderOf(policy.Spec.TargetRef)
	if load == nil {
		return Target{}, &Refusal{v1alpha1.ReasonTargetNotFound, fmt.Sprintf("this version knows no target of kind %s", policy.Spec.TargetRef.Kind)}
	}
	owner, pods, err := load(ctx, reader, policy)
	if err != nil {
		return Target{}, err
	}
	target, err := assemble(policy, owner, pods)
	if policy.Spec.Rollout.Replacement == v1alpha1.ReplacementSurge {
		if problem := owner.settleSurge(ctx, reader, &target); problem != nil {
			return Target{}, problem
		}
	}
	return target, err
}

// fetch gets the target itself.
func fetch(ctx context.Context, reader client.Reader, policy *v1alpha1.RuntimeTuningPolicy, object client.Object) error {
	key := types.NamespacedName{Namespace: policy.Namespace, Name: policy.Spec.TargetRef.Name}
	kind := policy.Spec.TargetRef.Kind
	err := reader.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err):
		return &Refusal{v1alpha1.ReasonTargetNotFound, fmt.Sprintf("there is no %s %s: create it, or delete this policy", kind, key)}
	case meta.IsNoMatchError(err):
		return &Refusal{v1alpha1.ReasonTargetNotFound, fmt.Sprintf("the cluster has no kind %s of %s: install it, or delete this policy", kind, policy.Spec.TargetRef.APIVersion)}
	case apierrors.IsForbidden(err):
		return &Refusal{v1alpha1.ReasonTargetNotFound, fmt.Sprintf("gopacer may not read %s %s: give its ServiceAccount the right to get it", kind, key)}
	case err != nil:
		return fmt.Errorf("get %s %s: %w", kind, key, err)
	case object.GetDeletionTimestamp() != nil:
		return &Refusal{v1alpha1.ReasonTargetNotFound, fmt.Sprintf("%[1]s %[2]s is being deleted: delete this policy too, or create the %[1]s again", kind, key)}
	}
	return nil
}

// selectPods lists what a target's selector selects, and gives the options to list more by it.
func selectPods(ctx context.Context, reader client.Reader, policy *v1alpha1.RuntimeTuningPolicy, by *metav1.LabelSelector) ([]client.ListOption, []corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(by)
	if err != nil {
		return nil, nil, fmt.Errorf("read the selector of %s %s/%s: %w", policy.Spec.TargetRef.Kind, policy.Namespace, policy.Spec.TargetRef.Name, err)
	}
	return listPods(ctx, reader, policy, selector)
}

func listPods(ctx context.Context, reader client.Reader, policy *v1alpha1.RuntimeTuningPolicy, selector labels.Selector) ([]client.ListOption, []corev1.Pod, error) {
	target := policy.Spec.TargetRef
	selected := []client.ListOption{client.InNamespace(policy.Namespace), client.MatchingLabelsSelector{Selector: selector}}
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, selected...); err != nil {
		return nil, nil, fmt.Errorf("list the pods of %s %s/%s: %w", target.Kind, policy.Namespace, target.Name, err)
	}
	return selected, pods.Items, nil
}

// assemble puts the facts together; it is pure.
func assemble(policy *v1alpha1.RuntimeTuningPolicy, owner owner, pods []corev1.Pod) (Target, error) {
	target := owner.Target
	container, refusal := owner.tunedContainer(policy.Spec.Container)
	if refusal == nil {
		target.Container = container.Name
		target.Unmanageable = settings.Unmanageable(container)
		target.Footing, refusal = owner.footing(container)
	}
	if refusal == nil {
		refusal = owner.checkAsked(policy, container, target.Footing)
	}
	readFrom := target.Container
	if readFrom == "" && policy.Status.Target != nil {
		readFrom = policy.Status.Target.Container
	}
	target.Pods = owner.podsOf(pods, readFrom)
	target.remember(pods)
	if refusal != nil {
		return target, refusal
	}
	return target, nil
}

// tunedContainer finds the container to tune. Init containers, also those that stay as sidecars, are not meant.
func (o owner) tunedContainer(name string) (*corev1.Container, *Refusal) {
	containers := o.template.Spec.Containers
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
		return nil, &Refusal{v1alpha1.ReasonContainerNotFound, fmt.Sprintf("%s has no container %q: set spec.container to one of %s", o.called, name, listed)}
	case len(containers) == 1:
		return &containers[0], nil
	default:
		return nil, &Refusal{v1alpha1.ReasonContainerAmbiguous, fmt.Sprintf("%s has %d containers: set spec.container to one of %s", o.called, len(containers), listed)}
	}
}

func (o owner) footing(container *corev1.Container) (settings.Footing, *Refusal) {
	footing, err := settings.FootingOf(container)
	if err != nil {
		return settings.Footing{}, &Refusal{v1alpha1.ReasonUnmanageableEnv, fmt.Sprintf("%s: %v", o.called, err)}
	}
	return footing, nil
}
