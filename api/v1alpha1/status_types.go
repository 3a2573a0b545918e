package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BaselineSource says where the baseline comes from.
// +kubebuilder:validation:Enum=Declared;Promoted
type BaselineSource string

const (
	// BaselineDeclared is what the pod template says.
	BaselineDeclared BaselineSource = "Declared"
	// BaselinePromoted is what the last successful trial proved.
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
	// promotedAt is when a trial proved the settings.
	// +optional
	PromotedAt *metav1.Time `json:"promotedAt,omitempty"`
}

// Stage is where a trial stands.
// +kubebuilder:validation:Enum=Canary;Promoting;Reverting
type Stage string

const (
	// StageCanary opens slots, replaces pods, and judges them, step by step.
	StageCanary Stage = "Canary"
	// StagePromoting replaces the rest of the pods; the candidate is the baseline already.
	StagePromoting Stage = "Promoting"
	// StageReverting replaces the canary pods; all slots are closed.
	StageReverting Stage = "Reverting"
)

// Slot is the right of exactly one pod, of one revision, to start with the candidate.
type Slot struct {
	// id is the end of the pod's name, and is never used again.
	// +required
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=8
	ID string `json:"id"`
	// podUID of the pod that took the slot; absent while the slot is open.
	// +optional
	PodUID types.UID `json:"podUID,omitempty"`
	// podName of the pod that took the slot.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PodName string `json:"podName,omitempty"`
}

// CohortPod is a pod that is compared with the canary pods.
type CohortPod struct {
	// podUID of the pod.
	// +required
	PodUID types.UID `json:"podUID"`
	// podName of the pod.
	// +required
	// +kubebuilder:validation:MaxLength=253
	PodName string `json:"podName"`
}

// Outcome of a verdict or of one of its checks.
// +kubebuilder:validation:Enum=Pass;Fail;Inconclusive;Invalid
type Outcome string

const (
	// OutcomePass says that everything that was asked was measured, and is good.
	OutcomePass Outcome = "Pass"
	// OutcomeFail says that a limit is broken.
	OutcomeFail Outcome = "Fail"
	// OutcomeInconclusive says that the data is good but does not decide the question.
	OutcomeInconclusive Outcome = "Inconclusive"
	// OutcomeInvalid says that the data can't be used: absent, stale, partial, or not a number.
	OutcomeInvalid Outcome = "Invalid"
)

