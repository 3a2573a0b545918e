package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

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
	// min is the smallest GOGC that is tried, in percent. Left out, Feedback goes down to 25, and Manual and Sweep are not bound.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Min int32 `json:"min,omitempty"`
	// max is the largest GOGC that is tried, in percent. Left out, Feedback goes up to 200, and Manual and Sweep are not bound.
	// +optional
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

// GOMAXPROCSKnob bounds GOMAXPROCS, the processors that run Go code at once. Left alone, the runtime of Go 1.25 and later follows the
// container's CPU limit; a value in the environment switches that off.
type GOMAXPROCSKnob struct {
	// mode Tune proposes a value for processes that were built with an older Go, for containers without a CPU limit on large nodes, and where
	// goroutines wait for processors below the limit. Keep, the default, leaves it to the runtime.
	// +optional
	// +kubebuilder:default=Keep
	Mode KnobMode `json:"mode,omitempty"`
	// max is the largest value that is tried; never more than the CPU limit, rounded up.
	// +optional
	// +kubebuilder:default=64
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Max int32 `json:"max,omitempty"`
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
	// gomaxprocs bounds GOMAXPROCS.
	// +optional
	// +kubebuilder:default={}
	GOMAXPROCS GOMAXPROCSKnob `json:"gomaxprocs,omitempty,omitzero"`
}

// Minimize names the one thing that tuning improves.
// +kubebuilder:validation:Enum=GCCPU;Memory;Latency
type Minimize string

const (
	// MinimizeGCCPU lowers the CPU time that the garbage collector takes for a request.
	MinimizeGCCPU Minimize = "GCCPU"
	// MinimizeMemory lowers the resident memory.
	MinimizeMemory Minimize = "Memory"
	// MinimizeLatency lowers the mean time of a request.
	MinimizeLatency Minimize = "Latency"
)

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
// +kubebuilder:validation:Enum=Feedback;Sweep;Manual;Calibrate
type StrategyType string

const (
	// StrategyFeedback computes the next candidate from what was measured.
	StrategyFeedback StrategyType = "Feedback"
	// StrategySweep measures each rung of a ladder in random order and tries the best.
	StrategySweep StrategyType = "Sweep"
	// StrategyManual tries the candidates that the policy lists, in order.
	StrategyManual StrategyType = "Manual"
	// StrategyCalibrate runs one trial of the baseline against itself, which nothing can gain, and keeps how unlike each other the pods are:
	// the margins of later trials follow from it.
	StrategyCalibrate StrategyType = "Calibrate"
)

// GODEBUGName is a key of GODEBUG that may be managed. madvdontneed=0 gives memory back to the kernel lazily, which is cheaper and keeps
// resident memory high; disablethp=1 keeps the heap out of transparent huge pages; asyncpreemptoff=1 interrupts goroutines only at calls, which
// lengthens pauses where loops have none.
// +kubebuilder:validation:Enum=asyncpreemptoff;disablethp;madvdontneed
type GODEBUGName string

// GODEBUGSetting is one key of GODEBUG with its value. The other keys of the variable stay as the template has them.
type GODEBUGSetting struct {
	// name of the key.
	// +required
	Name GODEBUGName `json:"name"`
	// value of the key.
	// +required
	// +kubebuilder:validation:Enum="0";"1"
	Value string `json:"value"`
}

// RuntimeSettings are runtime settings of one container. A key that is absent is not set. What stands here admits all that a pod template
// may declare, since status repeats it. The rules for what a person writes stand at the fields that a person writes: in status, with its many
// settings, they would exceed what the API server lets rules cost.
type RuntimeSettings struct {
	// gogc is the value of GOGC: a percentage from 1 on, or off.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^off$`
	GOGC *intstr.IntOrString `json:"gogc,omitempty"`
	// gomemlimit is the value of GOMEMLIMIT in bytes, written as a quantity such as 512Mi.
	// +optional
	GOMEMLIMIT *resource.Quantity `json:"gomemlimit,omitempty"`
	// gomaxprocs is the value of GOMAXPROCS.
	// +optional
	// +kubebuilder:validation:Minimum=1
	GOMAXPROCS *int32 `json:"gomaxprocs,omitempty"`
	// godebug are keys of GODEBUG.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=3
	GODEBUG []GODEBUGSetting `json:"godebug,omitempty"`
}

