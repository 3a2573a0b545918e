package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Mode says how far gopacer may go; trust grows step by step.
// +kubebuilder:validation:Enum=Observe;Recommend;Auto
type Mode string

const (
	// ModeObserve measures and reports whether the policy could work; it proposes nothing.
	ModeObserve Mode = "Observe"
	// ModeRecommend also writes the candidate it would try into status.recommendation; it touches no pod.
	ModeRecommend Mode = "Recommend"
	// ModeAuto runs trials: canary, judge, promote or revert.
	ModeAuto Mode = "Auto"
)

// Suspend says whether, and how, a policy is paused.
// +kubebuilder:validation:Enum=None;Hold;Revert
type Suspend string

const (
	// SuspendNone lets the policy work.
	SuspendNone Suspend = "None"
	// SuspendHold starts no trial and lets a running one go no further; its guards still revert it.
	SuspendHold Suspend = "Hold"
	// SuspendRevert starts no trial and reverts a running one.
	SuspendRevert Suspend = "Revert"
)

// DeletionPolicy says what a policy's pods run once the policy is deleted.
// +kubebuilder:validation:Enum=Restore;Keep
type DeletionPolicy string

const (
	// DeletionRestore replaces pods that gopacer changed, so that all run what their template declares, before the policy goes.
	DeletionRestore DeletionPolicy = "Restore"
	// DeletionKeep leaves running pods with a promoted setting as they are; canaries are replaced. New pods get what the template declares.
	DeletionKeep DeletionPolicy = "Keep"
)

// Percent is a share between 0% and 100%, for example 5% or 0.05%.
// +kubebuilder:validation:Pattern=`^(100(\.0{1,4})?|[0-9]{1,2}(\.[0-9]{1,4})?)%$`
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=9
type Percent string

// TargetReference names the workload whose pods are tuned, in the policy's own namespace.
type TargetReference struct {
	// apiVersion of the target.
	// +required
	// +kubebuilder:validation:Enum=apps/v1
	APIVersion string `json:"apiVersion"`
	// kind of the target.
	// +required
	// +kubebuilder:validation:Enum=Deployment
	Kind string `json:"kind"`
	// name of the target.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
}

// LatencySLO asks that a share of the requests is answered within a threshold.
type LatencySLO struct {
	// threshold is the longest time a good request takes, for example 250ms. It is exact at an edge of the latency histogram's buckets.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="threshold must be above 0s"
	Threshold metav1.Duration `json:"threshold"`
	// target is the share of requests that must be good, for example 99%.
	// +required
	// +kubebuilder:validation:XValidation:rule="double(self.substring(0, size(self) - 1)) < 100.0",message="target must be below 100%: no finite number of requests proves that none is ever slow"
	// +kubebuilder:validation:XValidation:rule="double(self.substring(0, size(self) - 1)) > 0.0",message="target must be above 0%"
	Target Percent `json:"target"`
}

// ErrorsSLO bounds the share of failed requests.
type ErrorsSLO struct {
	// max is the largest share of requests that may fail, for example 1%.
	// +required
	Max Percent `json:"max"`
}

// SLO is one service-level objective that must hold, for the canary pods as for all others.
// +kubebuilder:validation:XValidation:rule="has(self.latency) != has(self.errors)",message="set exactly one of latency and errors"
type SLO struct {
	// name of the objective, unique in the policy.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// latency bounds slow requests.
	// +optional
	Latency *LatencySLO `json:"latency,omitempty"`
	// errors bounds failed requests.
	// +optional
	Errors *ErrorsSLO `json:"errors,omitempty"`
}

// KnobMode says whether a strategy may move a knob.
// +kubebuilder:validation:Enum=Tune;Keep
type KnobMode string

const (
	// KnobTune lets a strategy move the knob within its bounds.
	KnobTune KnobMode = "Tune"
	// KnobKeep leaves the knob as the baseline has it.
	KnobKeep KnobMode = "Keep"
)

// GOGCKnob bounds GOGC, the percentage by which the heap may grow between collections.
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || self.min <= self.max",message="min must not be above max"
type GOGCKnob struct {
	// mode Keep leaves GOGC alone.
	// +optional
	// +kubebuilder:default=Tune
	Mode KnobMode `json:"mode,omitempty"`
	// min is the smallest GOGC that the Feedback strategy tries, in percent.
	// +optional
	// +kubebuilder:default=25
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Min int32 `json:"min,omitempty"`
	// max is the largest GOGC that the Feedback strategy tries, in percent.
	// +optional
	// +kubebuilder:default=200
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Max int32 `json:"max,omitempty"`
}

