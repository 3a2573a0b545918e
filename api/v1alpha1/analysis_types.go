package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Tier says how much a service may suffer before a candidate is turned down.
// +kubebuilder:validation:Enum=Critical;Standard;Batch
type Tier string

const (
	// TierCritical allows margins up to 5%.
	TierCritical Tier = "Critical"
	// TierStandard allows margins up to 10%.
	TierStandard Tier = "Standard"
	// TierBatch starts with margins three times as wide, and allows up to 25%.
	TierBatch Tier = "Batch"
)

// Margins are how much worse than the control pods a canary may be and still pass. A margin that the target's pods are too unlike each
// other to resolve is widened, up to max.
type Margins struct {
	// latency is the margin of the mean time of a request; 3% by default, 9% in tier Batch.
	// +optional
	Latency Percent `json:"latency,omitempty"`
	// cpu is the margin of the CPU time of a request; 2% by default, 6% in tier Batch.
	// +optional
	CPU Percent `json:"cpu,omitempty"`
	// slowRequests is the margin of the share of slow requests, relative; 10% by default, 30% in tier Batch. A tenth of a percentage point
	// is always allowed.
	// +optional
	SlowRequests Percent `json:"slowRequests,omitempty"`
	// max is what no margin is widened beyond; by default 5% in tier Critical, 10% in Standard, 25% in Batch.
	// +optional
	Max Percent `json:"max,omitempty"`
}

// Breaker reverts a trial, whatever the control pods show, when so many requests fail for so long.
type Breaker struct {
	// errors is the share of failed requests that trips it.
	// +optional
	// +kubebuilder:default="40%"
	// +kubebuilder:validation:XValidation:rule="double(self.substring(0, size(self) - 1)) > 0.0",message="errors must be above 0%"
	Errors Percent `json:"errors,omitempty"`
	// for is how long it must last.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s') && duration(self) <= duration('10m')",message="for must lie between 5s and 10m"
	For *metav1.Duration `json:"for,omitempty"`
}

// Analysis says how a trial is judged.
// +kubebuilder:validation:XValidation:rule="!has(self.noDataTimeout) || !has(self.interval) || duration(self.noDataTimeout) >= duration(self.interval)",message="noDataTimeout must not be shorter than interval"
type Analysis struct {
	// interval between two looks at the pods of a trial.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s') && duration(self) <= duration('10m')",message="interval must lie between 5s and 10m"
	Interval *metav1.Duration `json:"interval,omitempty"`
	// warmUp is how long the pods of a step run, verified, before they are judged. It is prolonged until each process has finished ten
	// collections, but not beyond ten minutes.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="warmUp must not exceed 24h"
	WarmUp *metav1.Duration `json:"warmUp,omitempty"`
	// noDataTimeout is how long a trial waits for usable data before it reverts.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="noDataTimeout must not exceed 24h"
	NoDataTimeout *metav1.Duration `json:"noDataTimeout,omitempty"`
	// tier says how much the service may suffer: it presets the margins.
	// +optional
	// +kubebuilder:default=Standard
	Tier Tier `json:"tier,omitempty"`
	// margins override those of the tier.
	// +optional
	Margins Margins `json:"margins,omitempty,omitzero"`
	// goodWindows is how many looks in a row must pass before the next step, or promotion.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	GoodWindows int32 `json:"goodWindows,omitempty"`
	// breaker bounds failures, with or without an objective for errors.
	// +optional
	// +kubebuilder:default={}
	Breaker Breaker `json:"breaker,omitempty,omitzero"`
}
