package signal

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"
)

func exampleScope() Scope {
	return Scope{Namespaces: []string{"a.b", "shop"}, Histograms: []Latency{{Histogram: "rpc_seconds", CodeLabel: "outcome"}}}
}

// TestQueriesText shows what is sent, one query in full for each way in which they are made.
func TestQueriesText(t *testing.T) {
	const within = `namespace=~"a\\.b|shop"`
	want := map[QueryName]string{
		QuerySampleTimes: `timestamp(process_start_time_seconds{` + within + `}) or on (namespace, pod, container, job, instance) ` +
			`timestamp(go_goroutines{` + within + `}) or on (namespace, pod, container, job, instance) timestamp(go_goroutine_count{` + within + `})`,
		QueryRuntimeBuckets: `sum by (__name__, namespace, pod, container, job, instance, le) ({__name__=~"go_sched_pauses_total_gc_seconds_bucket|` +
			`go_sched_latencies_seconds_bucket|go_memory_gc_pause_duration_seconds_bucket|go_schedule_duration_seconds_bucket",` + within + `})`,
		QueryContainers: `{__name__=~"container_cpu_cfs_periods_total|container_cpu_cfs_throttled_periods_total|container_memory_working_set_bytes|` +
			`container_oom_events_total",` + within + `,container!=""}`,
	}
	got := make(map[QueryName]string)
	for _, query := range exampleScope().Queries() {
		if _, ok := want[query.Name]; ok {
			got[query.Name] = query.PromQL
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

// TestQueriesAsk holds that what policies and presets name is asked for.
func TestQueriesAsk(t *testing.T) {
	for name, words := range map[QueryName][]string{
		QueryGauges: {"go_gc_gogc_percent|", `quantile=~"|1|1[.]0"`, "go_info"},
		QueryRequests: {"rpc_seconds_count|", "rpc_seconds_sum|", "rpc_seconds|", "outcome", "http_response_status_code", "reporter",
			"grpc_server_handled_total", "istio_requests_total", "gin_request_duration_count"},
		QueryLatencyBuckets: {"rpc_seconds_bucket|", "istio_request_duration_milliseconds_bucket", "reporter, le"},
	} {
		queries := exampleScope().Queries()
		at := slices.IndexFunc(queries, func(q Query) bool { return q.Name == name })
		for _, word := range words {
			if !strings.Contains(queries[at].PromQL, word) {
				t.Errorf("query %s lacks %q: %s", name, word, queries[at].PromQL)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	for _, query := range exampleScope().Queries() {
		one, other, ok := query.Split()
		if !ok || one.PromQL == other.PromQL {
			t.Fatalf("query %s of two namespaces does not split", query.Name)
		}
		if diff := cmp.Diff([][]string{{"a.b"}, {"shop"}}, [][]string{one.Namespaces(), other.Namespaces()}); diff != "" {
			t.Errorf("namespaces (-want +got):\n%s", diff)
		}
		left, right, ok := one.Split()
		if query.Name == QuerySampleTimes {
			if ok {
				t.Errorf("the times of one namespace split into %s and %s", left.PromQL, right.PromQL)
			}
			continue
		}
		if !ok || len(left.metrics)+len(right.metrics) != len(query.metrics) || len(left.metrics) == 0 {
			t.Errorf("query %s splits into %v and %v", query.Name, left.metrics, right.metrics)
		}
		if !strings.Contains(left.PromQL, `namespace=~"a\\.b"`) || strings.Contains(left.PromQL, "shop") {
			t.Errorf("half of a query is not held to its namespace: %s", left.PromQL)
		}
	}
}

// FuzzQueries holds that whatever is rendered parses, has the expected type, and sees the scope's namespaces only.
func FuzzQueries(f *testing.F) {
	f.Add("shop", "http_request_duration_seconds", "code")
	f.Add("a.b", "a:b_c", "le")
	f.Add("x.y*+?()|[]{}^$\\\"n\n\x00", "namespace", "pod")
	f.Fuzz(func(t *testing.T, namespace, histogram, code string) {
		request := exampleRequest()
		request.Namespace = namespace
		request.Latency = Latency{Histogram: histogram, CodeLabel: code}
		if histogram == "" || request.Validate() != nil {
			return
		}
		scope := Scope{Namespaces: []string{namespace, "other"}, Histograms: []Latency{request.Latency}}
		for _, query := range scope.Queries() {
			checkQuery(t, query, namespace)
		}
	})
}

func checkQuery(t *testing.T, query Query, namespace string) {
	t.Helper()
	expression, err := expressions.ParseExpr(query.PromQL)
	if err != nil {
		t.Fatalf("query %s: %s: %v", query.Name, query.PromQL, err)
	}
	if expression.Type() != parser.ValueTypeVector {
		t.Errorf("query %s yields a %s", query.Name, expression.Type())
	}
	selectors := parser.ExtractSelectors(expression)
	if len(selectors) == 0 {
		t.Errorf("query %s selects nothing", query.Name)
	}
	for _, selector := range selectors {
		for _, value := range []string{namespace, "other", namespace + "x", "xother", ""} {
			admits, found := true, false
			for _, matcher := range selector {
				if matcher.Name == labelNamespace {
					admits, found = admits && matcher.Matches(value), true
				}
			}
			if want := value == namespace || value == "other"; (admits && found) != want {
				t.Errorf("selector %v admits namespace %q: %t, want %t", selector, value, admits && found, want)
			}
		}
	}
}

func TestRequestRefuses(t *testing.T) {
	for name, change := range map[string]func(*Request){
		"no namespace":                  func(r *Request) { r.Namespace = "" },
		"no pod prefix":                 func(r *Request) { r.PodPrefix = "" },
		"window of no length":           func(r *Request) { r.Length = 0 },
		"window of negative length":     func(r *Request) { r.Length = -r.Length },
		"no end":                        func(r *Request) { r.End = Request{}.End },
		"namespace not UTF-8":           func(r *Request) { r.Namespace = "a\xff" },
		"histogram with a selector":     func(r *Request) { r.Latency.Histogram = `up{} or x` },
		"status label with parenthesis": func(r *Request) { r.Latency.CodeLabel = `code) (up` },
		"status label missing":          func(r *Request) { r.Latency.CodeLabel = "" },
		"unknown preset":                func(r *Request) { r.Latency = Latency{Preset: "Fiber"} },
		"a name twice":                  func(r *Request) { r.Queries = []CustomQuery{{Name: "a", PromQL: "x"}, {Name: "a", PromQL: "y"}} },
	} {
		t.Run(name, func(t *testing.T) {
			request := exampleRequest()
			if err := request.Validate(); err != nil {
				t.Fatal(err)
			}
			change(&request)
			if err := request.Validate(); err == nil {
				t.Errorf("accepted %+v", request)
			}
		})
	}
}
