package signal

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func shownOf(t *testing.T, request Request, scrapes ...scrape) map[v1alpha1.SignalName]string {
	t.Helper()
	moments := []Moment{moment(t, request, exampleEnd.Add(-time.Minute)), moment(t, request, exampleEnd, scrapes...)}
	return Assemble(request, 15*time.Second, moments, nil).Queries
}

func TestShown(t *testing.T) {
	const pods = `namespace="shop",pod=~"checkout-7d9c-.+"`
	const app = pods + `,container=~"|app"`
	want := map[v1alpha1.SignalName]string{
		v1alpha1.SignalMemory:      `process_resident_memory_bytes{` + app + `}`,
		v1alpha1.SignalStartupTime: `kube_pod_status_ready_time{` + pods + `} - on (namespace, pod) kube_pod_created{` + pods + `}`,
		v1alpha1.SignalRequestLatency: `sum by (pod) (rate(gin_request_duration_sum{` + app + `}[1m])) / ` +
			`sum by (pod) (rate(gin_request_duration_count{` + app + `}[1m]))`,
		v1alpha1.SignalTailLatency: `histogram_quantile(0.95, sum by (pod, le) (rate(gin_request_duration_bucket{` + app + `}[1m])))`,
		v1alpha1.SignalSlowRequests: `1 - sum by (pod, le) (rate(gin_request_duration_bucket{` + app + `}[1m])) / on (pod) group_left () ` +
			`sum by (pod) (rate(gin_request_duration_count{` + app + `}[1m]))`,
		v1alpha1.SignalErrors: `sum by (pod) (rate(gin_request_duration_count{` + pods + `,status=~"5..",container=~"|app"}[1m])) / ` +
			`sum by (pod) (rate(gin_request_duration_count{` + app + `}[1m]))`,
		v1alpha1.SignalCPUPerRequest: `sum by (pod) (rate(process_cpu_seconds_total{` + app + `}[1m])) / ` +
			`sum by (pod) (rate(gin_request_duration_count{` + app + `}[1m]))`,
		v1alpha1.SignalGCCPUPerRequest: `(sum by (pod) (rate(go_cpu_classes_gc_total_cpu_seconds_total{` + app + `}[1m])) - ` +
			`sum by (pod) (rate(go_cpu_classes_gc_mark_idle_cpu_seconds_total{` + app + `}[1m]))) / ` +
			`sum by (pod) (rate(gin_request_duration_count{` + app + `}[1m]))`,
	}
	request := exampleRequest()
	request.Latency = Latency{Preset: v1alpha1.LatencyGin}
	got := shownOf(t, request, scrape{text: `gin_request_duration_count{status="200"} 1
		gin_request_duration_bucket{status="200",le="+Inf"} 1`})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

// TestShownParses holds that every query for people is PromQL, short, and of the request's pods only, for every way to count requests.
func TestShownParses(t *testing.T) {
	requests := map[string][]scrape{"native": {{text: "go_goroutines 1", natives: map[string]*model.SampleHistogram{
		`http_request_duration_seconds{code="200"}`: native(1, [3]float64{1, 2, 3}),
	}}}}
	for name, text := range expositions {
		requests[string(name)] = []scrape{{text: text}}
	}
	for name, scrapes := range requests {
		t.Run(name, func(t *testing.T) {
			request := exampleRequest()
			request.Latency = Latency{Preset: v1alpha1.LatencyAuto}
			queries := shownOf(t, request, scrapes...)
			if missing := 8 - len(queries); missing > 1 || (missing == 1 && name != "native") {
				t.Errorf("only %d queries: %v", len(queries), slices.Sorted(maps.Keys(queries)))
			}
			checkShown(t, queries, request)
		})
	}
}

func checkShown(t *testing.T, queries map[v1alpha1.SignalName]string, request Request) {
	t.Helper()
	for name, query := range queries {
		if len(query) > maxShown {
			t.Errorf("%s takes %d characters: %s", name, len(query), query)
		}
		expression, err := expressions.ParseExpr(query)
		if err != nil {
			t.Errorf("%s: %s: %v", name, query, err)
			continue
		}
		for _, selector := range parser.ExtractSelectors(expression) {
			for _, matcher := range selector {
				other := map[string]string{labelNamespace: request.Namespace + "x", labelPod: "x" + request.PodPrefix}[matcher.Name]
				if other != "" && matcher.Matches(other) {
					t.Errorf("%s: %s admits another's pods", name, query)
				}
			}
		}
	}
}

// TestShownLong holds that what would be too long is left out, and nothing else.
func TestShownLong(t *testing.T) {
	request := exampleRequest()
	request.Namespace, request.PodPrefix = "shop", "checkout-7d9c-"+strings.Repeat("a", 200)
	queries := request.shown(presets()[0], "http_request_duration_seconds", nil, time.Minute)
	if _, ok := queries[v1alpha1.SignalMemory]; !ok {
		t.Error("the query for memory is left out, though it is short")
	}
	if query, ok := queries[v1alpha1.SignalGCCPUPerRequest]; ok {
		t.Errorf("a query of %d characters", len(query))
	}
	checkShown(t, queries, request)
}

func FuzzShown(f *testing.F) {
	f.Add("shop", "checkout-", "app", int64(60_000))
	f.Add("x.y*+?()|[]{}^$\\\"n\n\x00", "`'\"", "\u2028", int64(1))
	f.Fuzz(func(t *testing.T, namespace, prefix, container string, milliseconds int64) {
		request := exampleRequest()
		request.Namespace, request.PodPrefix, request.Container = namespace, prefix, container
		request.Length = time.Duration(milliseconds%int64(365*24*time.Hour/time.Millisecond)) * time.Millisecond
		if request.Validate() != nil {
			return
		}
		for _, p := range presets() {
			queries := request.shown(p, p.histograms[0], nil, request.Length)
			for name, query := range queries {
				if _, err := expressions.ParseExpr(query); err != nil {
					t.Errorf("%s: %s: %v", name, query, err)
				}
			}
		}
	})
}

// TestFindHistogram holds that a histogram goes before a mere count that would come first.
func TestFindHistogram(t *testing.T) {
	request := exampleRequest()
	request.Latency = Latency{Preset: v1alpha1.LatencyAuto}
	summary := "http_request_duration_seconds_count{code=\"200\"} 5\n"
	for name, tc := range map[string]struct{ text, want string }{
		"a summary":               {summary, "PrometheusHTTP"},
		"a summary, a histogram":  {summary + expositions[v1alpha1.LatencyEcho], "Echo"},
		"gRPC without histogram":  {`grpc_server_handled_total{grpc_code="OK"} 3`, "PrometheusGRPC"},
		"nothing":                 {"go_goroutines 1", ""},
		"somebody else's counter": {`grpc_client_handled_total{grpc_code="OK"} 3`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			window := observe(t, request, map[time.Duration][]scrape{time.Minute: nil, 0: {{text: tc.text}}})
			if window.LatencyFound != tc.want {
				t.Errorf("found %q, want %q", window.LatencyFound, tc.want)
			}
		})
	}
}

