package signal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

const examplePod = "checkout-7d9c-abcde"

var exampleEnd = time.Unix(1_790_000_000, 0)

func exampleRequest() Request {
	return Request{
		Provider: "default", Namespace: "shop", PodPrefix: "checkout-7d9c-", Container: "app",
		Latency: Latency{Histogram: "http_request_duration_seconds", CodeLabel: "code"},
		Length:  time.Minute, End: exampleEnd,
	}
}

// scrape is what one endpoint exposes, in Prometheus' text format, and the labels that a usual scrape configuration adds.
type scrape struct {
	text      string
	pod       string
	container string
	job       string
	// age of the sample at the time that is asked about.
	age time.Duration
	// natives by the series that they are.
	natives map[string]*model.SampleHistogram
}

// stored is a series as Prometheus holds it.
type stored struct {
	sample *model.Sample
	at     time.Time
}

// prometheus answers the queries of snapshots as the real one does, as far as they need it.
type prometheus struct {
	at     time.Time
	series []stored
}

var expressions = parser.NewParser(parser.Options{})

func newPrometheus(t *testing.T, at time.Time, scrapes []scrape) prometheus {
	t.Helper()
	p := prometheus{at: at}
	for _, scrape := range scrapes {
		for line := range strings.Lines(scrape.text) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			cut := strings.LastIndexByte(line, ' ')
			value, err := strconv.ParseFloat(line[cut+1:], 64)
			if err != nil {
				t.Fatalf("line %q: %v", line, err)
			}
			p.add(t, scrape, line[:cut], &model.Sample{Value: model.SampleValue(value)})
		}
		for series, native := range scrape.natives {
			p.add(t, scrape, series, &model.Sample{Histogram: native})
		}
	}
	return p
}

func (p *prometheus) add(t *testing.T, s scrape, series string, sample *model.Sample) {
	t.Helper()
	parsed, err := expressions.ParseMetric(series)
	if err != nil {
		t.Fatalf("series %q: %v", series, err)
	}
	job := s.job
	if job == "" {
		job = "pods"
	}
	pod := s.pod
	if pod == "" {
		pod = examplePod
	}
	sample.Metric = model.Metric{"namespace": "shop", "pod": model.LabelValue(pod), "job": model.LabelValue(job), "instance": "10.0.0.1:8080"}
	if s.container != "" {
		sample.Metric["container"] = model.LabelValue(s.container)
	}
	parsed.Range(func(l labels.Label) { sample.Metric[model.LabelName(l.Name)] = model.LabelValue(l.Value) })
	sample.Timestamp = model.TimeFromUnixNano(p.at.UnixNano())
	p.series = append(p.series, stored{sample, p.at.Add(-s.age)})
}

func (p prometheus) query(t *testing.T, promQL string) model.Vector {
	t.Helper()
	expression, err := expressions.ParseExpr(promQL)
	if err != nil {
		t.Fatalf("%s: %v", promQL, err)
	}
	var vector model.Vector
	for _, found := range p.evaluate(t, expression) {
		vector = append(vector, found.sample)
	}
	return vector
}

func (p prometheus) evaluate(t *testing.T, expression parser.Expr) []stored {
	t.Helper()
	switch expression := expression.(type) {
	case *parser.StepInvariantExpr:
		return p.evaluate(t, expression.Expr)
	case *parser.ParenExpr:
		return p.evaluate(t, expression.Expr)
	case *parser.VectorSelector:
		return p.selected(expression.LabelMatchers)
	case *parser.AggregateExpr:
		return aggregate(p.evaluate(t, expression.Expr), expression.Grouping, p.at)
	case *parser.Call:
		var times []stored
		for _, one := range p.evaluate(t, expression.Args[0]) {
			metric := one.sample.Metric.Clone()
			delete(metric, model.MetricNameLabel)
			value := model.SampleValue(one.at.UnixMilli()) / 1000
			times = append(times, stored{&model.Sample{Metric: metric, Value: value, Timestamp: one.sample.Timestamp}, one.at})
		}
		return times
	case *parser.BinaryExpr:
		left := p.evaluate(t, expression.LHS)
		on := func(s stored) string { return signature(s.sample.Metric, expression.VectorMatching.MatchingLabels) }
		for _, one := range p.evaluate(t, expression.RHS) {
			if !slices.ContainsFunc(left, func(other stored) bool { return on(other) == on(one) }) {
				left = append(left, one)
			}
		}
		return left
	}
	t.Fatalf("%T in a query", expression)
	return nil
}

func (p prometheus) selected(matchers []*labels.Matcher) []stored {
	return slices.DeleteFunc(slices.Clone(p.series), func(s stored) bool {
		return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool {
			return !m.Matches(string(s.sample.Metric[model.LabelName(m.Name)]))
		})
	})
}

func signature(metric model.Metric, names []string) string {
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "%s=%q,", name, metric[model.LabelName(name)])
	}
	return text.String()
}

// aggregate sums what has the same labels. It adds no native histograms up, so that tests have one for each status.
func aggregate(all []stored, by []string, at time.Time) []stored {
	sums := map[string]*model.Sample{}
	var found []stored
	for _, one := range all {
		key := signature(one.sample.Metric, by)
		if sum, ok := sums[key]; ok {
			sum.Value += one.sample.Value
			continue
		}
		metric := model.Metric{}
		for _, name := range by {
			if value, ok := one.sample.Metric[model.LabelName(name)]; ok {
				metric[model.LabelName(name)] = value
			}
		}
		sums[key] = &model.Sample{Metric: metric, Value: one.sample.Value, Histogram: one.sample.Histogram, Timestamp: one.sample.Timestamp}
		found = append(found, stored{sums[key], at})
	}
	return found
}

// moment reads a snapshot of the namespace shop.
func moment(t *testing.T, request Request, at time.Time, scrapes ...scrape) Moment {
	t.Helper()
	scope := Scope{Namespaces: []string{"shop"}}
	if request.Latency.Histogram != "" {
		scope.Histograms = []Latency{request.Latency}
	}
	server, reader := newPrometheus(t, at, scrapes), scope.NewReader(at)
	for _, query := range scope.Queries() {
		if err := reader.Read(query, server.query(t, query.PromQL)); err != nil {
			t.Fatal(err)
		}
	}
	return Moment{At: at, Part: reader.Parts()["shop"]}
}

// observe makes a window of expositions, each so long before the example's end.
func observe(t *testing.T, request Request, texts map[time.Duration][]scrape) Window {
	t.Helper()
	var moments []Moment
	for before, scrapes := range texts {
		moments = append(moments, moment(t, request, exampleEnd.Add(-before), scrapes...))
	}
	slices.SortFunc(moments, func(a, b Moment) int { return a.At.Compare(b.At) })
	return Assemble(request, 15*time.Second, moments, nil)
}

// between is the example's pod in a window of a minute with two expositions of one endpoint.
func between(t *testing.T, request Request, earlier, later string) Pod {
	t.Helper()
	return observe(t, request, map[time.Duration][]scrape{time.Minute: {{text: earlier}}, 0: {{text: later}}}).Pods[examplePod]
}

func present(number float64) Value { return Value{Number: number, State: Present} }
