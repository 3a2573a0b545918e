package simulation

import (
	"math"
	"time"

	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
)

// goVersion that the processes say they were built with.
const goVersion = "go1.26.8"

// levels are the parts of a window in which what grows is looked for.
const levels = 3

// gogcOff and noLimit are how the runtime reports that they are not set.
const (
	gogcOff = 1.8446744e19
	noLimit = math.MaxInt64
)

// Window is what Prometheus answers at the time, for so much time before it. A process that was not scraped yet is not in it.
func (f *Fleet) Window(now time.Time, length time.Duration) *signal.Window {
	window := &signal.Window{End: now, Length: length, ScrapeInterval: ScrapeInterval, Pods: make(map[string]signal.Pod, len(f.order)), LatencyFound: "simulated"}
	for _, p := range f.order {
		if len(p.history) > 1 {
			window.Pods[p.name] = f.measured(p, now, length)
		}
	}
	return window
}

func present(number float64) signal.Value { return signal.Value{Number: number, State: signal.Present} }

// measured is the pod in the window: the increase of its counters, and its gauges as they are.
func (f *Fleet) measured(p *process, now time.Time, length time.Duration) signal.Pod {
	last := len(p.history) - 1
	scrapes := int(length / ScrapeInterval)
	first := max(0, last-scrapes)
	was, is := &p.history[first], &p.history[last]
	since := func(was, is float64) signal.Value { return present(is - was) }
	pod := signal.Pod{
		Requests: since(was.requests, is.requests), FailedRequests: since(was.failed, is.failed), RequestSeconds: since(was.requestSeconds, is.requestSeconds),
		Latency: buckets(Edges[:], was.latency[:], is.latency[:]), LatencyState: signal.Present,
		GCCPUSeconds: since(was.gcSeconds, is.gcSeconds), CPUSeconds: since(was.cpuSeconds, is.cpuSeconds), GCAssistSeconds: since(was.assistSeconds, is.assistSeconds),
		GCCycles: since(was.cycles, is.cycles), GCCyclesTotal: present(is.cycles), AllocatedBytes: since(was.allocated, is.allocated),
		Pauses: buckets(runtimeEdges[:], was.pauses[:], is.pauses[:]), PausesState: signal.Present, LongestPauseSeconds: present(is.longest),
		SchedulerLatency: buckets(runtimeEdges[:], was.waits[:], is.waits[:]), SchedulerLatencyState: signal.Present,
		RunnableGoroutines: present(p.service.Processors / 2), LimiterCycle: present(is.limiterCycle), LimiterEnabled: is.limiterCycle > was.cycles,
		ThrottledShare: present((is.throttled - was.throttled) / math.Max(1, is.periods-was.periods)), WorkingSetBytes: present(is.resident),
		ResidentBytes: present(is.resident), LiveHeapBytes: present(is.marked), HeapGoalBytes: present(is.goal), HeapAllocatedBytes: present((is.marked + is.goal) / 2),
		StackAndGlobalBytes: present(p.service.RootBytes), TotalMemoryBytes: present(is.resident - p.service.OtherBytes),
		GOGCPercent: present(gogcGauge(p.settings)), MemoryLimitBytes: present(limitGauge(p.settings)), GOMAXPROCS: present(math.Ceil(p.service.Processors)),
		ProcessStartSeconds: present(float64(p.startedAt.Unix())), GoVersion: goVersion, Goroutines: present(200), OpenFileDescriptors: present(80),
		MaxFileDescriptors: present(1 << 20), Sampled: true, SampleAge: now.Sub(f.Now()), Coverage: math.Min(1, float64(last-first)/float64(max(1, scrapes))),
		Levels: p.levels(first, last),
	}
	if cycles := is.cycles - was.cycles; cycles > 0 {
		pod.GCPauseSeconds = present((is.pauseSeconds - was.pauseSeconds) / cycles)
	}
	if f.custom != "" {
		pod.Custom = map[string]signal.Value{f.custom: present(is.resident)}
	}
	return pod
}

// levels cut the window into equal parts.
func (p *process) levels(first, last int) []signal.Level {
	if last-first < levels {
		return nil
	}
	var out []signal.Level
	for i := range levels {
		from, to := first+(last-first)*i/levels, first+(last-first)*(i+1)/levels
		requests := p.history[to].requests - p.history[from].requests
		out = append(out, signal.Level{
			RequestsPerSecond: present(requests / (float64(to-from) * ScrapeInterval.Seconds())), Goroutines: present(200), OpenFileDescriptors: present(80),
			LiveHeapBytes: present(p.history[to].marked),
		})
	}
	return out
}

func buckets(edges, was, is []float64) []signal.Bucket {
	out := make([]signal.Bucket, len(edges))
	for i, edge := range edges {
		out[i] = signal.Bucket{UpperBoundSeconds: edge, Count: is[i] - was[i]}
	}
	return out
}

func gogcGauge(set settings.Settings) float64 {
	if set.GOGC == settings.Off {
		return gogcOff
	}
	return float64(set.EffectiveGOGC())
}

func limitGauge(set settings.Settings) float64 {
	if set.MemoryLimitBytes == 0 {
		return noLimit
	}
	return float64(set.MemoryLimitBytes)
}
