package cluster

import (
	"cmp"
	"context"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/signal/prometheus"
)

// ScrapeInterval of the cluster's Prometheus.
const ScrapeInterval = 5 * time.Second

// Shown is one thing that is wrong with what Prometheus shows.
type Shown string

// What may be wrong.
const (
	Honest  Shown = ""
	Down    Shown = "down"
	Silent  Shown = "silent"
	NaN     Shown = "NaN"
	Partial Shown = "partial"
	Stale   Shown = "stale"
	Missing Shown = "one missing"
	Nothing Shown = "nothing"
	Absent  Shown = "absent"
	OldOnes Shown = "old values" // a lie: those of the process before
	Swapped Shown = "swapped"    // a lie: each pod's values are another's
)

// ShownFaults are all of them.
var ShownFaults = []Shown{Down, Silent, NaN, Partial, Stale, Missing, Nothing, Absent, OldOnes, Swapped}

// Prometheus measures the cluster's pods. It implements controllers.Observer.
type Prometheus struct{ Cluster *Cluster }

// ScrapeInterval implements controllers.Observer.
func (p Prometheus) ScrapeInterval(string) (time.Duration, error) { return ScrapeInterval, nil }

// Observe implements controllers.Observer.
func (p Prometheus) Observe(_ context.Context, request signal.Request) (signal.Window, error) {
	c := p.Cluster
	switch c.Service.Shown {
	case Down:
		return signal.Window{}, &prometheus.UnavailableError{Provider: request.Provider, Query: signal.QueryGauges, Err: context.Canceled}
	case Silent:
		return signal.Window{}, &prometheus.UnavailableError{Provider: request.Provider, Query: signal.QueryGauges, Err: context.DeadlineExceeded}
	}
	window := signal.Window{End: request.End, Length: request.Length, ScrapeInterval: ScrapeInterval, Pods: map[string]signal.Pod{}, LatencyFound: "virtual"}
	var pods []*corev1.Pod
	for _, pod := range c.Pods() {
		if pod.Namespace == request.Namespace && strings.HasPrefix(pod.Name, request.PodPrefix) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for i, pod := range pods {
		measured, ok := c.measure(pod, request)
		if !ok || c.Service.Shown == Nothing || c.Service.Shown == Missing && i == len(pods)-1 {
			continue
		}
		window.Pods[pod.Name] = spoil(c.Service.Shown, measured)
	}
	if c.Service.Shown == Swapped && len(pods) > 1 {
		first, last := pods[0].Name, pods[len(pods)-1].Name
		window.Pods[first], window.Pods[last] = window.Pods[last], window.Pods[first]
	}
	return window, nil
}

func present(number float64) signal.Value { return signal.Value{Number: number, State: signal.Present} }

// differs is by how much a pod is unlike others, within a percent.
func differs(pod *corev1.Pod, what string) float64 {
	hash := fnv.New32a()
	hash.Write([]byte(string(pod.UID) + what))
	return 1 + 0.01*(float64(hash.Sum32()%1000)/1000-0.5)
}

const (
	requestsPerSecond  = 20.0
	cpuPerRequest      = 0.01
	gcShareAtDeclared  = 0.2
	usuallySlow        = 0.001
	thresholdSeconds   = 0.1
	secondsPerRequest  = 0.01
	cyclesPerSecond    = 2.0
	residentBytes      = 1e8
	liveHeapBytes      = 2e7
	firstSampleAfter   = ScrapeInterval
	shownGoVersion     = "go1.26.8"
	defaultMemoryLimit = math.MaxInt64
)

// measure is what a window shows of a pod's process; false where it was not scraped yet.
func (c *Cluster) measure(pod *corev1.Pod, request signal.Request) (signal.Pod, bool) {
	if len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Running == nil {
		return signal.Pod{}, false
	}
	startedAt := pod.Status.ContainerStatuses[0].State.Running.StartedAt.Time
	running := c.now.Sub(startedAt)
	lost := c.Trouble.Lost[pod.Spec.NodeName]
	if running < firstSampleAfter || lost {
		return signal.Pod{}, false
	}
	covered := min(running, request.Length).Seconds()
	harm := c.Service.harmOf(pod)
	requests := requestsPerSecond * covered * differs(pod, "traffic")
	switch harm {
	case FewRequests:
		requests = covered / 100
	case Uneven:
		requests *= 5
	}
	gogc, err := settings.ParseGOGC(EnvOf(pod, "GOGC"))
	if err != nil {
		gogc = settings.DefaultGOGC
	}
	shown := float64(gogc)
	if gogc == settings.Off {
		shown = 1.8446744e19
	}
	measured := signal.Pod{
		Requests: present(requests), FailedRequests: present(0), RequestSeconds: present(requests * secondsPerRequest * differs(pod, "latency")),
		LatencyState: signal.Present, Latency: latency(requests, usuallySlow),
		GCCPUSeconds: present(requests * cpuPerRequest * c.Service.gcShare(float64(gogc)) * differs(pod, "collector")),
		CPUSeconds:   present(requests * cpuPerRequest * differs(pod, "cpu")),
		GCCycles:     present(cyclesPerSecond * covered), GCCyclesTotal: present(cyclesPerSecond * running.Seconds()), GCPauseSeconds: present(1e-4),
		ResidentBytes: present(residentBytes), LiveHeapBytes: present(liveHeapBytes), StackAndGlobalBytes: present(1e6), TotalMemoryBytes: present(1.2e8),
		HeapGoalBytes: present(liveHeapBytes * 3), GOGCPercent: present(shown), MemoryLimitBytes: present(memoryLimitOf(pod)), GOMAXPROCS: present(1),
		ProcessStartSeconds: present(float64(startedAt.Unix())), GoVersion: shownGoVersion,
		SampleAge: 2 * time.Second, Coverage: min(1, covered/request.Length.Seconds()), Sampled: true,
	}
	if len(request.Queries) > 0 {
		measured.Custom = map[string]signal.Value{request.Queries[0].Name: present(1)}
	}
	harm.show(&measured, request)
	return measured, true
}

func (s *Service) gcShare(gogc float64) float64 {
	if s.NoGain {
		return gcShareAtDeclared
	}
	return gcShareAtDeclared * float64(max(s.Declared, 1)) / gogc
}

func memoryLimitOf(pod *corev1.Pod) float64 {
	if limit, err := settings.ParseMemoryLimit(EnvOf(pod, "GOMEMLIMIT")); err == nil {
		return float64(limit)
	}
	return defaultMemoryLimit
}

func latency(requests, slow float64) []signal.Bucket {
	return []signal.Bucket{
		{UpperBoundSeconds: thresholdSeconds / 2, Count: requests * (1 - 2*slow)}, {UpperBoundSeconds: thresholdSeconds, Count: requests * (1 - slow)},
		{UpperBoundSeconds: 1, Count: requests}, {UpperBoundSeconds: math.Inf(1), Count: requests},
	}
}

// show puts a harm into what is measured.
func (h Harm) show(pod *signal.Pod, request signal.Request) {
	requests := pod.Requests.Number
	switch h {
	case Slow:
		pod.Latency = latency(requests, 0.3)
	case Errors:
		pod.FailedRequests = present(requests * 0.1)
	case Breaker:
		pod.FailedRequests = present(requests * 0.9)
	case Limiter:
		pod.LimiterEnabled = true
	case NearLimit:
		pod.WorkingSetBytes, pod.ResidentBytes = present(1.9e9), present(1.9e9)
	case Overridden:
		pod.GOGCPercent = present(77)
	case Costly:
		pod.CPUSeconds = present(pod.CPUSeconds.Number * 1.5)
		pod.RequestSeconds = present(pod.RequestSeconds.Number * 1.5)
	case FewCycles:
		pod.GCCycles, pod.GCCyclesTotal = present(0), present(1)
	case Throttled:
		pod.ThrottledShare = present(0.6)
	case Thrashing:
		pod.HeapGoalBytes = present(pod.LiveHeapBytes.Number * 1.05)
	case BadQuery:
		if len(request.Queries) > 0 {
			pod.Custom = map[string]signal.Value{request.Queries[0].Name: present(1000)}
		}
	}
	if h != Throttled {
		pod.ThrottledShare = present(0)
	}
}

// spoil breaks a measurement.
func spoil(fault Shown, pod signal.Pod) signal.Pod {
	bad := signal.Value{Number: math.NaN(), State: signal.NotFinite}
	switch fault {
	case NaN:
		pod.Requests, pod.LatencyState, pod.Latency, pod.GCCPUSeconds = bad, signal.NotFinite, nil, bad
	case Partial:
		pod.Coverage = 0.3
	case Stale:
		pod.SampleAge = time.Minute
	case Absent:
		pod.Requests, pod.FailedRequests, pod.LatencyState, pod.Latency = signal.Value{}, signal.Value{}, signal.Absent, nil
	case OldOnes:
		pod.ProcessStartSeconds = present(pod.ProcessStartSeconds.Number - 3600)
	}
	return pod
}