// TestContainerAlone holds that a pod of which only cAdvisor speaks is none that was scraped.
func TestContainerAlone(t *testing.T) {
	window := observe(t, exampleRequest(), map[time.Duration][]scrape{time.Minute: {cadvisor(1, 1)}, 0: {cadvisor(2, 1)}})
	gaps := Missing(exampleRequest(), window, []string{examplePod})
	if len(window.Pods) != 0 || len(gaps) != 1 || gaps[0].Kind != GapScrape {
		t.Errorf("pods %v, gaps %v", window.Pods, gaps)
	}
}

// TestMissingPreset holds that a gap tells what was looked for.
func TestMissingPreset(t *testing.T) {
	pod := wholePod()
	pod.Requests = Value{}
	for preset, words := range map[v1alpha1.LatencyPreset][]string{
		v1alpha1.LatencyAuto: {"http_request_duration_seconds", "gin_request_duration", "istio_request_duration_milliseconds"},
		v1alpha1.LatencyGin:  {"gin_request_duration_seconds_bucket", "looked for gin_request_duration_seconds, gin_request_duration:"},
	} {
		request := exampleRequest()
		request.Latency = Latency{Preset: preset}
		gaps := Missing(request, Window{Pods: map[string]Pod{"a": pod}}, []string{"a"})
		if len(gaps) != 1 {
			t.Fatalf("gaps %v, want one", gaps)
		}
		checkGap(t, gaps[0], GapLatency, append(words, "has had no request yet"))
		if len(gaps[0].Message) > 1024 {
			t.Errorf("a message of %d characters", len(gaps[0].Message))
		}
	}
	if gaps := Missing(Request{Latency: Latency{Preset: "Fiber"}}, Window{Pods: map[string]Pod{"a": pod}}, []string{"a"}); len(gaps) != 0 {
		t.Errorf("gaps %v of a preset that there is not", gaps)
	}
}
