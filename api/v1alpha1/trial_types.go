package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

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
	// id is never used again. Where new pods have no names of their own, it is the end of the pod's name.
	// +required
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=8
	ID string `json:"id"`
	// podUID of the pod that took the slot; absent while the slot is open.
	// +optional
	PodUID types.UID `json:"podUID,omitempty"`
	// podName of the pod that took the slot, or, with a StatefulSet, that may take it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PodName string `json:"podName,omitempty"`
	// replaces is, while a StatefulSet's slot is open, the UID of the pod that has podName but not the slot.
	// +optional
	Replaces types.UID `json:"replaces,omitempty"`
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

// TrialPurpose says what a trial is for.
// +kubebuilder:validation:Enum=Promote;Measure;Calibrate
type TrialPurpose string

const (
	// PurposePromote judges a candidate for promotion.
	PurposePromote TrialPurpose = "Promote"
	// PurposeMeasure measures a rung of a sweep, and goes back.
	PurposeMeasure TrialPurpose = "Measure"
	// PurposeCalibrate compares the baseline with itself.
	PurposeCalibrate TrialPurpose = "Calibrate"
)

// HarmLayout says which guards against harm the cohorts allow.
// +kubebuilder:validation:Enum=GuardrailsOnly;Statistical
type HarmLayout string

const (
	// HarmGuardrailsOnly says that there are too few pods for a test whose false alarms are bounded. Absolute
	// limits, and three bad windows in a row, revert.
	HarmGuardrailsOnly HarmLayout = "GuardrailsOnly"
	// HarmStatistical says that a test over the pods reverts as well.
	HarmStatistical HarmLayout = "Statistical"
)

// SignalName names a measurement that canary and control pods are compared by.
// +kubebuilder:validation:Enum=RequestLatency;TailLatency;SlowRequests;Errors;CPUPerRequest;GCCPUPerRequest;Memory;StartupTime
type SignalName string

const (
	// SignalRequestLatency is the mean time of a request.
	SignalRequestLatency SignalName = "RequestLatency"
	// SignalTailLatency is the share of requests that take longer than all but one in twenty of the control pods' do.
	SignalTailLatency SignalName = "TailLatency"
	// SignalSlowRequests is the share of requests over an objective's threshold.
	SignalSlowRequests SignalName = "SlowRequests"
	// SignalErrors is the share of failed requests.
	SignalErrors SignalName = "Errors"
	// SignalCPUPerRequest is the CPU time of a request.
	SignalCPUPerRequest SignalName = "CPUPerRequest"
	// SignalGCCPUPerRequest is the collector's CPU time of a request, without marking on idle processors.
	SignalGCCPUPerRequest SignalName = "GCCPUPerRequest"
	// SignalMemory is the resident memory of the process.
	SignalMemory SignalName = "Memory"
	// SignalStartupTime is the time from a pod's creation until it is ready.
	SignalStartupTime SignalName = "StartupTime"
)

// Margin is what a trial allows of one signal. It is settled when the trial starts.
type Margin struct {
	// signal that is compared.
	// +required
	Signal SignalName `json:"signal"`
	// allowed is how much worse the canary pods may be, relative.
	// +required
	Allowed Percent `json:"allowed"`
	// podSpread is the standard deviation from pod to pod that the margin was settled with; absent where it was not known.
	// +optional
	PodSpread Percent `json:"podSpread,omitempty"`
}

// BadWindows counts the looks in a row at which a signal was worse than allowed.
type BadWindows struct {
	// check is the name of the check.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Check string `json:"check"`
	// count of looks in a row.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
}

// Trial is one candidate's way through the steps. A manager that restarts goes on from it alone.
type Trial struct {
	// number counts the trials of this policy from 1 on.
	// +required
	// +kubebuilder:validation:Minimum=1
	Number int64 `json:"number"`
	// purpose of the trial; Promote where it is absent.
	// +optional
	Purpose TrialPurpose `json:"purpose,omitempty"`
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
	// revision whose pods may take slots: the UID of their ReplicaSet, or their label controller-revision-hash.
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
	// passedAt is when the last step passed, while the trial waits for a person to promote it; its deadline counts from here.
	// +optional
	PassedAt *metav1.Time `json:"passedAt,omitempty"`
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
	// misses counts the pods of this step that came up under the name of an open slot without the candidate.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Misses int32 `json:"misses,omitempty"`
	// controls are the pods that the canary pods are compared with.
	// +optional
	// +listType=map
	// +listMapKey=podUID
	// +kubebuilder:validation:MaxItems=500
	Controls []CohortPod `json:"controls,omitempty"`
	// margins that the trial is judged with.
	// +optional
	// +listType=map
	// +listMapKey=signal
	// +kubebuilder:validation:MaxItems=8
	Margins []Margin `json:"margins,omitempty"`
	// harm says which guards against harm the step's cohorts allow.
	// +optional
	Harm HarmLayout `json:"harm,omitempty"`
	// goodWindows counts the looks in a row that passed in this step.
	// +optional
	// +kubebuilder:validation:Minimum=0
	GoodWindows int32 `json:"goodWindows,omitempty"`
	// badWindows counts, for each check, the looks in a row that were bad.
	// +optional
	// +listType=map
	// +listMapKey=check
	// +kubebuilder:validation:MaxItems=24
	BadWindows []BadWindows `json:"badWindows,omitempty"`
	// verdict is the latest judgement.
	// +optional
	Verdict *Verdict `json:"verdict,omitempty"`
	// end says why the trial goes back; set in stage Reverting.
	// +optional
	End *TrialEnd `json:"end,omitempty"`
}

// TrialResult is how a trial ended.
// +kubebuilder:validation:Enum=Promoted;Reverted;Recommended;Measured
type TrialResult string

const (
	// TrialPromoted says that the candidate became the baseline.
	TrialPromoted TrialResult = "Promoted"
	// TrialReverted says that all pods went back to the baseline.
	TrialReverted TrialResult = "Reverted"
	// TrialRecommended says that all went well on too few pods for a proof: all went back, and a person decides.
	TrialRecommended TrialResult = "Recommended"
	// TrialMeasured says that a rung of a sweep, or the baseline, was measured, and all pods went back.
	TrialMeasured TrialResult = "Measured"
)

// TrialRecord is a finished trial with its evidence.
type TrialRecord struct {
	// number of the trial.
	// +required
	// +kubebuilder:validation:Minimum=1
	Number int64 `json:"number"`
	// purpose of the trial; Promote where it is absent.
	// +optional
	Purpose TrialPurpose `json:"purpose,omitempty"`
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