// ManualStrategy lists candidates.
type ManualStrategy struct {
	// candidates are tried in order, each once; a key that a candidate leaves out keeps its baseline value.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:XValidation:rule="has(self.gogc) || has(self.gomemlimit) || has(self.gomaxprocs) || has(self.godebug)",message="a candidate sets at least one of gogc, gomemlimit, gomaxprocs and godebug"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.gogc) || (type(self.gogc) == int ? self.gogc >= 1 && self.gogc <= 100000 : self.gogc == 'off')",message="a candidate's gogc is a whole number from 1 to 100000 without quotes, or \"off\" with them"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.gomemlimit) || quantity(string(self.gomemlimit)).isGreaterThan(quantity('1Mi'))",message="a candidate's gomemlimit must be above 1Mi"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.gomaxprocs) || self.gomaxprocs <= 1024",message="a candidate's gomaxprocs must not exceed 1024"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.godebug) || self.godebug.all(g, g.value == (g.name == 'madvdontneed' ? '0' : '1'))",message="the value is the runtime's default already: madvdontneed is 1 since Go 1.16, asyncpreemptoff and disablethp are 0"
	Candidates []RuntimeSettings `json:"candidates"`
}

// SweepStrategy lists the rungs to measure.
type SweepStrategy struct {
	// ladder holds the values of GOGC, in percent. Each, and the baseline's, is measured on the canary pods of the last step, in random order.
	// +optional
	// +listType=set
	// +kubebuilder:default={25,50,100,150,200}
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=12
	// +kubebuilder:validation:items:Minimum=5
	// +kubebuilder:validation:items:Maximum=1000
	Ladder []int32 `json:"ladder,omitempty"`
}

// FeedbackRules are rules known from practice.
type FeedbackRules struct {
	// longPause is the mean pause of a collection above which a GOGC below 100 is raised.
	// +optional
	// +kubebuilder:default="5ms"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1s')",message="longPause must lie above 0s and not above 1s"
	LongPause *metav1.Duration `json:"longPause,omitempty"`
	// runnablePerProcessor is how many goroutines wait for each processor before more processors are proposed.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	RunnablePerProcessor int32 `json:"runnablePerProcessor,omitempty"`
	// quotaUse is the share of the CPU limit in use below which more processors are proposed.
	// +optional
	// +kubebuilder:default="80%"
	QuotaUse Percent `json:"quotaUse,omitempty"`
}

// Strategy chooses candidates.
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'Manual') == has(self.manual)",message="set manual if, and only if, type is Manual"
// +kubebuilder:validation:XValidation:rule="!has(self.feedback) || !has(self.type) || self.type == 'Feedback'",message="feedback goes with type Feedback"
// +kubebuilder:validation:XValidation:rule="!has(self.sweep) || (has(self.type) && self.type == 'Sweep')",message="sweep goes with type Sweep"
type Strategy struct {
	// type of the strategy.
	// +optional
	// +kubebuilder:default=Feedback
	Type StrategyType `json:"type,omitempty"`
	// feedback changes the rules of the Feedback strategy; left out, they are those of its fields' defaults.
	// +optional
	Feedback FeedbackRules `json:"feedback,omitempty,omitzero"`
	// sweep lists the rungs of a Sweep strategy; left out, the ladder is that of its default.
	// +optional
	Sweep *SweepStrategy `json:"sweep,omitempty"`
	// manual lists the candidates of a Manual strategy.
	// +optional
	Manual *ManualStrategy `json:"manual,omitempty"`
}
