package admission

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/workload"
)

// Result says what a new pod starts with.
type Result string

const (
	// ResultDeclared leaves the pod's environment as its template has it.
	ResultDeclared Result = "declared"
	// ResultBaseline gives the pod what the last successful trial proved.
	ResultBaseline Result = "baseline"
	// ResultCanary gives the pod the candidate, and a slot.
	ResultCanary Result = "canary"
)

// Decision is what a new pod starts with. The zero value says that the pod is nobody's target.
type Decision struct {
	Result Result
	// Policy, Container and Settings are set for a baseline and a canary, Slot for a canary.
	Policy    string
	Container string
	Settings  settings.Settings
	Slot      string
}

// Offer is a candidate that a pod may start with, once one of the slots is claimed for it.
type Offer struct {
	Policy    string
	Container string
	Settings  settings.Settings
	Slots     []string
}

// Canary is the decision for the pod that claimed a slot.
func (o Offer) Canary(slot string) Decision {
	return Decision{Result: ResultCanary, Policy: o.Policy, Container: o.Container, Settings: o.Settings, Slot: slot}
}

// Decide says what a pod of the policy's target starts with if it gets no slot: the baseline where its footing holds, else what it declares.
// The policy's mode has no say: status.baseline alone tells what every pod should run now.
func Decide(pod *corev1.Pod, policy *v1alpha1.RuntimeTuningPolicy) Decision {
	declared := Decision{Result: ResultDeclared}
	baseline := policy.Status.Baseline
	if policy.DeletionTimestamp != nil || baseline == nil || baseline.Source != v1alpha1.BaselinePromoted {
		return declared
	}
	container, onThis, ok := stand(pod, policy, baseline.Footing, baseline.Settings)
	if !ok {
		return declared
	}
	return Decision{Result: ResultBaseline, Policy: policy.Name, Container: container.Name, Settings: onThis}
}

// Candidate offers the candidate of the policy's trial to a pod, if a trial is open to it. The slots that it names are those that the policy
// shows as open to it: whoever grants one must read the policy from the API server first.
func Candidate(pod *corev1.Pod, policy *v1alpha1.RuntimeTuningPolicy) (Offer, bool) {
	if !trialOpen(pod, policy) {
		return Offer{}, false
	}
	trial := policy.Status.Trial
	candidate, err := settings.FromAPI(trial.Candidate)
	if err != nil {
		return Offer{}, false
	}
	container, onThis, ok := stand(pod, policy, trial.Footing, trial.Candidate)
	if !ok || onThis != candidate { // a candidate that is given in part proves nothing
		return Offer{}, false
	}
	offer := Offer{Policy: policy.Name, Container: container.Name, Settings: candidate}
	for _, slot := range trial.Slots {
		if mayTake(pod, slot) {
			offer.Slots = append(offer.Slots, slot.ID)
		}
	}
	return offer, len(offer.Slots) > 0
}

func trialOpen(pod *corev1.Pod, policy *v1alpha1.RuntimeTuningPolicy) bool {
	trial := policy.Status.Trial
	if trial == nil || trial.Stage != v1alpha1.StageCanary || policy.DeletionTimestamp != nil {
		return false
	}
	if policy.Spec.Mode != v1alpha1.ModeAuto || policy.Spec.Suspend == v1alpha1.SuspendRevert {
		return false
	}
	targets, revision := workload.TargetsOf(pod)
	ofTarget := slices.ContainsFunc(targets, func(target v1alpha1.TargetReference) bool { return workload.SameTarget(target, policy.Spec.TargetRef) })
	return ofTarget && revision == trial.Revision && revision != ""
}

// mayTake says that a slot is open to a pod. A slot's id becomes the end of a generated name. A pod that has a name keeps it, and so can take a
// slot of that name alone, as package rollout opens them for a StatefulSet.
func mayTake(pod *corev1.Pod, slot v1alpha1.Slot) bool {
	switch {
	case slot.PodUID != "":
		return false
	case slot.PodName != "":
		return pod.Name == slot.PodName
	}
	return pod.Name == "" && pod.GenerateName != ""
}

// stand finds the tuned container of a pod, and what settings that were proven on a footing become on it.
func stand(pod *corev1.Pod, policy *v1alpha1.RuntimeTuningPolicy, provenOn v1alpha1.Footing, proven v1alpha1.RuntimeSettings) (*corev1.Container, settings.Settings, bool) {
	container := tunedContainer(pod, policy)
	if container == nil {
		return nil, settings.Settings{}, false
	}
	now, err := settings.FootingOf(container)
	if err != nil {
		return nil, settings.Settings{}, false
	}
	onThis, ok := settings.FromAPIOn(proven, provenOn, now)
	return container, onThis, ok && onThis.CheckAgainst(container) == nil
}

func tunedContainer(pod *corev1.Pod, policy *v1alpha1.RuntimeTuningPolicy) *corev1.Container {
	if policy.Status.Target == nil {
		return nil
	}
	return container(pod, policy.Status.Target.Container)
}

func container(pod *corev1.Pod, name string) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}