// GOMEMLIMITKnob bounds GOMEMLIMIT, the soft memory limit that makes the collector work harder before the kernel kills the process.
type GOMEMLIMITKnob struct {
	// mode Keep leaves GOMEMLIMIT alone.
	// +optional
	// +kubebuilder:default=Tune
	Mode KnobMode `json:"mode,omitempty"`
	// percentOfLimit is the share of the container's memory limit that a candidate gets as GOMEMLIMIT. Without a memory limit none is set.
	// +optional
	// +kubebuilder:default="90%"
	// +kubebuilder:validation:XValidation:rule="double(self.substring(0, size(self) - 1)) >= 50.0 && double(self.substring(0, size(self) - 1)) <= 95.0",message="percentOfLimit must lie between 50% and 95%: below, the collector starves; above, nothing is left for what the runtime does not count"
	PercentOfLimit Percent `json:"percentOfLimit,omitempty"`
}

// Knobs are the settings that may be moved, each with its bounds.
type Knobs struct {
	// gogc bounds GOGC.
	// +optional
	// +kubebuilder:default={}
	GOGC GOGCKnob `json:"gogc,omitempty,omitzero"`
	// gomemlimit bounds GOMEMLIMIT.
	// +optional
	// +kubebuilder:default={}
	GOMEMLIMIT GOMEMLIMITKnob `json:"gomemlimit,omitempty,omitzero"`
}

// Minimize names the one thing that tuning improves.
// +kubebuilder:validation:Enum=GCCPU
type Minimize string

// MinimizeGCCPU lowers the CPU time that the garbage collector takes for a request.
const MinimizeGCCPU Minimize = "GCCPU"

// Objective is what a candidate must improve to be worth keeping.
type Objective struct {
	// minimize names the measurement to lower.
	// +optional
	// +kubebuilder:default=GCCPU
	Minimize Minimize `json:"minimize,omitempty"`
	// minGain is the smallest relative improvement against the control pods for which a candidate is promoted.
	// +optional
	// +kubebuilder:default="5%"
	MinGain Percent `json:"minGain,omitempty"`
}

// StrategyType says where candidates come from.
// +kubebuilder:validation:Enum=Feedback;Manual
type StrategyType string

const (
	// StrategyFeedback computes the next candidate from what was measured.
	StrategyFeedback StrategyType = "Feedback"
	// StrategyManual tries the candidates that the policy lists, in order.
	StrategyManual StrategyType = "Manual"
)

// RuntimeSettings are runtime settings of one container. A key that is absent is not set. The rules admit all that a pod template may
// declare, since status repeats it.
type RuntimeSettings struct {
	// gogc is the value of GOGC: a percentage from 1 on, or off.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 2147483647 : self == 'off'",message="gogc is a whole number from 1 to 2147483647, or off"
	GOGC *intstr.IntOrString `json:"gogc,omitempty"`
	// gomemlimit is the value of GOMEMLIMIT in bytes, written as a quantity such as 512Mi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="gomemlimit must be above 0"
	GOMEMLIMIT *resource.Quantity `json:"gomemlimit,omitempty"`
}

// ManualStrategy lists candidates.
type ManualStrategy struct {
	// candidates are tried in order, each once; a key that a candidate leaves out keeps its baseline value.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:XValidation:rule="has(self.gogc) || has(self.gomemlimit)",message="a candidate sets gogc, gomemlimit or both"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.gogc) || type(self.gogc) != int || self.gogc <= 100000",message="a candidate's gogc must not exceed 100000"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.gomemlimit) || quantity(string(self.gomemlimit)).isGreaterThan(quantity('1Mi'))",message="a candidate's gomemlimit must be above 1Mi"
	Candidates []RuntimeSettings `json:"candidates"`
}

// Strategy chooses candidates.
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'Manual') == has(self.manual)",message="set manual if, and only if, type is Manual"
type Strategy struct {
	// type of the strategy.
	// +optional
	// +kubebuilder:default=Feedback
	Type StrategyType `json:"type,omitempty"`
	// manual lists the candidates of a Manual strategy.
	// +optional
	Manual *ManualStrategy `json:"manual,omitempty"`
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
}

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

