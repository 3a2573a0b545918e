// Package signal names what gopacer measures: the signals of a pod, the PromQL that asks for them, and how an answer of
// Prometheus becomes numbers with a state. It holds no client; package signal/prometheus asks.
package signal

import (
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

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
	// FailedRequests are those with a status of 5xx, or a gRPC code that blames the server: 0 where none failed, Absent where no request
	// has a status.
	FailedRequests Value
	// RequestSeconds is the time that all requests of the window took together.
	RequestSeconds Value
	// Latency has ascending edges and cumulative counts, and ends with +Inf; nil unless LatencyState is Present.
	Latency []Bucket
	// LatencyState is Present only where every bucket is finite and the counts never fall.
	LatencyState State

	// GCCPUSeconds leaves idle-priority marking out: it runs on processor time that nobody wanted. It is the collector's share of the
	// runtime's own clock times CPUSeconds; where the runtime's busy time is not exposed it is what the runtime says, which may exceed
	// CPUSeconds on a busy node.
	GCCPUSeconds Value
	// CPUSeconds is the processor time of the process.
	CPUSeconds Value
	// GCCycles is how many collections ended in the window, GCCyclesTotal how many since the process started.
	GCCycles      Value
	GCCyclesTotal Value
	// GCPauseSeconds is the mean stop-the-world time of a cycle in the window, Absent where none ended in it.
	GCPauseSeconds Value

	// GCAssistSeconds is the part of GCCPUSeconds that goroutines had to do themselves when they allocated.
	GCAssistSeconds Value
	// Pauses are the stop-the-world pauses of the collector by duration, from the runtime's own histogram (client_golang gives it seven edges,
	// about ten times apart); nil unless PausesState is Present.
	Pauses      []Bucket
	PausesState State
	// LongestPauseSeconds is the longest of the last 256 pauses, which may lie before the window (quantile 1 of go_gc_duration_seconds).
	LongestPauseSeconds Value
	// SchedulerLatency is how long goroutines waited for a processor, by duration; nil unless SchedulerLatencyState is Present.
	SchedulerLatency      []Bucket
	SchedulerLatencyState State
	// RunnableGoroutines wait for a processor: the mean over the window. Only Go 1.26 and later count them.
	RunnableGoroutines Value
	// AllocatedBytes on the heap in the window.
	AllocatedBytes Value
	// LimiterCycle is the last collection in which the limiter of the collector's CPU time was on (0: never), counted like GCCyclesTotal;
	// LimiterEnabled says that it was on in the window.
	LimiterCycle   Value
	LimiterEnabled bool

	// ThrottledShare is the share of the CFS periods of the window in which the container was throttled; Absent without a CPU limit, or
	// where the kubelet's cAdvisor metrics are not scraped.
	ThrottledShare Value
	// WorkingSetBytes is what the kernel counts against the container's memory limit (cAdvisor).
	WorkingSetBytes Value
	// OOMKills of processes in the container, in the window (cAdvisor).
	OOMKills Value

	ResidentBytes Value
	LiveHeapBytes Value
	// HeapGoalBytes is the heap size at which the next collection ends, HeapAllocatedBytes the heap in use, garbage included.
	HeapGoalBytes      Value
	HeapAllocatedBytes Value
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
	// GoVersion that the process was built with, such as go1.26.8; empty where go_info is not exposed.
	GoVersion           string
	Goroutines          Value
	OpenFileDescriptors Value
	MaxFileDescriptors  Value
	// Levels are three equal parts of the window, in order: what grows through all of them grows. Nil where the window has too few samples.
	Levels []Level
	// Custom are the answers to the request's own queries, by their names.
	Custom map[string]Value

	// SampleAge is the age of the pod's newest sample when the window ended, Coverage the share of the samples that should be in the
	// window and are. Both are 0 where there is no sample at all.
	SampleAge time.Duration
	Coverage  float64
	// Sampled says that there was a sample in the window, and that the pod's series had not ended when the window did.
	Sampled bool
}

// EffectiveGOGC is the GOGC that the heap goal amounts to, in percent: under a memory limit it falls far below the one that is set, and
// below 25 the collector does little else than run (https://github.com/golang/go/issues/58106).
func (p Pod) EffectiveGOGC() Value {
	grown := combine(p.HeapGoalBytes, p.LiveHeapBytes, func(goal, live float64) float64 { return max(0, goal-live) })
	scanned := combine(p.LiveHeapBytes, p.StackAndGlobalBytes, func(live, roots float64) float64 { return live + roots })
	return combine(grown, scanned, func(grown, scanned float64) float64 { return 100 * grown / scanned })
}

// AmplificationOfLive is resident memory over live heap: what the collector's headroom, fragmentation and everything beside the heap cost.
func (p Pod) AmplificationOfLive() Value {
	return combine(p.ResidentBytes, p.LiveHeapBytes, func(resident, live float64) float64 { return resident / live })
}

// AmplificationOfAllocated is resident memory over allocated heap, which holds garbage and so swings within each cycle.
func (p Pod) AmplificationOfAllocated() Value {
	return combine(p.ResidentBytes, p.HeapAllocatedBytes, func(resident, allocated float64) float64 { return resident / allocated })
}

// Level is the mean of a part of a window.
type Level struct {
	RequestsPerSecond   Value
	Goroutines          Value
	OpenFileDescriptors Value
	LiveHeapBytes       Value
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
	// LatencyFound is the preset or histogram that the requests were read from; empty where none was found.
	LatencyFound string
	// QueryFaults say which of the request's own queries can't be used, by name, and why; their values are Absent.
	QueryFaults map[string]string
	// Queries show the same measurements by pod, in PromQL, for people who want to look themselves.
	Queries map[v1alpha1.SignalName]string
}

// MaxSampleAge is the age from which on a sample no longer speaks for the present: three scrapes that did not come.
func (w Window) MaxSampleAge() time.Duration { return 3*w.ScrapeInterval + w.ScrapeInterval/2 }

// Latency says which histogram holds a target's requests.
type Latency struct {
	// Preset names a well-known one, or LatencyAuto: the first that a pod exposes. Empty, it is LatencyAuto.
	Preset v1alpha1.LatencyPreset
	// Histogram is the name of another in seconds, without _bucket; it goes before the preset.
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
	// Queries of the policy's own, each answering with one number for each pod.
	Queries []CustomQuery
	Length  time.Duration
	// End is the time to ask for.
	End time.Time
}

// CustomQuery is a query of a policy's own.
type CustomQuery struct {
	// Name of the objective that it measures.
	Name   string
	PromQL string
}
