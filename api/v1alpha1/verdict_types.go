package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// effect is by how much the canary pods differ from the control pods: the Hodges-Lehmann estimate over pods, such as +1.8%.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Effect string `json:"effect,omitempty"`
	// interval is the confidence interval of the effect, such as -0.9% to +4.4%; absent of one pod against one.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Interval string `json:"interval,omitempty"`
	// margin is the effect that is allowed, such as +5%.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Margin string `json:"margin,omitempty"`
	// samples is how many requests of the canary pods the check rests on.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Samples int64 `json:"samples,omitempty"`
	// query is PromQL that shows the same measurement by pod.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Query string `json:"query,omitempty"`
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
	// canaryPods is the size of the canary cohort.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CanaryPods int32 `json:"canaryPods,omitempty"`
	// controlPods is the size of the control cohort.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ControlPods int32 `json:"controlPods,omitempty"`
	// checks are the single questions.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=24
	Checks []Check `json:"checks,omitempty"`
}