// Rollout says how a candidate reaches pods.
type Rollout struct {
	// steps of a trial, in order. A step never has fewer canary pods than the one before it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:default={{canary:"10%"},{canary:"25%"},{canary:"50%"}}
	Steps []Step `json:"steps,omitempty"`
	// maxUnavailable is how many pods of the target may be down, for whatever reason, while gopacer replaces one: a count from 1 on, or a
	// percentage of the replicas, rounded down but at least 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(100|[1-9][0-9]?)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= 1 && self <= 10000)",message="maxUnavailable is a count from 1 to 10000, or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// Schedule says when trials may start.
type Schedule struct {
	// cooldown is the time between the end of a trial and the start of the next.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('720h')",message="cooldown must not exceed 720h"
	Cooldown *metav1.Duration `json:"cooldown,omitempty"`
}

// LatencyPreset names a well-known histogram of request durations.
// +kubebuilder:validation:Enum=PrometheusHTTP;OpenTelemetryHTTP
type LatencyPreset string

const (
	// LatencyPrometheusHTTP is http_request_duration_seconds with the status in the label code, as promhttp names it.
	LatencyPrometheusHTTP LatencyPreset = "PrometheusHTTP"
	// LatencyOpenTelemetryHTTP is http_server_request_duration_seconds with the status in http_response_status_code.
	LatencyOpenTelemetryHTTP LatencyPreset = "OpenTelemetryHTTP"
)

// LatencySource says which classic histogram counts the target's requests by duration. Its _count with a status of 5xx counts errors.
// +kubebuilder:validation:XValidation:rule="has(self.preset) != has(self.histogram)",message="set exactly one of preset and histogram"
// +kubebuilder:validation:XValidation:rule="!has(self.codeLabel) || has(self.histogram)",message="codeLabel goes with histogram; a preset brings its own"
type LatencySource struct {
	// preset names a well-known histogram.
	// +optional
	Preset LatencyPreset `json:"preset,omitempty"`
	// histogram is the name of a histogram in seconds, without _bucket.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_:][a-zA-Z0-9_:]*$`
	Histogram string `json:"histogram,omitempty"`
	// codeLabel is the label that holds the HTTP status of a request.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	CodeLabel string `json:"codeLabel,omitempty"`
}

// Metrics says where measurements come from.
type Metrics struct {
	// provider is the name of a Prometheus in the manager's configuration.
	// +optional
	// +kubebuilder:default=default
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Provider string `json:"provider,omitempty"`
	// latency names the histogram of the target's requests.
	// +optional
	// +kubebuilder:default={preset:PrometheusHTTP}
	Latency LatencySource `json:"latency,omitempty,omitzero"`
}

// RuntimeTuningPolicySpec is what a platform team asks for.
type RuntimeTuningPolicySpec struct {
	// targetRef names the workload to tune. It can't be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="targetRef is immutable: delete this policy and create another"
	TargetRef TargetReference `json:"targetRef,omitzero"`
	// container to tune; may be left out where the pods have only one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Container string `json:"container,omitempty"`
	// mode says how far gopacer may go.
	// +optional
	// +kubebuilder:default=Observe
	Mode Mode `json:"mode,omitempty"`
	// suspend pauses the policy.
	// +optional
	// +kubebuilder:default=None
	Suspend Suspend `json:"suspend,omitempty"`
	// slos are the objectives that must hold. Without one only the built-in guardrails protect the target.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	SLOs []SLO `json:"slos,omitempty"`
	// knobs bounds the settings.
	// +optional
	// +kubebuilder:default={}
	Knobs Knobs `json:"knobs,omitempty,omitzero"`
	// objective is what a candidate must improve.
	// +optional
	// +kubebuilder:default={}
	Objective Objective `json:"objective,omitempty,omitzero"`
	// strategy chooses candidates.
	// +optional
	// +kubebuilder:default={}
	Strategy Strategy `json:"strategy,omitempty,omitzero"`
	// analysis says how a trial is judged.
	// +optional
	// +kubebuilder:default={}
	Analysis Analysis `json:"analysis,omitempty,omitzero"`
	// rollout says how a candidate reaches pods.
	// +optional
	// +kubebuilder:default={}
	Rollout Rollout `json:"rollout,omitempty,omitzero"`
	// schedule says when trials may start.
	// +optional
	// +kubebuilder:default={}
	Schedule Schedule `json:"schedule,omitempty,omitzero"`
	// metrics says where measurements come from.
	// +optional
	// +kubebuilder:default={}
	Metrics Metrics `json:"metrics,omitempty,omitzero"`
	// deletionPolicy says what the pods run once the policy is deleted.
	// +optional
	// +kubebuilder:default=Restore
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}
