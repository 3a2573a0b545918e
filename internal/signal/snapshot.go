package signal

import (
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/prometheus/common/model"
)

// Part is what was known of the pods of one namespace at one time: the last raw values of their counters and gauges. It does not change
// once it is read.
type Part struct {
	pods map[string][]*sample
}

// Keep is a part with the pods of some targets only, named by what their pods' names start with.
func (p Part) Keep(prefixes []string) Part {
	kept := Part{pods: make(map[string][]*sample)}
	for name, samples := range p.pods {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			kept.pods[name] = samples
		}
	}
	return kept
}

// sample is what one container of a pod exposed at one time; the container is empty where its series don't name one.
type sample struct {
	container string
	// exposed says that the application itself exposed something; cAdvisor speaks for containers that expose nothing too.
	exposed   bool
	scalars   scalarValues
	goVersion string
	// sampledAt is when it was scraped, in Unix seconds; endpoints counts who vouches for that. Several are several claims to be the pod.
	sampledAt float64
	endpoints int
	series    []series
	buckets   []bucketed
}

// scalarValues are kept apart from their states, since there are hundreds of thousands of them.
type scalarValues struct {
	numbers [scalars]float64
	states  [scalars]packedState
}

type packedState uint8

var packedStates = [...]State{Absent, Present, NotFinite, Ambiguous}

func (s *scalarValues) get(index scalar) Value {
	return Value{Number: s.numbers[index], State: packedStates[s.states[index]]}
}

// set keeps one value. Several series that are the same scalar are several claims to it.
func (s *scalarValues) set(index scalar, value Value) {
	if s.states[index] != 0 {
		value = Value{State: Ambiguous}
	}
	s.numbers[index] = value.Number
	s.states[index] = packedState(slices.Index(packedStates[:], value.State))
}

// source names series of requests: the metric, the scraped endpoint, who reports, and the labels that may hold a status.
type source struct {
	metric, job, instance, reporter string
	codes                           string
}

// series is a counter of requests by status. Where it is a native histogram, that is there too, and its count is the value.
type series struct {
	source unique.Handle[source]
	value  Value
	native *nativeSeries
}

// nativeSeries is a native histogram with its sum, in its unit.
type nativeSeries struct {
	histogram histogram
	sum       Value
}

// bucketed is a classic histogram; its source has no codes.
type bucketed struct {
	source    unique.Handle[source]
	histogram histogram
}

// Reader puts the answers of one time together.
type Reader struct {
	at     time.Time
	labels []string
	parts  map[string]Part
	edges  map[*sample]map[unique.Handle[source]][]point
}

// NewReader reads what was asked for with the queries of a scope, for the time at.
func (s Scope) NewReader(at time.Time) *Reader {
	_, _, labels := s.requestMetrics()
	reader := &Reader{at: at, labels: labels, parts: make(map[string]Part), edges: make(map[*sample]map[unique.Handle[source]][]point)}
	for _, namespace := range s.Namespaces {
		reader.parts[namespace] = Part{pods: make(map[string][]*sample)}
	}
	return reader
}

// Read adds the answer to a query. Series without a pod, or of a namespace or metric that the query did not ask for, are left out, though
// the query's matchers say the same; what is no answer at all is an error that wraps ErrMalformed.
func (r *Reader) Read(query Query, value model.Value) error {
	vector, err := readVector(string(query.Name), r.at, value)
	if err != nil {
		return err
	}
	read := map[QueryName]func(*sample, *model.Sample){
		QueryGauges: (*sample).readScalar, QueryContainers: (*sample).readScalar, QuerySampleTimes: (*sample).readTime,
		QueryRequests: r.readSeries, QueryLatencyBuckets: r.readBucket, QueryRuntimeBuckets: r.readBucket,
	}[query.Name]
	metrics := make(map[string]bool, len(query.metrics))
	for _, metric := range query.metrics {
		metrics[metric] = true
	}
	for _, found := range vector {
		namespace, pod := string(found.Metric[labelNamespace]), string(found.Metric[labelPod])
		asked := len(metrics) == 0 || metrics[string(found.Metric[model.MetricNameLabel])]
		if part, ok := r.parts[namespace]; ok && asked && pod != "" && slices.Contains(query.namespaces, namespace) {
			owner := part.sample(pod, string(found.Metric[labelContainer]))
			owner.exposed = owner.exposed || query.Name != QueryContainers
			read(owner, found)
		}
	}
	return nil
}

