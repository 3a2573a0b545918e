package signal

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/model"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func TestLatencyOf(t *testing.T) {
	for name, tc := range map[string]struct {
		source v1alpha1.LatencySource
		want   Latency
	}{
		"none":                {v1alpha1.LatencySource{}, Latency{Preset: v1alpha1.LatencyAuto}},
		"preset":              {v1alpha1.LatencySource{Preset: v1alpha1.LatencyGin}, Latency{Preset: v1alpha1.LatencyGin}},
		"histogram":           {v1alpha1.LatencySource{Histogram: "fiber_seconds"}, Latency{Histogram: "fiber_seconds", CodeLabel: "code"}},
		"histogram and label": {v1alpha1.LatencySource{Histogram: "rpc_seconds", CodeLabel: "status"}, Latency{Histogram: "rpc_seconds", CodeLabel: "status"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := LatencyOf(tc.source)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("latency (-want +got):\n%s", diff)
			}
			if err := got.validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// expositions of the presets by what libraries write: 100 requests, 10 of them failed, 90 at most 0.25 s.
var expositions = map[v1alpha1.LatencyPreset]string{
	v1alpha1.LatencyPrometheusHTTP: `
		http_request_duration_seconds_bucket{code="200",method="get",le="0.25"} 90
		http_request_duration_seconds_bucket{code="200",method="get",le="+Inf"} 90
		http_request_duration_seconds_sum{code="200",method="get"} 4
		http_request_duration_seconds_count{code="200",method="get"} 90
		http_request_duration_seconds_bucket{code="500",method="get",le="0.25"} 0
		http_request_duration_seconds_bucket{code="500",method="get",le="+Inf"} 10
		http_request_duration_seconds_sum{code="500",method="get"} 6
		http_request_duration_seconds_count{code="500",method="get"} 10`,
	v1alpha1.LatencyGin: `
		gin_request_duration_bucket{code="200",uri="/",le="0.25"} 90
		gin_request_duration_bucket{code="200",uri="/",le="+Inf"} 90
		gin_request_duration_sum{code="200",uri="/"} 4
		gin_request_duration_count{code="200",uri="/"} 90
		gin_request_duration_bucket{status="502",uri="/",le="0.25"} 0
		gin_request_duration_bucket{status="502",uri="/",le="+Inf"} 10
		gin_request_duration_sum{status="502",uri="/"} 6
		gin_request_duration_count{status="502",uri="/"} 10`,
	v1alpha1.LatencyEcho: `
		echo_request_duration_seconds_bucket{code="200",host="x",method="GET",url="/",le="0.25"} 90
		echo_request_duration_seconds_bucket{code="200",host="x",method="GET",url="/",le="+Inf"} 100
		echo_request_duration_seconds_sum{code="200",host="x",method="GET",url="/"} 10
		echo_request_duration_seconds_count{code="200",host="x",method="GET",url="/"} 90
		echo_request_duration_seconds_count{code="500",host="x",method="GET",url="/"} 10`,
	v1alpha1.LatencyOpenTelemetryHTTP: `
		http_server_request_duration_seconds_bucket{http_request_method="GET",http_response_status_code="200",otel_scope_name="otelhttp",le="0.25"} 90
		http_server_request_duration_seconds_bucket{http_request_method="GET",http_response_status_code="200",otel_scope_name="otelhttp",le="+Inf"} 100
		http_server_request_duration_seconds_sum{http_request_method="GET",http_response_status_code="200"} 10
		http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="200"} 90
		http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="503",error_type="503"} 9
		http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="500",error_type="500"} 1`,
	v1alpha1.LatencyOpenTelemetryHTTPMilliseconds: `
		http_server_duration_milliseconds_bucket{http_method="GET",http_status_code="200",le="250"} 90
		http_server_duration_milliseconds_bucket{http_method="GET",http_status_code="200",le="+Inf"} 100
		http_server_duration_milliseconds_sum{http_method="GET",http_status_code="200"} 10000
		http_server_duration_milliseconds_count{http_method="GET",http_status_code="200"} 90
		http_server_duration_milliseconds_count{http_method="GET",http_status_code="500"} 10`,
	v1alpha1.LatencyPrometheusGRPC: `
		grpc_server_handling_seconds_bucket{grpc_method="Get",grpc_service="Shop",grpc_type="unary",le="0.25"} 90
		grpc_server_handling_seconds_bucket{grpc_method="Get",grpc_service="Shop",grpc_type="unary",le="+Inf"} 100
		grpc_server_handling_seconds_sum{grpc_method="Get",grpc_service="Shop",grpc_type="unary"} 10
		grpc_server_handling_seconds_count{grpc_method="Get",grpc_service="Shop",grpc_type="unary"} 100
		grpc_server_handled_total{grpc_code="OK",grpc_method="Get",grpc_service="Shop",grpc_type="unary"} 80
		grpc_server_handled_total{grpc_code="NotFound",grpc_method="Get",grpc_service="Shop",grpc_type="unary"} 10
		grpc_server_handled_total{grpc_code="DeadlineExceeded",grpc_method="Get",grpc_service="Shop",grpc_type="unary"} 3
		grpc_server_handled_total{grpc_code="Unavailable",grpc_method="Get",grpc_service="Shop",grpc_type="unary"} 7`,
	v1alpha1.LatencyOpenTelemetryGRPC: `
		rpc_server_call_duration_seconds_bucket{rpc_method="shop/Get",rpc_system_name="grpc",rpc_response_status_code="OK",le="0.25"} 90
		rpc_server_call_duration_seconds_bucket{rpc_method="shop/Get",rpc_system_name="grpc",rpc_response_status_code="OK",le="+Inf"} 100
		rpc_server_call_duration_seconds_sum{rpc_method="shop/Get",rpc_response_status_code="OK"} 10
		rpc_server_call_duration_seconds_count{rpc_method="shop/Get",rpc_response_status_code="OK"} 85
		rpc_server_call_duration_seconds_count{rpc_method="shop/Get",rpc_response_status_code="INVALID_ARGUMENT"} 5
		rpc_server_call_duration_seconds_count{rpc_method="shop/Get",rpc_response_status_code="DEADLINE_EXCEEDED"} 10`,
	v1alpha1.LatencyOpenTelemetryGRPCMilliseconds: `
		rpc_server_duration_milliseconds_bucket{rpc_method="Get",rpc_service="shop",rpc_grpc_status_code="0",le="250"} 90
		rpc_server_duration_milliseconds_bucket{rpc_method="Get",rpc_service="shop",rpc_grpc_status_code="0",le="+Inf"} 100
		rpc_server_duration_milliseconds_sum{rpc_method="Get",rpc_grpc_status_code="0"} 10000
		rpc_server_duration_milliseconds_count{rpc_method="Get",rpc_grpc_status_code="0"} 85
		rpc_server_duration_milliseconds_count{rpc_method="Get",rpc_grpc_status_code="5"} 5
		rpc_server_duration_milliseconds_count{rpc_method="Get",rpc_grpc_status_code="13"} 4
		rpc_server_duration_milliseconds_count{rpc_method="Get",rpc_grpc_status_code="2"} 6`,
	v1alpha1.LatencyIstio: `
		istio_request_duration_milliseconds_bucket{reporter="destination",response_code="200",le="250"} 90
		istio_request_duration_milliseconds_bucket{reporter="destination",response_code="200",le="+Inf"} 100
		istio_request_duration_milliseconds_sum{reporter="destination",response_code="200"} 10000
		istio_request_duration_milliseconds_count{reporter="destination",response_code="200"} 100
		istio_requests_total{reporter="destination",response_code="200",response_flags="-"} 89
		istio_requests_total{reporter="destination",response_code="0",response_flags="DC"} 1
		istio_requests_total{reporter="destination",response_code="503",response_flags="UF"} 10
		istio_request_duration_milliseconds_bucket{reporter="source",response_code="200",le="250"} 7
		istio_request_duration_milliseconds_bucket{reporter="source",response_code="200",le="+Inf"} 7
		istio_request_duration_milliseconds_count{reporter="source",response_code="200"} 7
		istio_request_duration_milliseconds_sum{reporter="source",response_code="200"} 7
		istio_requests_total{reporter="source",response_code="500",response_flags="-"} 7`,
}

// TestPresets holds that every preset is found on its own and among the others, and reads the same numbers.
func TestPresets(t *testing.T) {
	for _, p := range presets() {
		name := v1alpha1.LatencyPreset(p.found)
		for _, chosen := range []v1alpha1.LatencyPreset{name, v1alpha1.LatencyAuto, ""} {
			t.Run(p.found+" as "+string(chosen), func(t *testing.T) {
				request := exampleRequest()
				request.Latency = Latency{Preset: chosen}
				app := scrape{text: started(time.Hour)}
				requests := scrape{text: expositions[name]}
				if name == v1alpha1.LatencyIstio {
					requests.container, requests.job = "istio-proxy", "envoy-stats"
				}
				window := observe(t, request, map[time.Duration][]scrape{time.Minute: {app}, 0: {app, requests}})
				if window.LatencyFound != p.found {
					t.Errorf("found %q, want %q", window.LatencyFound, p.found)
				}
				pod := window.Pods[examplePod]
				want := Pod{
					Requests: present(100), FailedRequests: present(10), RequestSeconds: present(10),
					Latency: []Bucket{{0.25, 90}, {math.Inf(1), 100}}, LatencyState: Present,
				}
				got := Pod{Requests: pod.Requests, FailedRequests: pod.FailedRequests, RequestSeconds: pod.RequestSeconds,
					Latency: pod.Latency, LatencyState: pod.LatencyState}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		}
	}
	if len(expositions) != len(presets()) {
		t.Errorf("%d expositions for %d presets", len(expositions), len(presets()))
	}
}

// TestPresetOrder holds that the first in the API's order is found where a service exposes several.
func TestPresetOrder(t *testing.T) {
	request := exampleRequest()
	request.Latency = Latency{Preset: v1alpha1.LatencyAuto}
	all := presets()
	for i := range all {
		var texts []string
		for _, later := range all[i:] {
			texts = append(texts, expositions[v1alpha1.LatencyPreset(later.found)])
		}
		window := observe(t, request, map[time.Duration][]scrape{time.Minute: nil, 0: {{text: strings.Join(texts, "\n")}}})
		if window.LatencyFound != all[i].found {
			t.Errorf("found %s, want %s", window.LatencyFound, all[i].found)
		}
	}
}

func TestPresetNotThere(t *testing.T) {
	request := exampleRequest()
	request.Latency = Latency{Preset: v1alpha1.LatencyEcho}
	window := observe(t, request, map[time.Duration][]scrape{time.Minute: nil, 0: {{text: expositions[v1alpha1.LatencyGin]}}})
	if window.LatencyFound != "" || window.Pods[examplePod].Requests.State != Absent {
		t.Errorf("found %q with %v", window.LatencyFound, window.Pods[examplePod].Requests)
	}
}

func TestRequests(t *testing.T) {
	const metric = "http_request_duration_seconds_count"
	ambiguous, notFinite := Value{State: Ambiguous}, Value{State: NotFinite}
	one := func(lines ...string) []scrape {
		return []scrape{{text: metric + strings.Join(lines, "\n"+metric) + started(time.Hour)}}
	}
	for name, tc := range map[string]struct {
		earlier, later   []scrape
		requests, failed Value
	}{
		"never failed":     {one(`{code="200"} 5`), one(`{code="200"} 15`), present(10), present(0)},
		"a failure comes":  {one(`{code="200"} 5`), one(`{code="200"} 15`, `{code="500"} 2`), present(12), present(2)},
		"idle":             {one(`{code="200"} 5`), one(`{code="200"} 5`), present(0), present(0)},
		"classes":          {nil, one(`{code="2xx"} 10`, `{code="5xx"} 1`), Value{}, Value{}},
		"label not there":  {one(` 5`), one(` 15`), present(10), Value{}},
		"no HTTP status":   {one(`{code="OK"} 5`), one(`{code="OK"} 15`, `{code="Unavailable"} 1`), present(11), Value{}},
		"some without":     {one(`{code="200"} 5`), one(`{code="200"} 15`, ` 1`), present(11), present(0)},
		"one not a number": {one(`{code="200"} 5`), one(`{code="200"} 15`, `{code="500"} NaN`), notFinite, notFinite},
		"a series ended":   {one(`{code="200"} 5`, `{code="500"} 5`), one(`{code="200"} 15`), ambiguous, ambiguous},
		"a series fell":    {one(`{code="200"} 5`, `{code="500"} 5`), one(`{code="200"} 15`, `{code="500"} 4`), ambiguous, ambiguous},
		"sum overflows": {one(`{code="200"} 0`), one(`{code="200"} 1.7e308`, `{code="500"} 1.7e308`),
			notFinite, notFinite},
		"scraped by two": {one(`{code="200"} 5`), append(one(`{code="200"} 15`), scrape{job: "b", text: metric + `{code="500"} 15`}),
			ambiguous, ambiguous},
		"by two before": {append(one(`{code="200"} 5`), scrape{job: "b", text: metric + `{code="200"} 5`}), one(`{code="200"} 15`),
			ambiguous, ambiguous},
		"of a sidecar": {one(`{code="200"} 5`), append(one(`{code="200"} 15`), scrape{container: "proxy", text: metric + `{code="500"} 15`}),
			present(10), present(0)},
	} {
		t.Run(name, func(t *testing.T) {
			pod := observe(t, exampleRequest(), map[time.Duration][]scrape{time.Minute: tc.earlier, 0: tc.later}).Pods[examplePod]
			if diff := cmp.Diff([]Value{tc.requests, tc.failed}, []Value{pod.Requests, pod.FailedRequests}); diff != "" {
				t.Errorf("requests and failures (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	for _, code := range []string{"Unknown", "UNKNOWN", "2", "DeadlineExceeded", "DEADLINE_EXCEEDED", "4", "Unimplemented", "12", "Internal", "13",
		"Unavailable", "14", "DataLoss", "DATA_LOSS", "15"} {
		if got := statusOfGRPC(code); got != statusFailed {
			t.Errorf("gRPC code %s is %v, want a failure", code, got)
		}
	}
	for _, code := range []string{"OK", "0", "Canceled", "CANCELLED", "NotFound", "5", "RESOURCE_EXHAUSTED", "8", "Unauthenticated", "16"} {
		if got := statusOfGRPC(code); got != statusServed {
			t.Errorf("gRPC code %s is %v, want served", code, got)
		}
	}
	for _, code := range []string{"", "17", "200", "-1", "Teapot"} {
		if got := statusOfGRPC(code); got != statusNone {
			t.Errorf("gRPC code %q is %v, want none", code, got)
		}
	}
	for code, want := range map[string]status{"200": statusServed, "404": statusServed, "5xx": statusFailed, "599": statusFailed, "0": statusNone,
		"": statusNone, "600": statusNone, "OK": statusNone} {
		if got := statusOfHTTP(code); got != want {
			t.Errorf("HTTP status %q is %v, want %v", code, got, want)
		}
	}
}

func TestClassicHistogram(t *testing.T) {
	const metric = "http_request_duration_seconds_bucket"
	text := func(pairs ...any) string {
		var lines strings.Builder
		for i := 0; i < len(pairs); i += 2 {
			fmt.Fprintf(&lines, "%s{le=%q} %v\n", metric, pairs[i], pairs[i+1])
		}
		return lines.String() + started(time.Hour)
	}
	inf := math.Inf(1)
	for name, tc := range map[string]struct {
		earlier, later string
		want           []Bucket
		state          State
	}{
		"no series":          {text(), text(), nil, Absent},
		"whole":              {text("0.5", 1, "+Inf", 1), text("+Inf", 4, "0.5", 3), []Bucket{{0.5, 2}, {inf, 3}}, Present},
		"idle":               {text("0.5", 1, "+Inf", 1), text("0.5", 1, "+Inf", 1), []Bucket{{0.5, 0}, {inf, 0}}, Present},
		"comes late":         {text(), text("0.5", 3, "+Inf", 4), []Bucket{{0.5, 3}, {inf, 4}}, Present},
		"an edge is new":     {text("0.5", 1, "+Inf", 2), text("0.2", 1, "0.5", 3, "+Inf", 5), []Bucket{{0.5, 2}, {inf, 3}}, Present},
		"new where none was": {text("0.5", 0, "+Inf", 2), text("0.2", 1, "0.5", 3, "+Inf", 5), []Bucket{{0.2, 1}, {0.5, 3}, {inf, 3}}, Present},
		"rounded fall":       {text("1", 0, "+Inf", 0), text("1", "2.0000000000001", "+Inf", 2), []Bucket{{1, 2}, {inf, 2}}, Present},
		"no last edge":       {text("0.5", 1, "+Inf", 1), text("0.5", 2), nil, NotFinite},
		"no last edge then":  {text("0.5", 1), text("0.5", 2, "+Inf", 2), nil, NotFinite},
		"counts fall":        {text(), text("0.5", 2, "+Inf", 1), nil, Ambiguous},
		"a count fell":       {text("0.5", 3, "+Inf", 3), text("0.5", 2, "+Inf", 4), nil, Ambiguous},
		"all fell":           {text("0.5", 3, "+Inf", 5), text("0.5", 2, "+Inf", 4), nil, Ambiguous},
		"an edge twice":      {text(), text("1", 1, "1.0", 1, "+Inf", 2), nil, Ambiguous},
		"NaN":                {text(), text("0.5", 1, "+Inf", "NaN"), nil, NotFinite},
		"infinite":           {text(), text("0.5", 1, "+Inf", "+Inf"), nil, NotFinite},
		"negative":           {text(), text("0.5", -1, "+Inf", 1), nil, NotFinite},
		"edge no number":     {text(), text("fast", 1, "+Inf", 1), nil, NotFinite},
		"edge NaN":           {text(), text("NaN", 1, "+Inf", 1), nil, NotFinite},
	} {
		t.Run(name, func(t *testing.T) {
			pod := between(t, exampleRequest(), tc.earlier, tc.later)
			if diff := cmp.Diff(tc.want, pod.Latency, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("buckets (-want +got):\n%s", diff)
			}
			if pod.LatencyState != tc.state {
				t.Errorf("state %q, want %q", pod.LatencyState, tc.state)
			}
		})
	}
}

// native makes a native histogram of buckets (lower, upper, count).
func native(sum float64, buckets ...[3]float64) *model.SampleHistogram {
	made := &model.SampleHistogram{Sum: model.FloatString(sum)}
	for _, bucket := range buckets {
		made.Count += model.FloatString(bucket[2])
		made.Buckets = append(made.Buckets, &model.HistogramBucket{
			Lower: model.FloatString(bucket[0]), Upper: model.FloatString(bucket[1]), Count: model.FloatString(bucket[2]),
		})
	}
	return made
}

func TestNativeHistogram(t *testing.T) {
	ok, bad := `http_request_duration_seconds{code="200"}`, `http_request_duration_seconds{code="500"}`
	inf := math.Inf(1)
	for name, tc := range map[string]struct {
		earlier, later   map[string]*model.SampleHistogram
		requests, failed float64
		took             float64
		want             []Bucket
	}{
		"comes late": {nil, map[string]*model.SampleHistogram{ok: native(3, [3]float64{0.25, 0.5, 4})}, 4, 0, 3,
			[]Bucket{{0.25, 0}, {0.5, 4}, {inf, 4}}},
		"by status": {nil, map[string]*model.SampleHistogram{ok: native(3, [3]float64{0.25, 0.5, 4}), bad: native(5, [3]float64{1, 2, 3})}, 7, 3, 8,
			[]Bucket{{0.25, 0}, {0.5, 4}, {1, 4}, {2, 7}, {inf, 7}}},
		"grows": {map[string]*model.SampleHistogram{ok: native(1, [3]float64{0.25, 0.5, 4})},
			map[string]*model.SampleHistogram{ok: native(3, [3]float64{0.25, 0.5, 5}, [3]float64{1, 2, 1})}, 2, 0, 2,
			[]Bucket{{0.25, 0}, {0.5, 1}, {1, 1}, {2, 2}, {inf, 2}}},
		"gets coarser": {map[string]*model.SampleHistogram{ok: native(1, [3]float64{0.25, 0.35, 1}, [3]float64{0.35, 0.5, 2})},
			map[string]*model.SampleHistogram{ok: native(3, [3]float64{0.25, 0.5, 5})}, 2, 0, 2, []Bucket{{0.25, 0}, {0.5, 2}, {inf, 2}}},
		"zero bucket": {nil, map[string]*model.SampleHistogram{ok: native(3, [3]float64{-1e-9, 1e-9, 2}, [3]float64{1, 2, 1})}, 3, 0, 3,
			[]Bucket{{1e-9, 2}, {1, 2}, {2, 3}, {inf, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := observe(t, exampleRequest(), map[time.Duration][]scrape{
				time.Minute: {{text: started(time.Hour), natives: tc.earlier}}, 0: {{text: started(time.Hour), natives: tc.later}},
			}).Pods[examplePod]
			want := Pod{Requests: present(tc.requests), FailedRequests: present(tc.failed), RequestSeconds: present(tc.took),
				Latency: tc.want, LatencyState: Present}
			got := Pod{Requests: pod.Requests, FailedRequests: pod.FailedRequests, RequestSeconds: pod.RequestSeconds,
				Latency: pod.Latency, LatencyState: pod.LatencyState}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSummaryIsNoHistogram holds that a summary of the same name, whose quantiles have the bare name, is not taken for a native histogram.
func TestSummaryIsNoHistogram(t *testing.T) {
	text := `http_request_duration_seconds{code="200",quantile="0.5"} 0.1
		http_request_duration_seconds_count{code="200"} 10
		http_request_duration_seconds_sum{code="200"} 2` + started(time.Hour)
	pod := between(t, exampleRequest(), started(time.Hour), text)
	if pod.LatencyState != Absent || pod.Requests != present(10) || pod.RequestSeconds != present(2) {
		t.Errorf("latency %q, requests %v in %v s", pod.LatencyState, pod.Requests, pod.RequestSeconds)
	}
}
