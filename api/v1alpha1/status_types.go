package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BaselineSource says where the baseline comes from.
// +kubebuilder:validation:Enum=Declared;Promoted
type BaselineSource string

const (
	// BaselineDeclared is what the pod template says.
	BaselineDeclared BaselineSource = "Declared"
	// BaselinePromoted is what the last successful trial proved, or a person approved.
	BaselinePromoted BaselineSource = "Promoted"
)

// Footing is what settings were proven on. Where it no longer holds, the settings are not given to new pods.
type Footing struct {
	// declared are the managed keys as the pod template has them.
	// +optional
	Declared RuntimeSettings `json:"declared,omitempty,omitzero"`
	// memoryLimit of the container; absent where it has none.
	// +optional
	MemoryLimit *resource.Quantity `json:"memoryLimit,omitempty"`
	// cpuLimit of the container; absent where it has none.
	// +optional
	CPULimit *resource.Quantity `json:"cpuLimit,omitempty"`
}

// Baseline is what every pod of the target should run now.
type Baseline struct {
	// source says where the settings come from.
	// +required
	Source BaselineSource `json:"source"`
	// settings are complete: a key that is absent is not set.
	// +optional
	Settings RuntimeSettings `json:"settings,omitempty,omitzero"`
	// footing is what the settings were proven on.
	// +optional
	Footing Footing `json:"footing,omitempty,omitzero"`
	// promotedAt is when a trial proved the settings, or a person's approval of them was taken up.
	// +optional
	PromotedAt *metav1.Time `json:"promotedAt,omitempty"`
}

// Recommendation is a candidate that a person may act on: one that gopacer would try, or one that a trial on too few pods found good.
type Recommendation struct {
	// settings are complete: a key that is absent is not set. To have them promoted after a trial, copy them to spec.approved.
	// +optional
	Settings RuntimeSettings `json:"settings,omitempty,omitzero"`
	// reason says why, with what was measured and what is expected.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
	// predicted is the expected effect on the objective with its range, such as -33% (-45% to -20%).
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Predicted string `json:"predicted,omitempty"`
	// verdict is the evidence of a trial that was too small to promote by itself.
	// +optional
	Verdict *Verdict `json:"verdict,omitempty"`
	// at is when it was first recommended.
	// +required
	At metav1.Time `json:"at,omitzero"`
}

// Rejection remembers a candidate that failed, so that it is not tried again soon.
type Rejection struct {
	// settings that failed.
	// +optional
	Settings RuntimeSettings `json:"settings,omitempty,omitzero"`
	// footing that they failed on.
	// +optional
	Footing Footing `json:"footing,omitempty,omitzero"`
	// goVersion that the processes were built with, such as go1.26.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	GoVersion string `json:"goVersion,omitempty"`
	// reason in one word.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Reason string `json:"reason"`
	// until when they are not tried.
	// +required
	Until metav1.Time `json:"until,omitzero"`
}

// TargetStatus is what was found of the target.
type TargetStatus struct {
	// container that is tuned.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container"`
	// footing is what the pod template declares now.
	// +optional
	Footing Footing `json:"footing,omitempty,omitzero"`
	// goVersion that the processes were built with.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	GoVersion string `json:"goVersion,omitempty"`
	// replacement is how a running pod gets other settings.
	// +optional
	Replacement Replacement `json:"replacement,omitempty"`
	// replacementReason says why it is Evict though Surge was asked for.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ReplacementReason string `json:"replacementReason,omitempty"`
	// latency is the preset or histogram that was found to hold the target's requests.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	Latency string `json:"latency,omitempty"`
}

// Request is something that a person asks for once, by an annotation on the policy.
// +kubebuilder:validation:Enum=Abort;Promote;Retry
type Request string

const (
	// RequestAbort takes the running trial back.
	RequestAbort Request = "Abort"
	// RequestPromote promotes the candidate of a trial that waits for a person.
	RequestPromote Request = "Promote"
	// RequestRetry ends the cooldown and forgets what was rejected.
	RequestRetry Request = "Retry"
)

// DayReplacements counts the pods that were replaced on a day.
type DayReplacements struct {
	// day in UTC, such as 2026-11-30.
	// +required
	// +kubebuilder:validation:MaxLength=10
	Day string `json:"day"`
	// count of pods.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`
}

// HandledRequest is the last request of its kind, and what became of it.
type HandledRequest struct {
	// request that was made.
	// +required
	Request Request `json:"request"`
	// value of the annotation; another one is another request.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Value string `json:"value,omitempty"`
	// at is when it was handled.
	// +required
	At metav1.Time `json:"at,omitzero"`
	// result is one sentence for a person.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Result string `json:"result"`
}

// RuntimeTuningPolicyStatus is what gopacer says of a policy.
type RuntimeTuningPolicyStatus struct {
	// conditions of the policy. Ready sums up; Reconciling and Stalled are present only while True.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=3
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// target is what was found of the target.
	// +optional
	Target *TargetStatus `json:"target,omitempty"`
	// baseline is what every pod should run now.
	// +optional
	Baseline *Baseline `json:"baseline,omitempty"`
	// recommendation is the candidate that gopacer would try in mode Recommend, or what a trial on too few pods for a proof found good.
	// +optional
	Recommendation *Recommendation `json:"recommendation,omitempty"`
	// trial is the one that runs.
	// +optional
	Trial *Trial `json:"trial,omitempty"`
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
	// sweep is the table of a Sweep strategy.
	// +optional
	Sweep *Sweep `json:"sweep,omitempty"`
	// cooldownUntil is when the next trial may start.
	// +optional
	CooldownUntil *metav1.Time `json:"cooldownUntil,omitempty"`
	// handled are the requests of people, each with what became of it.
	// +optional
	// +listType=map
	// +listMapKey=request
	// +kubebuilder:validation:MaxItems=3
	Handled []HandledRequest `json:"handled,omitempty"`
	// replacements of the target's pods on the last eight days, newest first, where spec.schedule.replacementsPerWeek bounds them.
	// +optional
	// +listType=map
	// +listMapKey=day
	// +kubebuilder:validation:MaxItems=8
	Replacements []DayReplacements `json:"replacements,omitempty"`
	// history holds the latest finished trials, newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	History []TrialRecord `json:"history,omitempty"`
}

// RuntimeTuningPolicy tunes the Go runtime of one workload's pods against service-level objectives.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rtp,categories=gopacer
// +kubebuilder:selectablefield:JSONPath=`.spec.targetRef.name`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.targetRef.name`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="GOGC",type=string,JSONPath=`.status.baseline.settings.gogc`
// +kubebuilder:printcolumn:name="Trying",type=string,JSONPath=`.status.trial.candidate.gogc`
// +kubebuilder:printcolumn:name="Stage",type=string,JSONPath=`.status.trial.stage`
// +kubebuilder:printcolumn:name="GOMEMLIMIT",type=string,JSONPath=`.status.baseline.settings.gomemlimit`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RuntimeTuningPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// metadata of the policy.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec is what is asked for.
	// +required
	Spec RuntimeTuningPolicySpec `json:"spec,omitzero"`
	// status is what gopacer says.
	// +optional
	Status RuntimeTuningPolicyStatus `json:"status,omitempty,omitzero"`
}

// RuntimeTuningPolicyList is a list of policies.
// +kubebuilder:object:root=true
type RuntimeTuningPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata of the list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`
	// items of the list.
	Items []RuntimeTuningPolicy `json:"items"`
}
