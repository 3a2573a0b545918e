package signal

import (
	"math"
	"time"
)

// Slot is the grid of the times at which snapshots are taken: as often as there is something new, but no more than every five seconds,
// and no finer than a second.
func Slot(scrapeInterval time.Duration) time.Duration {
	return min(max(scrapeInterval.Truncate(time.Second), time.Second), 5*time.Second)
}

// Moment is a target's namespace at one time.
type Moment struct {
	At   time.Time
	Part Part
}

// Assemble makes a window of what was known at several times in it, in order; the first and the last are its ends, and the window
// has their length. Answers are those to the request's own queries, by name.
func Assemble(request Request, scrapeInterval time.Duration, moments []Moment, answers map[string]Answer) Window {
	last := moments[len(moments)-1]
	window := Window{
		End: last.At, Length: last.At.Sub(moments[0].At), ScrapeInterval: scrapeInterval, Pods: make(map[string]Pod),
	}
	pods := make(map[string][]view)
	for name := range last.Part.pods {
		if request.selects(name) && request.view(last, name).exposed() {
			for _, moment := range moments {
				pods[name] = append(pods[name], request.view(moment, name))
			}
		}
	}
	found, histogram := request.Latency.find(pods)
	window.LatencyFound = found.found
	window.Queries = request.shown(found, histogram, pods, window.Length)
	for name, views := range pods {
		pod := assemblePod(views, scrapeInterval, found, histogram)
		if len(request.Queries) > 0 {
			pod.Custom = make(map[string]Value, len(request.Queries))
			for _, query := range request.Queries {
				pod.Custom[query.Name] = answers[query.Name][name]
			}
		}
		window.Pods[name] = pod
	}
	return window
}

// find is the first way to count requests of which any pod has the histogram, or else the first of which any has a count: a summary, or a
// counter beside a histogram that is not switched on.
func (l Latency) find(pods map[string][]view) (preset, string) {
	for _, has := range []func(view, preset, string) bool{view.hasHistogram, view.hasCount} {
		for _, candidate := range l.candidates() {
			for _, histogram := range candidate.histograms {
				if anyPod(pods, func(last view) bool { return has(last, candidate, histogram) }) {
					return candidate, histogram
				}
			}
		}
	}
	return preset{}, ""
}

// anyPod says that something is so of any pod at the end of the window.
func anyPod(pods map[string][]view, is func(last view) bool) bool {
	for _, views := range pods {
		if is(views[len(views)-1]) {
			return true
		}
	}
	return false
}

func assemblePod(views []view, scrapeInterval time.Duration, p preset, histogram string) Pod {
	var pod Pod
	s := newSpan(views)
	pod.setGauges(s)
	pod.setCounters(s)
	pod.setPauses(s)
	pod.setLimiter(s)
	pod.setContainer(s)
	pod.RunnableGoroutines = mean(views[1:], scalarRunnable)
	if histogram != "" {
		pod.Requests, pod.FailedRequests = s.countRequests(p, histogram)
		pod.RequestSeconds = s.requestSeconds(p, histogram)
		pod.Latency, pod.LatencyState = s.histogram(p, histogram).buckets(p.secondsPerUnit)
	}
	pod.setFreshness(views, scrapeInterval)
	pod.Levels = levels(views, s, p, histogram)
	return pod
}

func (p *Pod) setGauges(s span) {
	p.ResidentBytes = s.gauge(scalarResident)
	p.LiveHeapBytes = s.gauge(scalarLiveHeap)
	p.HeapGoalBytes = s.gauge(scalarGoal, scalarNextGC, scalarOTelGoal)
	p.HeapAllocatedBytes = s.gauge(scalarHeapAllocated, scalarHeapObjects)
	p.StackAndGlobalBytes = combine(s.gauge(scalarScanStack), s.gauge(scalarScanGlobals), add)
	p.TotalMemoryBytes = first(
		combine(s.gauge(scalarMemoryTotal), s.gauge(scalarMemoryReleased), func(total, released float64) float64 { return total - released }),
		combine(s.gauge(scalarOTelUsedStack), s.gauge(scalarOTelUsedOther), add))
	p.GOGCPercent = s.gauge(scalarGOGC, scalarOTelGOGC)
	p.MemoryLimitBytes = s.gauge(scalarLimit, scalarOTelLimit)
	if p.MemoryLimitBytes.State == Absent && s.gauge(scalarOTelGOGC).OK() {
		// OpenTelemetry leaves out a limit that is not set, rather than to give the runtime's number for that.
		p.MemoryLimitBytes = Value{Number: math.MaxInt64, State: Present}
	}
	p.GOMAXPROCS = s.gauge(scalarGOMAXPROCS, scalarOTelProcessors)
	p.ProcessStartSeconds = s.gauge(scalarStart)
	p.GoVersion = s.later.goVersion()
	p.Goroutines = s.gauge(scalarGoroutines, scalarOTelGoroutines)
	p.OpenFileDescriptors = s.gauge(scalarOpenFiles)
	p.MaxFileDescriptors = s.gauge(scalarMaxFiles)
	p.GCCyclesTotal = s.gauge(scalarCycles, scalarOTelCycles)
}

