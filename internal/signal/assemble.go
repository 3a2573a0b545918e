package signal

import (
	"math"
	"time"

	"github.com/prometheus/common/model"
)

// Assemble makes a window of the answers to its queries. What was not answered is Absent.
func Assemble(request Request, scrapeInterval time.Duration, answers ...Answer) Window {
	window := Window{End: request.End, Length: request.Length, ScrapeInterval: scrapeInterval, Pods: make(map[string]Pod)}
	byName := make(map[QueryName]Answer, len(answers))
	for _, answer := range answers {
		byName[answer.name] = answer
	}
	for _, answer := range answers {
		for name := range answer.pods {
			if _, done := window.Pods[name]; !done {
				window.Pods[name] = assemblePod(request, scrapeInterval, byName, name)
			}
		}
	}
	return window
}

func assemblePod(request Request, scrapeInterval time.Duration, answers map[QueryName]Answer, name string) Pod {
	var pod Pod
	pod.setGauges(answers[QueryGauges].pods[name])
	pod.setCounters(answers, name)
	pod.Requests, pod.FailedRequests = countRequests(answers[QueryRequests].pods[name], model.LabelName(request.Latency.CodeLabel))
	pod.Latency, pod.LatencyState = readHistogram(answers[QueryLatencyBuckets].pods[name])
	counts := answers[QuerySampleCount].pods[name]
	if len(counts) > 1 {
		pod.doubtCounters()
	}
	pod.setFreshness(request, scrapeInterval, answers[QueryNewestSample].pods[name], counts)
	return pod
}

func (p *Pod) setGauges(samples []*model.Sample) {
	byMetric := make(map[string][]*model.Sample)
	for _, sample := range samples {
		metric := string(sample.Metric[model.MetricNameLabel])
		byMetric[metric] = append(byMetric[metric], sample)
	}
	last := func(metric string) Value { return single(byMetric[metric]) }
	p.ResidentBytes = last(metricResident)
	p.LiveHeapBytes = last(metricLiveHeap)
	p.StackAndGlobalBytes = combine(last(metricScanStack), last(metricScanGlobals), func(stack, globals float64) float64 {
		return stack + globals
	})
	p.TotalMemoryBytes = combine(last(metricMemoryTotal), last(metricMemoryReleased), func(total, released float64) float64 {
		return total - released
	})
	p.GOGCPercent = last(metricGOGC)
	p.MemoryLimitBytes = last(metricMemoryLimit)
	p.GOMAXPROCS = last(metricGOMAXPROCS)
	p.ProcessStartSeconds = last(metricProcessStart)
	p.GCCyclesTotal = last(metricGCCycles)
}

// setCounters sets what has no labels of its own. The mean pause is Absent where no cycle ended in the window: there is nothing to average.
func (p *Pod) setCounters(answers map[QueryName]Answer, name string) {
	p.GCCPUSeconds = answers[QueryGCCPU].value(name)
	p.CPUSeconds = answers[QueryCPU].value(name)
	p.GCCycles = answers[QueryGCCycles].value(name)
	if p.GCCycles.OK() && p.GCCycles.Number == 0 {
		return
	}
	p.GCPauseSeconds = combine(answers[QueryGCPause].value(name), p.GCCycles, func(pause, cycles float64) float64 {
		return pause / cycles
	})
}

// doubtCounters marks every increase of a pod of which two series fall into the window: two jobs scrape it, two Prometheus replicas
// report it, or its labels changed (a scrape configuration that maps pod labels to series labels ends the series when a pod gets a new
// label, and begins another with the old count). In each case a sum over the window would be wrong.
func (p *Pod) doubtCounters() {
	for _, value := range []*Value{
		&p.Requests, &p.FailedRequests, &p.GCCPUSeconds, &p.CPUSeconds, &p.GCCycles, &p.GCPauseSeconds,
	} {
		if value.State != Absent {
			*value = Value{State: Ambiguous}
		}
	}
	if p.LatencyState != Absent {
		p.Latency, p.LatencyState = nil, Ambiguous
	}
}

// setFreshness needs a current sample and a count; a pod whose series have ended is not sampled, however many samples it left in the window.
func (p *Pod) setFreshness(request Request, scrapeInterval time.Duration, newest, counts []*model.Sample) {
	stamp, count := latest(newest), latest(counts)
	if !stamp.OK() || !count.OK() || count.Number == 0 {
		return
	}
	age := float64(request.End.UnixMilli())/1000 - stamp.Number
	if age < -1 || age > request.Length.Seconds() {
		return
	}
	p.Sampled = true
	p.SampleAge = time.Duration(max(age, 0) * float64(time.Second))
	p.Coverage = min(count.Number/expectedSamples(request.Length, scrapeInterval), 1)
}

// latest is the largest number of several series of a pod; that there are several is marked elsewhere.
func latest(samples []*model.Sample) Value {
	var found Value
	for _, sample := range samples {
		if value := number(sample); value.OK() && (!found.OK() || value.Number > found.Number) {
			found = value
		}
	}
	return found
}

// expectedSamples is the number of scrapes that fall into a window for certain, however they are aligned to it.
func expectedSamples(length, scrapeInterval time.Duration) float64 {
	if scrapeInterval <= 0 {
		return 1
	}
	return max(math.Floor(length.Seconds()/scrapeInterval.Seconds()), 1)
}
