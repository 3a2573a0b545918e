package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VariableName is an environment variable that gopacer manages.
// +kubebuilder:validation:Enum=GOGC;GOMEMLIMIT;GOMAXPROCS;GODEBUG
type VariableName string

// Variable is an environment variable in the form in which a container gets it: GOMEMLIMIT in bytes, of GODEBUG the managed keys.
type Variable struct {
	// name of the variable.
	// +required
	Name VariableName `json:"name"`
	// value of the variable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=127
	Value string `json:"value"`
}

// VariablesFooting is a Footing in the form in which admission compares it with a new pod.
type VariablesFooting struct {
	// declared are the managed variables as the pod template has them; an absent one is not set.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=4
	Declared []Variable `json:"declared,omitempty"`
	// memoryLimit of the container, in bytes; absent where it has none.
	// +optional
	MemoryLimit *resource.Quantity `json:"memoryLimit,omitempty"`
	// cpuLimit of the container, in CPUs; absent where it has none.
	// +optional
	CPULimit *resource.Quantity `json:"cpuLimit,omitempty"`
}

// GivenBaseline is what new pods start with.
type GivenBaseline struct {
	// policy is the value of the pods' label tuning.gopacer.dev/policy.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Policy string `json:"policy"`
	// container that gets the variables.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container"`
	// settings are complete: a managed variable that is absent is not set.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=4
	Settings []Variable `json:"settings,omitempty"`
	// footing is what the settings were proven on. A pod that declares something else does not get them.
	// +optional
	Footing VariablesFooting `json:"footing,omitempty,omitzero"`
	// promotedAt is when a trial proved the settings.
	// +optional
	PromotedAt *metav1.Time `json:"promotedAt,omitempty"`
}

// RuntimeBaselineSpec is what admission must know of a target.
type RuntimeBaselineSpec struct {
	// targetRef names the workload.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="targetRef can't be changed"
	TargetRef TargetReference `json:"targetRef,omitzero"`
	// baseline is what new pods start with; absent where they start as their template declares.
	// +optional
	Baseline *GivenBaseline `json:"baseline,omitempty"`
	// changedAt is when baseline last became what it is, or went away.
	// +required
	ChangedAt metav1.Time `json:"changedAt,omitzero"`
}

// RuntimeBaselineStatus is the record of a target: what its next policy goes on from.
type RuntimeBaselineStatus struct {
	// container that the record speaks of.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`
	// baseline is what was promoted and holds, also where new pods no longer get it since the policy is gone.
	// +optional
	Baseline *Baseline `json:"baseline,omitempty"`
	// trials counts the trials that were ever started.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Trials int64 `json:"trials,omitempty"`
	// rejected are candidates that failed, newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Rejected []Rejection `json:"rejected,omitempty"`
	// calibration is how unlike each other the pods are.
	// +optional
	Calibration *Calibration `json:"calibration,omitempty"`
	// history holds the latest finished trials, newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	History []TrialRecord `json:"history,omitempty"`
	// recordedAt is when any of it last changed.
	// +optional
	RecordedAt *metav1.Time `json:"recordedAt,omitempty"`
}

// RuntimeBaseline holds, for one workload, what its new pods start with, and what gopacer learned of it. gopacer alone writes it; it outlives the
// policies of the workload.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rtb,categories=gopacer
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.targetRef.kind`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.targetRef.name`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.baseline.policy`
// +kubebuilder:printcolumn:name="GOGC",type=string,JSONPath=`.spec.baseline.settings[?(@.name=="GOGC")].value`
// +kubebuilder:printcolumn:name="GOMEMLIMIT",type=string,JSONPath=`.spec.baseline.settings[?(@.name=="GOMEMLIMIT")].value`,priority=1
// +kubebuilder:printcolumn:name="Trials",type=integer,JSONPath=`.status.trials`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RuntimeBaseline struct {
	metav1.TypeMeta `json:",inline"`
	// metadata of the baseline. Its name is the target's kind and name: deployment-checkout.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec is what admission goes by.
	// +required
	Spec RuntimeBaselineSpec `json:"spec,omitzero"`
	// status is the record.
	// +optional
	Status RuntimeBaselineStatus `json:"status,omitempty,omitzero"`
}

// RuntimeBaselineList is a list of baselines.
// +kubebuilder:object:root=true
type RuntimeBaselineList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata of the list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`
	// items of the list.
	Items []RuntimeBaseline `json:"items"`
}