func add(a, b float64) float64 { return a + b }

// setCounters sets what grows. OpenTelemetry's processor time counts only where it is told by detailed state, without which idle-priority
// marking can't be left out.
func (p *Pod) setCounters(s span) {
	p.CPUSeconds = s.counter(scalarCPU)
	busy := combine(s.counter(scalarAllCPU), s.counter(scalarIdleCPU), func(all, idle float64) float64 { return all - idle })
	p.GCCPUSeconds = p.ofProcess(busy, first(
		combine(s.counter(scalarGCCPU), s.counter(scalarGCIdleCPU), func(all, idle float64) float64 { return all - idle }),
		combine(combine(s.counter(scalarOTelGCPauseCPU), s.counter(scalarOTelGCAssist), add), s.counter(scalarOTelGCDedicated), add)))
	p.GCAssistSeconds = p.ofProcess(busy, s.counter(scalarGCAssist, scalarOTelGCAssist))
	p.GCCycles = s.counter(scalarCycles, scalarOTelCycles)
	p.AllocatedBytes = s.counter(scalarAllocated, scalarMemstatsAllocated, scalarOTelAllocated)
}

// ofProcess is the part of the process' CPU time that a part of the runtime's own is. The runtime takes for CPU time how long it held a processor,
// also while the kernel ran something else there (runtime/metrics: "an overestimate, and not directly comparable to system CPU time
// measurements"); on a busy node that is several times what the process had, but its parts are so in proportion.
func (p *Pod) ofProcess(busy, part Value) Value {
	if !part.OK() || !busy.OK() || busy.Number <= 0 || !p.CPUSeconds.OK() {
		return part
	}
	return Value{Number: p.CPUSeconds.Number * min(1, part.Number/busy.Number), State: Present}
}

// setPauses sets the mean pause to Absent where no cycle ended in the window: there is nothing to average.
func (p *Pod) setPauses(s span) {
	for _, metric := range []string{metricPauses, otelPauses} {
		if p.PausesState == Absent {
			p.Pauses, p.PausesState = s.histogram(preset{}, metric).buckets(seconds)
		}
	}
	for _, metric := range []string{metricScheduler, otelScheduler} {
		if p.SchedulerLatencyState == Absent {
			p.SchedulerLatency, p.SchedulerLatencyState = s.histogram(preset{}, metric).buckets(seconds)
		}
	}
	p.LongestPauseSeconds = s.gauge(scalarLongestPause)
	cycles := s.counter(scalarCycles)
	if cycles.OK() && cycles.Number == 0 {
		return
	}
	p.GCPauseSeconds = combine(s.counter(scalarPause), cycles, func(pause, cycles float64) float64 { return pause / cycles })
}

// setLimiter compares the number of the cycle in which the limiter was last on with the cycles before the window.
func (p *Pod) setLimiter(s span) {
	p.LimiterCycle = s.gauge(scalarLimiter)
	if !p.LimiterCycle.OK() || p.LimiterCycle.Number == 0 {
		return
	}
	switch s.kind {
	case spanYoung:
		p.LimiterEnabled = true
	case spanWhole:
		before, cycles := s.earlier.scalar(scalarLimiter), s.earlier.scalar(scalarCycles)
		p.LimiterEnabled = before.OK() && p.LimiterCycle.Number > before.Number && cycles.OK() && p.LimiterCycle.Number > cycles.Number
	}
}

func (p *Pod) setContainer(s span) {
	p.WorkingSetBytes = s.gauge(scalarWorkingSet)
	p.OOMKills = s.containerCounter(scalarOOM)
	periods := s.containerCounter(scalarPeriods)
	if periods.OK() && periods.Number == 0 {
		return
	}
	p.ThrottledShare = combine(s.containerCounter(scalarThrottled), periods, func(throttled, periods float64) float64 {
		return min(throttled/periods, 1)
	})
}

// setFreshness needs a current sample; a pod whose series have ended is not sampled, however many samples it left in the window.
func (p *Pod) setFreshness(views []view, scrapeInterval time.Duration) {
	length := views[len(views)-1].at.Sub(views[0].at)
	age, ok := views[len(views)-1].age()
	if !ok || age > length {
		return
	}
	fresh := 0
	for _, v := range views[1:] {
		if age, ok := v.age(); ok && age <= scrapeInterval*3/2+Slot(scrapeInterval) {
			fresh++
		}
	}
	p.Sampled, p.SampleAge = true, age
	p.Coverage = float64(fresh) / float64(len(views)-1)
}

// mean of a gauge over the times at which it was there.
func mean(views []view, indices ...scalar) Value {
	sum, count := 0.0, 0
	var last Value
	for _, v := range views {
		if last = (span{later: v}).gauge(indices...); last.OK() {
			sum += last.Number
			count++
		}
	}
	if count == 0 {
		return last
	}
	return Value{Number: sum / float64(count), State: Present}
}
