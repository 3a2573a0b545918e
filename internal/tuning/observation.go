package tuning

import (
	"math"
	"time"

	"github.com/gopacer/gopacer/internal/signal"
)

const (
	// minCycles that a pod must have finished in a window before its GC CPU time counts: the runtime's /cpu/classes advance only when a cycle
	// ends (runtime/metrics).
	minCycles = 5
	// longerThan is the edge above which a pause, or a wait for a processor, counts as long: the one of client_golang's seven that is nearest to
	// a millisecond, 0.000917504 s. Histograms with other edges may be as coarse as a whole millisecond here.
	longerThanLow, longerThanHigh = 0.00091, 0.001
	// fragmentation is resident memory over heap goal: the scavenger keeps a tenth (runtime/mgcscavenge.go, retainExtraPercent).
	fragmentation = 1.1
)

// Observation is what a target's pods show. What is not measured is Absent. Of memory the largest pod counts, of all else the sum or mean.
type Observation struct {
	// Pods that were looked at.
	Pods int

	// GCShare of the CPU time, 0 to 1, and AssistShare, the part of it that goroutines had to do themselves when they allocated. Only pods
	// that finished at least five cycles count.
	GCShare, AssistShare signal.Value
	// RequestsPerSecond to all pods; the CPU seconds are those of a request.
	RequestsPerSecond, GCCPUSecondsPerRequest, CPUSecondsPerRequest signal.Value

	// LiveHeapBytes after a collection, RootBytes of stacks and globals, NonHeapBytes that are resident beside the heap: each of the largest
	// pod, and Absent unless every pod shows it, since the largest may be the one that does not.
	LiveHeapBytes, RootBytes, NonHeapBytes signal.Value
	// ResidentBytes of the largest process, MeanLiveHeapBytes and MeanResidentBytes of all.
	ResidentBytes, MeanLiveHeapBytes, MeanResidentBytes signal.Value
	// EffectiveGOGC is the mean of what the pods' heap goals amount to, in percent.
	EffectiveGOGC signal.Value

	// MeanPauseSeconds of a collection, LongestPauseSeconds of the last 256 of each pod, and the share of pauses above 0.92 ms.
	MeanPauseSeconds, LongestPauseSeconds, LongPauseShare signal.Value
	// RunnablePerProcessor is how many goroutines wait for each processor; SlowSchedulingShare of all waits took longer than 0.92 ms.
	RunnablePerProcessor, SlowSchedulingShare signal.Value
	// ThrottledShare of the periods of the CPU limit.
	ThrottledShare signal.Value
	// CPUCores that a pod uses, the mean; Processors is the largest GOMAXPROCS of any.
	CPUCores, Processors signal.Value

	// Goroutines, OpenFileDescriptors and LiveHeap say in how many pods each grows at flat traffic; FullDescriptors in how many
	// more than 80 % of the descriptors are in use.
	Goroutines, OpenFileDescriptors, LiveHeap, FullDescriptors Growth
}

// Observe sums up the pods of a window. It says false where no pod has GC CPU time, CPU time and resident memory at once.
func Observe(window signal.Window, pods []signal.Pod) (Observation, bool) {
	seen := Observation{Pods: len(pods)}
	var measured []signal.Pod
	for _, pod := range pods {
		if pod.GCCPUSeconds.OK() && above(pod.CPUSeconds, 0) && above(pod.ResidentBytes, 0) {
			measured = append(measured, pod)
		}
	}
	seen.observeCPU(measured, window.Length)
	seen.observeMemory(measured)
	seen.observeScheduler(measured)
	seen.observeGrowth(window, pods)
	return seen, len(measured) > 0
}

