package signal

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
)

// QueryName names a query of a snapshot.
type QueryName string

// The queries of a snapshot. Each asks for the last raw values of all namespaces at once.
const (
	// QueryGauges asks for everything that is one number of a process, counters too; the series keep their names.
	QueryGauges QueryName = "Gauges"
	// QuerySampleTimes asks when the processes were last scraped.
	QuerySampleTimes QueryName = "SampleTimes"
	// QueryRequests asks for the requests by status, and for native histograms; QueryLatencyBuckets for the classic ones' buckets.
	QueryRequests       QueryName = "Requests"
	QueryLatencyBuckets QueryName = "LatencyBuckets"
	// QueryRuntimeBuckets asks for the histograms of the Go runtime.
	QueryRuntimeBuckets QueryName = "RuntimeBuckets"
	// QueryContainers asks for what the kubelet's cAdvisor measures.
	QueryContainers QueryName = "Containers"
	// QueryCustom stands for a query of a policy's own.
	QueryCustom QueryName = "Custom"
)

// The labels that answers are read by. job and instance tell one scraped endpoint from another: Prometheus sets them on every series.
const (
	labelNamespace = "namespace"
	labelPod       = "pod"
	labelContainer = "container"
	labelJob       = "job"
	labelInstance  = "instance"
	labelReporter  = "reporter"
	labelQuantile  = "quantile"
	labelVersion   = "version"
)

// Scope is what a snapshot shows: the pods of some namespaces, and the histograms that policies name beside the presets'.
type Scope struct {
	Namespaces []string
	Histograms []Latency
}

// Query is one question to Prometheus.
type Query struct {
	Name   QueryName
	PromQL string

	namespaces []string
	metrics    []string
	labels     []string
}

// Queries are the questions of which a snapshot is made. Every selector in them is held to the scope's namespaces. Their number is
// always the same: neither more namespaces nor more policies add one.
func (s Scope) Queries() []Query {
	counts, buckets, labels := s.requestMetrics()
	queries := []Query{
		{Name: QueryGauges, metrics: append(names(scalarMetrics()), metricGoInfo)},
		{Name: QuerySampleTimes},
		{Name: QueryRequests, metrics: counts, labels: append([]string{labelReporter}, labels...)},
		{Name: QueryLatencyBuckets, metrics: buckets, labels: []string{labelReporter, model.BucketLabel}},
		{Name: QueryRuntimeBuckets, metrics: bucketNames(runtimeHistograms()), labels: []string{model.BucketLabel}},
		{Name: QueryContainers, metrics: names(containerMetrics())},
	}
	for i := range queries {
		queries[i].namespaces = s.Namespaces
		queries[i] = queries[i].render()
	}
	return queries
}

// Split gives two questions that together ask for the same, for where one answer is too large: each for half of the namespaces or,
// where there is but one, for half of the metrics.
func (q Query) Split() (one, other Query, ok bool) {
	one, other = q, q
	switch {
	case len(q.namespaces) > 1:
		half := len(q.namespaces) / 2
		one.namespaces, other.namespaces = q.namespaces[:half], q.namespaces[half:]
	case len(q.metrics) > 1:
		half := len(q.metrics) / 2
		one.metrics, other.metrics = q.metrics[:half], q.metrics[half:]
	default:
		return Query{}, Query{}, false
	}
	return one.render(), other.render(), true
}

// Namespaces that the question is about.
func (q Query) Namespaces() []string { return q.namespaces }

func (q Query) render() Query {
	within := oneOf(labelNamespace, q.namespaces)
	all := fmt.Sprintf("%s,%s", oneOf(model.MetricNameLabel, q.metrics), within)
	switch q.Name {
	case QueryGauges:
		// No aggregation, so that two series of one pod are seen as two. Of the summary's quantiles only the longest comes.
		q.PromQL = fmt.Sprintf(`{%s,%s=~"|1|1[.]0"}`, all, labelQuantile)
	case QuerySampleTimes:
		q.PromQL = sampleTimes(within)
	case QueryContainers:
		// The series of the whole pod have no container.
		q.PromQL = fmt.Sprintf(`{%s,%s!=""}`, all, labelContainer)
	default:
		// The labels of the scraped endpoint stay: a pod that is scraped twice is seen as two, not summed.
		by := append([]string{model.MetricNameLabel, labelNamespace, labelPod, labelContainer, labelJob, labelInstance}, q.labels...)
		q.PromQL = fmt.Sprintf("sum by (%s) ({%s})", strings.Join(by, ", "), all)
	}
	return q
}

// sampleTimes asks for the time of the scrape. Where an application has no process collector, the goroutine count of the Go collector
// stands in, or OpenTelemetry's; where it has none of them, nothing vouches for its samples, and the pod counts as not sampled.
func sampleTimes(within string) string {
	endpoint := strings.Join([]string{labelNamespace, labelPod, labelContainer, labelJob, labelInstance}, ", ")
	return fmt.Sprintf("timestamp(%s{%[4]s}) or on (%[5]s) timestamp(%[2]s{%[4]s}) or on (%[5]s) timestamp(%[3]s{%[4]s})",
		metricProcessStart, metricGoroutines, otelGoroutines, within, endpoint)
}

// oneOf matches a label against values. What comes from outside is quoted twice: once for RE2, so that a dot is a dot, once for
// PromQL's string.
func oneOf(label string, values []string) string {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = regexp.QuoteMeta(value)
	}
	return label + "=~" + strconv.Quote(strings.Join(quoted, "|"))
}

func names(metrics []scalarMetric) []string {
	var all []string
	for _, metric := range metrics {
		if !slices.Contains(all, metric.name) {
			all = append(all, metric.name)
		}
	}
	return all
}

func bucketNames(histograms []string) []string {
	all := make([]string, len(histograms))
	for i, histogram := range histograms {
		all[i] = histogram + suffixBucket
	}
	return all
}
