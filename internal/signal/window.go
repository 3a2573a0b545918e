// Package signal names what gopacer measures: the signals of a pod, the PromQL that asks for them, and how an answer of
// Prometheus becomes numbers with a state. It holds no client; package signal/prometheus asks.
package signal

import "time"

// State says whether a value can be used.
type State string

const (
	// Absent says that there is no series for the pod. It is the zero value: what nobody filled in is absent.
	Absent State = ""
	// Present says that the value is good.
	Present State = "Present"
	// NotFinite says that Prometheus answered no number that can be used: NaN, an infinity, a negative count, a histogram without total.
	NotFinite State = "NotFinite"
	// Ambiguous says that several series claim to be the pod's, or that its buckets contradict each other.
	Ambiguous State = "Ambiguous"
)

// Value is a number that may be missing. Its unit is in the name of the field that holds it.
type Value struct {
	Number float64
	State  State
}

// OK says that the number can be used.
func (v Value) OK() bool { return v.State == Present }

// Bucket counts the requests of a window that took at most so long.
type Bucket struct {
	// UpperBoundSeconds is the edge; +Inf for the last bucket.
	UpperBoundSeconds float64
	// Count is cumulative, as in a classic histogram.
	Count float64
}

// Pod is what was measured of one pod in a window. Counters are increases within the window, or since the process started where that
// was later.
type Pod struct {
	Requests Value
	// FailedRequests are those with a status of 5xx: 0 where none failed, Absent where no request has a status.
	FailedRequests Value
	// Latency has ascending edges and cumulative counts, and ends with +Inf; nil unless LatencyState is Present.
	Latency []Bucket
	// LatencyState is Present only where every bucket is finite and the counts never fall.
	LatencyState State

	// GCCPUSeconds leaves idle-priority marking out: it runs on processor time that nobody wanted (science: runtime/metrics /cpu/classes).
	GCCPUSeconds Value
	// CPUSeconds is the processor time of the process.
	CPUSeconds Value
	// GCCycles is how many collections ended in the window, GCCyclesTotal how many since the process started.
	GCCycles      Value
	GCCyclesTotal Value
	// GCPauseSeconds is the mean stop-the-world time of a cycle in the window, Absent where none ended in it.
	GCPauseSeconds Value

	ResidentBytes Value
	LiveHeapBytes Value
	// StackAndGlobalBytes are scanned by the collector beside the heap.
	StackAndGlobalBytes Value
	// TotalMemoryBytes is all memory that the runtime has mapped and not released: what GOMEMLIMIT counts.
	TotalMemoryBytes Value

	// GOGCPercent, MemoryLimitBytes and GOMAXPROCS are the settings as the process sees them. GOGC=off shows as a number above 1e18,
	// an unset memory limit as math.MaxInt64.
	GOGCPercent      Value
	MemoryLimitBytes Value
	GOMAXPROCS       Value
	// ProcessStartSeconds is the start of the process in Unix time.
	ProcessStartSeconds Value

	// SampleAge is the age of the pod's newest sample when the window ended, Coverage the share of the samples that should be in the
	// window and are. Both are 0 where there is no sample at all.
	SampleAge time.Duration
	Coverage  float64
	// Sampled says that there was a sample in the window, and that the pod's series had not ended when the window did.
	Sampled bool
}

// Fresh says that the pod's newest sample is not older than maxAge and that at least minCoverage of the window's samples are there.
func (p Pod) Fresh(maxAge time.Duration, minCoverage float64) bool {
	return p.Sampled && p.SampleAge <= maxAge && p.Coverage >= minCoverage
}

// Window is what was measured of a target's pods between End-Length and End.
type Window struct {
	End    time.Time
	Length time.Duration
	// ScrapeInterval of the Prometheus that was asked.
	ScrapeInterval time.Duration
	// Pods by name.
	Pods map[string]Pod
}

// MaxSampleAge is the age from which on a sample no longer speaks for the present: three scrapes that did not come.
func (w Window) MaxSampleAge() time.Duration { return 3*w.ScrapeInterval + w.ScrapeInterval/2 }

// Latency says which histogram holds a target's requests.
type Latency struct {
	// Histogram is its name in seconds, without _bucket.
	Histogram string
	// CodeLabel is the label with the HTTP status.
	CodeLabel string
}

// Request asks for one window of one target.
type Request struct {
	// Provider is the name of a Prometheus in the manager's configuration.
	Provider  string
	Namespace string
	// PodPrefix is what the pods' names start with.
	PodPrefix string
	// Container that is tuned; series without a container label count too.
	Container string
	Latency   Latency
	Length    time.Duration
	// End is the time to ask for.
	End time.Time
}
