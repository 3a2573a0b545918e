package signal

import (
	"fmt"
	"strings"
)

// GapKind says what is missing of a target.
type GapKind string

const (
	// GapScrape says that there is no sample of the target at all.
	GapScrape GapKind = "Scrape"
	// GapRuntime says that measurements of the Go runtime or the process are missing, without which nothing can be tuned.
	GapRuntime GapKind = "Runtime"
	// GapLatency says that the histogram of the requests is missing; no latency SLO, no errors SLO and no cost per request can be measured.
	GapLatency GapKind = "Latency"
	// GapErrors says that the histogram is there, but tells of no request what status it had.
	GapErrors GapKind = "Errors"
)

// Gap is something that no pod of a target exposes. Message says what, and what to change.
type Gap struct {
	Kind    GapKind
	Message string
}

// family is a measurement, the metrics that it takes, and the option of client_golang that adds them.
type family struct {
	value func(Pod) Value
	names string
	cure  string
}

const (
	cureRuntime = "register collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{" +
		"Matcher: regexp.MustCompile(`^/(gc|cpu|sched|memory|sync).*`)})), or collectors.MetricsAll; " +
		"collectors.MetricsGC leaves /cpu/classes out"
	cureGo      = "register collectors.NewGoCollector of client_golang 1.20 or later"
	cureProcess = "register collectors.NewProcessCollector"
)

func families() []family {
	return []family{
		{func(p Pod) Value { return p.CPUSeconds }, metricCPU, cureProcess},
		{func(p Pod) Value { return p.ResidentBytes }, metricResident, cureProcess},
		{func(p Pod) Value { return p.ProcessStartSeconds }, metricProcessStart, cureProcess},
		{func(p Pod) Value { return p.GCCyclesTotal }, metricGCCycles, cureGo},
		{func(p Pod) Value { return p.GOGCPercent }, metricGOGC, cureGo},
		{func(p Pod) Value { return p.MemoryLimitBytes }, metricMemoryLimit, cureGo},
		{func(p Pod) Value { return p.GOMAXPROCS }, metricGOMAXPROCS, cureGo},
		{func(p Pod) Value { return p.GCCPUSeconds }, metricGCCPU + ", " + metricGCIdleCPU, cureRuntime},
		{func(p Pod) Value { return p.LiveHeapBytes }, metricLiveHeap, cureRuntime},
		{func(p Pod) Value { return p.StackAndGlobalBytes }, metricScanStack + ", " + metricScanGlobals, cureRuntime},
		{func(p Pod) Value { return p.TotalMemoryBytes }, metricMemoryTotal + ", " + metricMemoryReleased, cureRuntime},
	}
}

// Missing tells what none of the pods exposes. Ask it of pods that have run for a few scrapes: a pod that was not scraped yet exposes
// nothing either.
func Missing(request Request, window Window, pods []string) []Gap {
	measured := make([]Pod, 0, len(pods))
	for _, name := range pods {
		if pod, ok := window.Pods[name]; ok {
			measured = append(measured, pod)
		}
	}
	switch {
	case len(pods) == 0:
		return nil
	case len(measured) == 0:
		return []Gap{{GapScrape, fmt.Sprintf("Prometheus %s has no sample of %s and %d pods more: see that they are scraped, "+
			"that their series carry the labels namespace=%q, pod and, if any, container=%q, and that the Go collector is registered",
			request.Provider, pods[0], len(pods)-1, request.Namespace, request.Container)}}
	}
	gaps := missingFamilies(measured)
	if gap, missing := missingRequests(request.Latency, measured); missing {
		gaps = append(gaps, gap)
	}
	return gaps
}

func missingFamilies(pods []Pod) []Gap {
	cures := make(map[string][]string)
	for _, family := range families() {
		if lacks(pods, family.value) {
			cures[family.cure] = append(cures[family.cure], family.names)
		}
	}
	var gaps []Gap
	for _, cure := range []string{cureProcess, cureGo, cureRuntime} {
		if names := cures[cure]; len(names) > 0 {
			gaps = append(gaps, Gap{GapRuntime, fmt.Sprintf("no pod exposes %s: %s", strings.Join(names, ", "), cure)})
		}
	}
	return gaps
}

func missingRequests(latency Latency, pods []Pod) (Gap, bool) {
	var histograms, labels []string
	for _, candidate := range latency.candidates() {
		histograms = append(histograms, candidate.histograms...)
		labels = append(labels, candidate.codeLabels...)
	}
	switch {
	case len(histograms) == 0:
		return Gap{}, false
	case lacks(pods, func(p Pod) Value { return p.Requests }), lacks(pods, func(p Pod) Value { return Value{State: p.LatencyState} }):
		return Gap{GapLatency, fmt.Sprintf("no pod exposes a histogram of request durations, classic (%[2]s_bucket and %[2]s_count) or native; "+
			"looked for %[1]s: if the requests are counted under another name, set spec.metrics.latency; a service that has had no request yet "+
			"may expose none either", strings.Join(histograms, ", "), histograms[0])}, true
	case lacks(pods, func(p Pod) Value { return p.FailedRequests }):
		return Gap{GapErrors, fmt.Sprintf("no counted request has a status in the label %q: set spec.metrics.latency.histogram and "+
			"spec.metrics.latency.codeLabel to the histogram and to the label that holds it", strings.Join(distinct(labels), `", "`))}, true
	}
	return Gap{}, false
}

// lacks says that a value is absent in every pod.
func lacks(pods []Pod, value func(Pod) Value) bool {
	for _, pod := range pods {
		if value(pod).State != Absent {
			return false
		}
	}
	return true
}