func (o *Observation) observeCPU(pods []signal.Pod, length time.Duration) {
	cycled := collected(pods)
	gc := func(p signal.Pod) signal.Value { return p.GCCPUSeconds }
	cpu := func(p signal.Pod) signal.Value { return p.CPUSeconds }
	requests := func(p signal.Pod) signal.Value { return p.Requests }
	assist := func(p signal.Pod) signal.Value { return p.GCAssistSeconds }
	o.GCShare = clamp(ratioOfSums(cycled, gc, cpu), 0, 1)
	o.AssistShare = clamp(ratioOfSums(cycled, assist, cpu), 0, 1)
	o.GCCPUSecondsPerRequest = ratioOfSums(cycled, gc, requests)
	o.CPUSecondsPerRequest = ratioOfSums(pods, cpu, requests)
	if length > 0 {
		o.RequestsPerSecond = scale(sum(pods, requests), 1/length.Seconds())
		o.CPUCores = scale(mean(pods, cpu), 1/length.Seconds())
	}
}

// collected are the pods whose GC CPU time counts. Where cycles are not counted at all, nothing is held against it.
func collected(pods []signal.Pod) []signal.Pod {
	var cycled []signal.Pod
	for _, pod := range pods {
		if !pod.GCCycles.OK() || pod.GCCycles.Number >= minCycles {
			cycled = append(cycled, pod)
		}
	}
	return cycled
}

func (o *Observation) observeMemory(pods []signal.Pod) {
	live := func(p signal.Pod) signal.Value { return p.LiveHeapBytes }
	roots := func(p signal.Pod) signal.Value { return p.StackAndGlobalBytes }
	resident := func(p signal.Pod) signal.Value { return p.ResidentBytes }
	o.ResidentBytes, o.MeanResidentBytes, o.MeanLiveHeapBytes = largest(pods, resident), mean(pods, resident), mean(pods, live)
	o.EffectiveGOGC = mean(pods, signal.Pod.EffectiveGOGC)
	if everyPod(pods, live) && everyPod(pods, roots) {
		o.LiveHeapBytes, o.RootBytes = largest(pods, live), largest(pods, roots)
	}
	if everyPod(pods, nonHeap) {
		o.NonHeapBytes = largest(pods, nonHeap)
	}
}

// nonHeap is what a process has resident beside the heap that its goal lets it have.
func nonHeap(pod signal.Pod) signal.Value {
	if !pod.ResidentBytes.OK() || !pod.HeapGoalBytes.OK() {
		return signal.Value{}
	}
	return present(math.Max(0, pod.ResidentBytes.Number-fragmentation*pod.HeapGoalBytes.Number))
}

func (o *Observation) observeScheduler(pods []signal.Pod) {
	o.MeanPauseSeconds = mean(pods, func(p signal.Pod) signal.Value { return p.GCPauseSeconds })
	o.LongestPauseSeconds = largest(pods, func(p signal.Pod) signal.Value { return p.LongestPauseSeconds })
	o.LongPauseShare = shareAbove(pods, func(p signal.Pod) []signal.Bucket { return p.Pauses })
	o.SlowSchedulingShare = shareAbove(pods, func(p signal.Pod) []signal.Bucket { return p.SchedulerLatency })
	o.ThrottledShare = mean(pods, func(p signal.Pod) signal.Value { return p.ThrottledShare })
	o.Processors = largest(pods, func(p signal.Pod) signal.Value { return p.GOMAXPROCS })
	o.RunnablePerProcessor = mean(pods, func(p signal.Pod) signal.Value {
		if !p.RunnableGoroutines.OK() || !above(p.GOMAXPROCS, 0) {
			return signal.Value{}
		}
		return present(p.RunnableGoroutines.Number / p.GOMAXPROCS.Number)
	})
}

// shareAbove counts what took longer than 0.92 ms, at a real edge of the histograms: between edges nothing is known.
func shareAbove(pods []signal.Pod, histogram func(signal.Pod) []signal.Bucket) signal.Value {
	var total, long float64
	for _, pod := range pods {
		buckets := histogram(pod)
		for _, bucket := range buckets {
			if bucket.UpperBoundSeconds >= longerThanLow && bucket.UpperBoundSeconds <= longerThanHigh {
				count := buckets[len(buckets)-1].Count
				total, long = total+count, long+count-bucket.Count
				break
			}
		}
	}
	if !(total > 0) {
		return signal.Value{}
	}
	return present(long / total)
}
