package signal

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

func exampleRequest() Request {
	return Request{
		Provider: "default", Namespace: "shop", PodPrefix: "checkout-7d9c-", Container: "app",
		Latency: Latency{Histogram: "http_request_duration_seconds", CodeLabel: "code"},
		Length:  90 * time.Second, End: time.Unix(1_790_000_000, 0),
	}
}

// TestQueriesText shows what is sent, one query in full for each way in which they are made.
func TestQueriesText(t *testing.T) {
	const matchers = `namespace="shop",pod=~"checkout-7d9c-.+",container=~"|app"`
	const start = `process_start_time_seconds{` + matchers + `}`
	increase := func(metric string) string {
		metric += "{" + matchers + "}"
		return `((` + metric + ` and on (pod) ` + start + ` > time() - 90)` +
			` or ((` + metric + ` unless ` + metric + ` offset 1m30s) and on (pod) ` + start + ` offset 1m30s)` +
			` or (increase(` + metric + `[1m30s]) unless on (pod) ` + start + ` > time() - 90))`
	}
	want := map[QueryName]string{
		QueryGauges: `{__name__=~"process_resident_memory_bytes|process_start_time_seconds|go_gc_heap_live_bytes|go_gc_scan_stack_bytes|` +
			`go_gc_scan_globals_bytes|go_memory_classes_total_bytes|go_memory_classes_heap_released_bytes|go_gc_gogc_percent|` +
			`go_gc_gomemlimit_bytes|go_sched_gomaxprocs_threads|go_gc_duration_seconds_count",` + matchers + `}`,
		QueryNewestSample: `timestamp(process_start_time_seconds{` + matchers + `}) or on (pod) timestamp(go_goroutines{` + matchers + `})`,
		QuerySampleCount: `count_over_time(process_start_time_seconds{` + matchers + `}[1m30s]) or on (pod) ` +
			`count_over_time(go_goroutines{` + matchers + `}[1m30s])`,
		QueryGCCPU: increase("go_cpu_classes_gc_total_cpu_seconds_total") + ` - ` +
			increase("go_cpu_classes_gc_mark_idle_cpu_seconds_total"),
		QueryCPU:            increase("process_cpu_seconds_total"),
		QueryGCCycles:       increase("go_gc_duration_seconds_count"),
		QueryGCPause:        increase("go_gc_duration_seconds_sum"),
		QueryRequests:       `sum by (pod, job, instance, code) ` + increase("http_request_duration_seconds_count"),
		QueryLatencyBuckets: `sum by (pod, job, instance, le) ` + increase("http_request_duration_seconds_bucket"),
	}
	queries, err := Queries(exampleRequest())
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[QueryName]string)
	for _, query := range queries {
		got[query.Name] = query.PromQL
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

func TestQueriesLeaveOut(t *testing.T) {
	request := exampleRequest()
	request.Latency, request.Container = Latency{}, ""
	queries, err := Queries(request)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range queries {
		if query.Name == QueryRequests || query.Name == QueryLatencyBuckets {
			t.Errorf("query %s is asked without a histogram", query.Name)
		}
		if strings.Contains(query.PromQL, "container") {
			t.Errorf("query %s: %s holds a container that was not asked for", query.Name, query.PromQL)
		}
	}
}

func TestQueriesRefuse(t *testing.T) {
	for name, change := range map[string]func(*Request){
		"no namespace":                  func(r *Request) { r.Namespace = "" },
		"no pod prefix":                 func(r *Request) { r.PodPrefix = "" },
		"window of no length":           func(r *Request) { r.Length = 0 },
		"window of negative length":     func(r *Request) { r.Length = -time.Minute },
		"window below PromQL's unit":    func(r *Request) { r.Length = time.Microsecond },
		"no end":                        func(r *Request) { r.End = time.Time{} },
		"namespace not UTF-8":           func(r *Request) { r.Namespace = "a\xff" },
		"histogram with a selector":     func(r *Request) { r.Latency.Histogram = `up{} or x` },
		"status label with parenthesis": func(r *Request) { r.Latency.CodeLabel = `code) (up` },
		"status label missing":          func(r *Request) { r.Latency.CodeLabel = "" },
	} {
		t.Run(name, func(t *testing.T) {
			request := exampleRequest()
			change(&request)
			if queries, err := Queries(request); err == nil {
				t.Errorf("rendered %v", queries)
			}
		})
	}
}

// FuzzQueries holds that whatever is rendered parses, has the expected type, and sees one namespace's and one prefix's pods only.
func FuzzQueries(f *testing.F) {
	f.Add("shop", "checkout-7d9c-", "app", "http_request_duration_seconds", "code", int64(90_000))
	f.Add("a.b", "x.y*+?()|[]{}^$\\", `"q"`, "a:b_c", "le", int64(1000))
	f.Add("n\n\x00", "\u2028`", "'", "namespace", "pod", int64(7*24*3600*1000+1))
	f.Fuzz(func(t *testing.T, namespace, prefix, container, histogram, code string, milliseconds int64) {
		request := exampleRequest()
		request.Namespace, request.PodPrefix, request.Container = namespace, prefix, container
		request.Latency = Latency{Histogram: histogram, CodeLabel: code}
		request.Length = time.Duration(milliseconds%int64(365*24*time.Hour/time.Millisecond)) * time.Millisecond
		queries, err := Queries(request)
		if err != nil {
			return
		}
		for _, query := range queries {
			checkQuery(t, request, query)
		}
	})
}

func checkQuery(t *testing.T, request Request, query Query) {
	t.Helper()
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(query.PromQL)
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
		checkSelector(t, request, selector)
	}
}

func checkSelector(t *testing.T, request Request, selector []*labels.Matcher) {
	t.Helper()
	admits := func(name, value string) bool {
		matched, found := true, false
		for _, matcher := range selector {
			if matcher.Name == name {
				matched, found = matched && matcher.Matches(value), true
			}
		}
		return matched && found
	}
	for _, check := range []struct {
		label, value string
		want         bool
	}{
		{"namespace", request.Namespace, true},
		{"namespace", request.Namespace + "x", false},
		{"namespace", "", false},
		{"pod", request.PodPrefix + "x", true},
		{"pod", request.PodPrefix, false},
		{"pod", "x" + request.PodPrefix + "x", strings.HasPrefix("x"+request.PodPrefix, request.PodPrefix)},
		{"pod", "", false},
	} {
		if got := admits(check.label, check.value); got != check.want {
			t.Errorf("selector %v admits %s=%q: %t, want %t", selector, check.label, check.value, got, check.want)
		}
	}
	if request.Container == "" {
		return
	}
	if !admits("container", request.Container) || !admits("container", "") || admits("container", request.Container+"x") {
		t.Errorf("selector %v: want containers %q and none, no other", selector, request.Container)
	}
}
