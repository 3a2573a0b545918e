package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Step is one stage of a trial: so many canary pods, for so long.
type Step struct {
	// canary is the number of canary pods: a count up to 500, or a percentage of the target's replicas, rounded up.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(100|[1-9][0-9]?)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= 1 && self <= 500)",message="canary is a count from 1 to 500, or a percentage from 1% to 100%"
	Canary intstr.IntOrString `json:"canary"`
	// hold is how long the step must be judged good before the next.
	// +optional
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s') && duration(self) <= duration('168h')",message="hold must lie between 5s and 168h"
	Hold *metav1.Duration `json:"hold,omitempty"`
}

// StepPreset names a row of steps.
// +kubebuilder:validation:Enum=Standard;Gradual
type StepPreset string

const (
	// StepsStandard are 10%, 25% and 50% of the replicas, five minutes each.
	StepsStandard StepPreset = "Standard"
	// StepsGradual begin at 0.5% of the replicas, or one pod, and grow by half each time up to 50%, two hours each.
	StepsGradual StepPreset = "Gradual"
)

// PromotionBy says who promotes a candidate that has passed every step.
// +kubebuilder:validation:Enum=Automatic;Manual
type PromotionBy string

const (
	// PromotionAutomatic promotes once the last step has passed.
	PromotionAutomatic PromotionBy = "Automatic"
	// PromotionManual waits up to 24 hours for a person's request, by the annotation tuning.gopacer.dev/promote.
	PromotionManual PromotionBy = "Manual"
)

// PromotionAs says how a promoted candidate reaches the other pods.
// +kubebuilder:validation:Enum=Waves;NextRollout
type PromotionAs string

const (
	// PromotionWaves replaces the other pods.
	PromotionWaves PromotionAs = "Waves"
	// PromotionNextRollout replaces no pod: those of the next deploy are born with the new baseline.
	PromotionNextRollout PromotionAs = "NextRollout"
)

// Promotion says who promotes, and how the other pods follow.
type Promotion struct {
	// by says who promotes a candidate that has passed every step.
	// +optional
	// +kubebuilder:default=Automatic
	By PromotionBy `json:"by,omitempty"`
	// as says how the other pods get the promoted candidate.
	// +optional
	// +kubebuilder:default=Waves
	As PromotionAs `json:"as,omitempty"`
}

// Replacement says how a running pod gets other settings.
// +kubebuilder:validation:Enum=Surge;Evict
type Replacement string

const (
	// ReplacementSurge lets the old pod serve until its successor is available. The pods of Deployments can surge.
	ReplacementSurge Replacement = "Surge"
	// ReplacementEvict evicts the old pod first.
	ReplacementEvict Replacement = "Evict"
)

// Rollout says how a candidate reaches pods.
// +kubebuilder:validation:XValidation:rule="!has(self.steps) || !has(self.preset)",message="set either steps or preset"
type Rollout struct {
	// preset names well-tried steps; Standard where neither preset nor steps is given.
	// +optional
	Preset StepPreset `json:"preset,omitempty"`
	// steps of a trial, in order. A step never has fewer canary pods than the one before it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	Steps []Step `json:"steps,omitempty"`
	// replacement says how a running pod gets other settings. Where Surge can't be, status.target says why, and pods are evicted.
	// +optional
	// +kubebuilder:default=Surge
	Replacement Replacement `json:"replacement,omitempty"`
	// maxUnavailable is how many pods of the target may be down, for whatever reason, while gopacer replaces one: a count from 1 on, or a
	// percentage of the replicas, rounded down but at least 1. With Surge none goes down; it then bounds how many are replaced at a time.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(100|[1-9][0-9]?)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= 1 && self <= 10000)",message="maxUnavailable is a count from 1 to 10000, or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// promotion says who promotes, and how the other pods follow.
	// +optional
	// +kubebuilder:default={}
	Promotion Promotion `json:"promotion,omitempty,omitzero"`
}
