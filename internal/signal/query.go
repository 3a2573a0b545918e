package signal

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// QueryName names a query of a window.
type QueryName string

// The queries of a window.
const (
	// QueryGauges asks for the last value of every gauge at once; the series keep their names.
	QueryGauges QueryName = "Gauges"
	// QueryNewestSample asks when a pod was last scraped, QuerySampleCount how often within the window.
	QueryNewestSample QueryName = "NewestSample"
	QuerySampleCount  QueryName = "SampleCount"
	QueryGCCPU        QueryName = "GCCPU"
	QueryCPU          QueryName = "CPU"
	QueryGCCycles     QueryName = "GCCycles"
	QueryGCPause      QueryName = "GCPause"
	// QueryRequests asks for the requests by status, QueryLatencyBuckets for the requests by duration.
	QueryRequests       QueryName = "Requests"
	QueryLatencyBuckets QueryName = "LatencyBuckets"
)

// The labels that answers are read by. job and instance tell one scraped endpoint from another: Prometheus sets them on every series.
const (
	labelNamespace = "namespace"
	labelPod       = "pod"
	labelContainer = "container"
	labelJob       = "job"
	labelInstance  = "instance"
)

// Query is one question to Prometheus.
type Query struct {
	Name   QueryName
	PromQL string
}

// Queries are the questions of which a window is made. Every selector in them is held to the request's namespace, pods and container.
func Queries(request Request) ([]Query, error) {
	if err := request.Validate(); err != nil {
		return nil, fmt.Errorf("render the queries for pods %s* of namespace %s: %w", request.PodPrefix, request.Namespace, err)
	}
	s := newScope(request)
	queries := []Query{
		{QueryGauges, s.gauges()},
		{QueryNewestSample, s.newestSample()},
		{QuerySampleCount, s.sampleCount()},
		{QueryGCCPU, s.increase(metricGCCPU) + " - " + s.increase(metricGCIdleCPU)},
		{QueryCPU, s.increase(metricCPU)},
		{QueryGCCycles, s.increase(metricGCCycles)},
		{QueryGCPause, s.increase(metricGCPause)},
	}
	if latency := request.Latency; latency.Histogram != "" {
		queries = append(queries,
			Query{QueryRequests, s.sum(latency.Histogram+"_count", latency.CodeLabel)},
			Query{QueryLatencyBuckets, s.sum(latency.Histogram+"_bucket", model.BucketLabel)})
	}
	return queries, nil
}

// scope writes selectors that see one target's pods only.
type scope struct {
	matchers string
	length   time.Duration
	window   string
}

// newScope quotes what comes from outside twice: once for RE2, so that a dot in a name is a dot, once for PromQL's string. A series
// without a container label counts, since many scrape configurations set none; one of another container, a sidecar's, doesn't.
func newScope(request Request) scope {
	matchers := fmt.Sprintf("%s=%s,%s=~%s", labelNamespace, strconv.Quote(request.Namespace),
		labelPod, strconv.Quote(regexp.QuoteMeta(request.PodPrefix)+".+"))
	if request.Container != "" {
		matchers += fmt.Sprintf(",%s=~%s", labelContainer, strconv.Quote("|"+regexp.QuoteMeta(request.Container)))
	}
	length := request.Length.Truncate(time.Millisecond)
	return scope{matchers: matchers, length: length, window: model.Duration(length).String()}
}

func (s scope) selector(metric string) string { return metric + "{" + s.matchers + "}" }

// gauges asks for all of them in one query. There is no aggregation, so that two series of one pod are seen as two.
func (s scope) gauges() string {
	return fmt.Sprintf("{__name__=~%s,%s}", strconv.Quote(strings.Join(gaugeMetrics(), "|")), s.matchers)
}

// newestSample asks for the time of the scrape. Where an application has no process collector, the goroutine count of the Go collector
// stands in; where it has neither, nothing vouches for its samples, and the pod counts as not sampled.
func (s scope) newestSample() string {
	return fmt.Sprintf("timestamp(%s) or on (%s) timestamp(%s)",
		s.selector(metricProcessStart), labelPod, s.selector(metricGoroutines))
}

// sampleCount has no aggregation: two series of one pod within the window, be they of two scrape jobs or of one whose labels changed,
// are seen as two.
func (s scope) sampleCount() string {
	return fmt.Sprintf("count_over_time(%s[%s]) or on (%s) count_over_time(%s[%s])",
		s.selector(metricProcessStart), s.window, labelPod, s.selector(metricGoroutines), s.window)
}

// increase is by how much a counter grew in the window, or since the process started where that was later.
//
// PromQL's increase extrapolates from the first and last sample in the window to its edges; since all series of a scrape share their
// timestamps, ratios between them stay true. But it takes the first sample of a series as its base, so it loses what a series counted
// before it was first scraped: the first 500 of all, and everything of a series that returns after a restart with no lower a count than
// before. So it is used only for a process that is older than the window, and in it for series that are too. Else the last value is the
// increase: of every series of a younger process, and of a series that the process did not have at the window's start. That the series
// was not there, rather than the scrape having failed (Prometheus then ends all series of a target), shows in that the process' start
// time was. Where that metric is not exposed, plain increase is all there is.
func (s scope) increase(metric string) string {
	series, start := s.selector(metric), s.selector(metricProcessStart)
	young := fmt.Sprintf("on (%s) %s > time() - %s", labelPod, start, strconv.FormatFloat(s.length.Seconds(), 'f', -1, 64))
	return fmt.Sprintf("((%[1]s and %[2]s) or ((%[1]s unless %[1]s offset %[3]s) and on (%[4]s) %[5]s offset %[3]s) "+
		"or (increase(%[1]s[%[3]s]) unless %[2]s))", series, young, s.window, labelPod, start)
}

// sum adds the increases of a metric that has labels of its own. It keeps one of them, and the labels of the scraped endpoint: a pod that
// is scraped twice is seen as two, not summed.
func (s scope) sum(metric, label string) string {
	return fmt.Sprintf("sum by (%s, %s, %s, %s) %s", labelPod, labelJob, labelInstance, label, s.increase(metric))
}
