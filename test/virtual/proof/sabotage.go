package proof

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/controllers"
	"github.com/gopacer/gopacer/internal/workload"
	"github.com/gopacer/gopacer/test/virtual/cluster"
)

// Sabotage puts something broken in the place of a part of the product, or of the cluster. What is nil is left as it is.
type Sabotage struct {
	Client   func(client.Client) client.Client
	Reader   func(workload.Reader) workload.Reader
	Observer func(controllers.Observer) controllers.Observer
	// Granting changes what the webhook sees of a new pod while a trial runs: the ReplicaSet on trial and its hash are given.
	Granting func(pod *corev1.Pod, trial *v1alpha1.Trial, replicaSet, hash string) *corev1.Pod
	// Deploy rolls a new revision out as soon as a slot is open.
	Deploy bool
	// Admission is how long the API server may take to store a pod, beyond what a real one may.
	Admission time.Duration
	// NaN lets Prometheus answer with NaN from the middle of the first trial on.
	NaN bool
}

func (s Sabotage) client(c client.Client) client.Client {
	if s.Client == nil {
		return c
	}
	return s.Client(c)
}

func (s Sabotage) reader(reader workload.Reader) workload.Reader {
	if s.Reader == nil {
		return reader
	}
	return s.Reader(reader)
}

func (s Sabotage) observer(o controllers.Observer) controllers.Observer {
	if s.Observer == nil {
		return o
	}
	return s.Observer(o)
}

// granting is the pod as the webhook is to see it.
func (r *run) granting(pod *corev1.Pod) *corev1.Pod {
	policy := r.policy()
	if r.Sabotage.Granting == nil || policy == nil || policy.Status.Trial == nil {
		return pod
	}
	for _, object := range r.cluster.Server.All(cluster.ReplicaSetKind) {
		if object.GetUID() == policy.Status.Trial.Revision {
			return r.Sabotage.Granting(pod, policy.Status.Trial, object.GetName(), object.GetLabels()["pod-template-hash"])
		}
	}
	return pod
}

// misgranted puts back what the webhook was told wrongly.
func misgranted(admitted, original *corev1.Pod) *corev1.Pod {
	admitted = admitted.DeepCopy()
	admitted.OwnerReferences = original.OwnerReferences
	if hash, ok := original.Labels["pod-template-hash"]; ok {
		admitted.Labels["pod-template-hash"] = hash
	}
	return admitted
}

// spoilNumbers lets Prometheus answer with NaN once a trial runs.
func (r *run) spoilNumbers() {
	if policy := r.policy(); r.Sabotage.NaN && policy != nil && policy.Status.Trial != nil {
		r.cluster.Service.Shown = cluster.NaN
	}
}

// deploy rolls a new revision out while a slot is open, once.
func (r *run) deploy() {
	policy := r.policy()
	if !r.Sabotage.Deploy || r.deployed || policy == nil || policy.Status.Trial == nil {
		return
	}
	if slices.ContainsFunc(policy.Status.Trial.Slots, func(slot v1alpha1.Slot) bool { return slot.PodUID == "" }) {
		r.deployed = true
		r.editTemplate(func(container *corev1.Container) { container.Image += "-next" })
	}
}