// Check is one question of a verdict, with the numbers behind its answer.
type Check struct {
	// name of the SLO, guardrail or objective.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// outcome of the check.
	// +required
	Outcome Outcome `json:"outcome"`
	// reason in one word.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Reason string `json:"reason,omitempty"`
	// canary is what the canary pods show, with its unit.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Canary string `json:"canary,omitempty"`
	// control is what the control pods show, with its unit.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Control string `json:"control,omitempty"`
	// limit is what is allowed, with its unit.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Limit string `json:"limit,omitempty"`
	// message is one sentence for a person.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// Verdict is the latest judgement of a trial.
type Verdict struct {
	// outcome of the verdict.
	// +required
	Outcome Outcome `json:"outcome"`
	// reason in one word.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Reason string `json:"reason"`
	// message is one sentence for a person.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// at is when it was judged.
	// +required
	At metav1.Time `json:"at,omitzero"`
	// checks are the single questions.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=24
	Checks []Check `json:"checks,omitempty"`
}

// TrialEnd says why and since when a trial goes back.
type TrialEnd struct {
	// reason in one word; docs/spec lists them.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Reason string `json:"reason"`
	// message is one sentence for a person.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// at is when the slots were closed.
	// +required
	At metav1.Time `json:"at,omitzero"`
}

// Trial is one candidate's way through the steps. A manager that restarts goes on from it alone.
type Trial struct {
	// number counts the trials of this policy from 1 on.
	// +required
	// +kubebuilder:validation:Minimum=1
	Number int64 `json:"number"`
	// candidate is complete: a key that is absent is not set.
	// +optional
	Candidate RuntimeSettings `json:"candidate,omitempty,omitzero"`
	// reason says why this candidate, in one sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
	// footing is what the candidate is tried on.
	// +optional
	Footing Footing `json:"footing,omitempty,omitzero"`
	// previous is the baseline to go back to.
	// +required
	Previous Baseline `json:"previous,omitzero"`
	// revision is the UID of the ReplicaSet whose pods may take slots.
	// +required
	Revision types.UID `json:"revision"`
	// stage is where the trial stands.
	// +required
	Stage Stage `json:"stage"`
	// step is the index of the current step, from 0 on.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Step int32 `json:"step"`
	// startedAt is when the trial started.
	// +required
	StartedAt metav1.Time `json:"startedAt,omitzero"`
	// stepStartedAt is when the current step started; its deadlines count from here.
	// +required
	StepStartedAt metav1.Time `json:"stepStartedAt,omitzero"`
	// verifiedAt is when all pods of the step were seen to run what they should; the warm-up counts from here.
	// +optional
	VerifiedAt *metav1.Time `json:"verifiedAt,omitempty"`
	// warmAt is when the warm-up of the step was over.
	// +optional
	WarmAt *metav1.Time `json:"warmAt,omitempty"`
	// lastDataAt is when a verdict of this step was last based on usable data.
	// +optional
	LastDataAt *metav1.Time `json:"lastDataAt,omitempty"`
	// slots are the canary pods: those that have one and those that may still come.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=500
	Slots []Slot `json:"slots,omitempty"`
	// slotsOpened counts the slots that this trial ever opened, so that no id is used twice.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SlotsOpened int64 `json:"slotsOpened,omitempty"`
	// controls are the pods that the canary pods are compared with.
	// +optional
	// +listType=map
	// +listMapKey=podUID
	// +kubebuilder:validation:MaxItems=500
	Controls []CohortPod `json:"controls,omitempty"`
	// verdict is the latest judgement.
	// +optional
	Verdict *Verdict `json:"verdict,omitempty"`
	// end says why the trial goes back; set in stage Reverting.
	// +optional
	End *TrialEnd `json:"end,omitempty"`
}

// Recommendation is the candidate that gopacer would try.
type Recommendation struct {
	// settings to try.
	// +optional
	Settings RuntimeSettings `json:"settings,omitempty,omitzero"`
	// reason says why, with what was measured and what is expected.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
	// at is when it was first recommended.
	// +required
	At metav1.Time `json:"at,omitzero"`
}

// TrialResult is how a trial ended.
// +kubebuilder:validation:Enum=Promoted;Reverted
type TrialResult string

const (
	// TrialPromoted says that the candidate became the baseline.
	TrialPromoted TrialResult = "Promoted"
	// TrialReverted says that all pods went back to the baseline.
	TrialReverted TrialResult = "Reverted"
)

// TrialRecord is a finished trial with its evidence.
type TrialRecord struct {
	// number of the trial.
	// +required
	// +kubebuilder:validation:Minimum=1
	Number int64 `json:"number"`
	// candidate that was tried.
	// +optional
	Candidate RuntimeSettings `json:"candidate,omitempty,omitzero"`
	// footing is what it was tried on.
	// +optional
	Footing Footing `json:"footing,omitempty,omitzero"`
	// result is how it ended.
	// +required
	Result TrialResult `json:"result"`
	// reason in one word.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Reason string `json:"reason"`
	// message is one sentence for a person.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// previous is the baseline before the trial.
	// +optional
	Previous *Baseline `json:"previous,omitempty"`
	// verdict is the last judgement.
	// +optional
	Verdict *Verdict `json:"verdict,omitempty"`
	// startedAt is when the trial started.
	// +required
	StartedAt metav1.Time `json:"startedAt,omitzero"`
	// endedAt is when the last of its pods was where it should be.
	// +required
	EndedAt metav1.Time `json:"endedAt,omitzero"`
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
}

// RuntimeTuningPolicyStatus is what gopacer says of a policy.
type RuntimeTuningPolicyStatus struct {
	// conditions of the policy. Ready sums up; Reconciling and Stalled are present only while True.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
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
	// recommendation is the candidate that gopacer would try; only in mode Recommend.
	// +optional
	Recommendation *Recommendation `json:"recommendation,omitempty"`
	// trial is the one that runs.
	// +optional
	Trial *Trial `json:"trial,omitempty"`
	// trials counts the trials that were ever started.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Trials int64 `json:"trials,omitempty"`
	// cooldownUntil is when the next trial may start.
	// +optional
	CooldownUntil *metav1.Time `json:"cooldownUntil,omitempty"`
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