// Parts are what was read, by namespace.
func (r *Reader) Parts() map[string]Part {
	for owner, histograms := range r.edges {
		for source, points := range histograms {
			owner.buckets = append(owner.buckets, bucketed{source, newHistogram(points)})
		}
	}
	clear(r.edges)
	return r.parts
}

func (p Part) sample(pod, container string) *sample {
	for _, known := range p.pods[pod] {
		if known.container == container {
			return known
		}
	}
	added := &sample{container: container}
	p.pods[pod] = append(p.pods[pod], added)
	return added
}

// scalarIndex finds the scalars of a metric by name.
var scalarIndex = func() map[string][]scalarMetric {
	index := make(map[string][]scalarMetric)
	for _, metric := range slices.Concat(scalarMetrics(), containerMetrics()) {
		index[metric.name] = append(index[metric.name], metric)
	}
	return index
}()

func (s *sample) readScalar(found *model.Sample) {
	name := string(found.Metric[model.MetricNameLabel])
	if name == metricGoInfo {
		s.goVersion = string(found.Metric[labelVersion])
		return
	}
	for _, metric := range scalarIndex[name] {
		if metric.label == "" || string(found.Metric[model.LabelName(metric.label)]) == metric.value {
			s.scalars.set(metric.scalar, readScalar(metric.scalar, found))
		}
	}
}

// offGOGC is how client_golang exports GOGC=off: the runtime's largest uint64. OpenTelemetry turns that into a negative int64.
const offGOGC = 1<<64 - 1

func readScalar(index scalar, found *model.Sample) Value {
	value := finite(found)
	if index == scalarOTelGOGC && value.OK() && value.Number < 0 {
		return Value{Number: offGOGC, State: Present}
	}
	return counted(value)
}

func (s *sample) readTime(found *model.Sample) {
	s.endpoints++
	if at := number(found); at.OK() {
		s.sampledAt = max(s.sampledAt, at.Number)
	}
}

func (r *Reader) readSeries(owner *sample, found *model.Sample) {
	read := series{source: r.source(found.Metric, r.labels)}
	switch {
	case found.Histogram != nil:
		read.value = number(&model.Sample{Value: model.SampleValue(found.Histogram.Count)})
		read.native = &nativeSeries{
			histogram: nativeHistogram(found.Histogram),
			sum:       number(&model.Sample{Value: model.SampleValue(found.Histogram.Sum)}),
		}
	case !isCounter(string(found.Metric[model.MetricNameLabel])):
		// A summary's quantiles have the bare name that a native histogram would have.
		return
	default:
		read.value = number(found)
	}
	owner.series = append(owner.series, read)
}

func isCounter(metric string) bool {
	return strings.HasSuffix(metric, suffixCount) || strings.HasSuffix(metric, suffixSum) || strings.HasSuffix(metric, "_total")
}

func (r *Reader) readBucket(owner *sample, found *model.Sample) {
	key := r.source(found.Metric, nil)
	histograms := r.edges[owner]
	if histograms == nil {
		histograms = make(map[unique.Handle[source]][]point)
		r.edges[owner] = histograms
	}
	histograms[key] = append(histograms[key], classicPoint(found))
}

func (r *Reader) source(metric model.Metric, labels []string) unique.Handle[source] {
	var codes strings.Builder
	for _, label := range labels {
		if value := metric[model.LabelName(label)]; value != "" {
			codes.WriteString(label + codeIs + string(value) + codeEnds)
		}
	}
	return unique.Make(source{
		metric: string(metric[model.MetricNameLabel]), job: string(metric[labelJob]), instance: string(metric[labelInstance]),
		reporter: string(metric[labelReporter]), codes: codes.String(),
	})
}

// Bytes that are in no UTF-8 text keep labels and values apart.
const (
	codeIs   = "\xfe"
	codeEnds = "\xff"
)

// code is the value of the first of the labels that is there.
func (s source) code(labels []string) string {
	for _, label := range labels {
		for pair := range strings.SplitSeq(s.codes, codeEnds) {
			if value, ok := strings.CutPrefix(pair, label+codeIs); ok {
				return value
			}
		}
	}
	return ""
}
