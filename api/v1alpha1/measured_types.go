package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Spread is how unlike each other the pods of the target are in one signal, all with the same settings.
type Spread struct {
	// signal that was measured.
	// +required
	Signal SignalName `json:"signal"`
	// podSpread is the standard deviation from pod to pod, relative.
	// +required
	PodSpread Percent `json:"podSpread"`
}

// Calibration is what the last trial of the baseline against itself showed.
type Calibration struct {
	// at is when it ended.
	// +required
	At metav1.Time `json:"at,omitzero"`
	// footing that it was measured on. Margins rest on it only while the target is the same.
	// +optional
	Footing Footing `json:"footing,omitempty,omitzero"`
	// pods is how many were compared.
	// +required
	// +kubebuilder:validation:Minimum=0
	Pods int32 `json:"pods"`
	// spreads by signal.
	// +optional
	// +listType=map
	// +listMapKey=signal
	// +kubebuilder:validation:MaxItems=8
	Spreads []Spread `json:"spreads,omitempty"`
}

// Rung is what one step of a sweep's ladder showed. All figures are of its canary pods, as text with units.
type Rung struct {
	// gogc that was measured, in percent.
	// +required
	// +kubebuilder:validation:Minimum=1
	GOGC int32 `json:"gogc"`
	// result in one word: Measured; TooFewGCCycles where only the collector's CPU time could not be; or why nothing could be.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Result string `json:"result"`
	// requestsPerCPUSecond that the pods served.
	// +optional
	// +kubebuilder:validation:MaxLength=31
	RequestsPerCPUSecond string `json:"requestsPerCPUSecond,omitempty"`
	// p99 of the request time, interpolated between the edges of the histogram, such as 24.5ms.
	// +optional
	// +kubebuilder:validation:MaxLength=31
	P99 string `json:"p99,omitempty"`
	// memory that a pod had resident, the mean.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// gcCPU is the collector's share of the CPU time.
	// +optional
	// +kubebuilder:validation:MaxLength=31
	GCCPU string `json:"gcCPU,omitempty"`
	// gcCPUPerRequest is the collector's CPU time of a request, such as 1.2ms.
	// +optional
	// +kubebuilder:validation:MaxLength=31
	GCCPUPerRequest string `json:"gcCPUPerRequest,omitempty"`
	// slowRequests is the share over the first latency objective's threshold.
	// +optional
	// +kubebuilder:validation:MaxLength=31
	SlowRequests string `json:"slowRequests,omitempty"`
	// againstModel says what of it contradicts the cost model; empty where nothing does.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	AgainstModel string `json:"againstModel,omitempty"`
	// standing among the rungs: Pareto where no other is better in every respect, else Dominated.
	// +optional
	Standing Standing `json:"standing,omitempty"`
}

// Standing of a rung among the others.
// +kubebuilder:validation:Enum=Pareto;Dominated
type Standing string

const (
	// StandingPareto says that no other rung is as good in CPU, latency and memory, and better in one.
	StandingPareto Standing = "Pareto"
	// StandingDominated says that some other rung is.
	StandingDominated Standing = "Dominated"
)

// Sweep is the table of a Sweep strategy.
type Sweep struct {
	// startedAt is when its first rung was begun.
	// +required
	StartedAt metav1.Time `json:"startedAt,omitzero"`
	// footing that it was measured on.
	// +optional
	Footing Footing `json:"footing,omitempty,omitzero"`
	// order in which the rungs are measured.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=12
	Order []int32 `json:"order,omitempty"`
	// rungs that are measured, by GOGC.
	// +optional
	// +listType=map
	// +listMapKey=gogc
	// +kubebuilder:validation:MaxItems=12
	Rungs []Rung `json:"rungs,omitempty"`
	// picked is the GOGC that the objective chooses, once all are measured; absent where none is enough better than the baseline.
	// +optional
	Picked *int32 `json:"picked,omitempty"`
}
