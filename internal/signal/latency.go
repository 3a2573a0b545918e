package signal

import (
	"cmp"
	"slices"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// The names of a classic histogram's series. A native one's has none of them.
const (
	suffixBucket = "_bucket"
	suffixCount  = "_count"
	suffixSum    = "_sum"
)

// defaultCodeLabel holds the HTTP status where a policy names a histogram but no label; promhttp's middleware calls it so.
const defaultCodeLabel = "code"

// preset is a well-known way to count requests by duration and status.
type preset struct {
	// found is how Window.LatencyFound calls it.
	found string
	// histograms are alternatives: libraries of one framework name theirs differently.
	histograms []string
	// secondsPerUnit of the histogram's edges and sum.
	secondsPerUnit float64
	// codeLabels are alternatives as well.
	codeLabels []string
	status     func(code string) status
	// counter counts the requests by status where the histogram doesn't; empty where it does.
	counter string
	// reporter is the only one that counts, where several report the same requests.
	reporter string
	// sidecar is a container that counts the requests for the application.
	sidecar string
}

const (
	seconds      = 1
	milliseconds = 1e-3
)

// presets in the order in which LatencyAuto looks for them. The names are those that the libraries give: promhttp's convention;
// github.com/zsais/go-gin-prometheus and github.com/penglongli/gin-metrics; github.com/labstack/echo-contrib/echoprometheus;
// OpenTelemetry's conventions for HTTP and RPC, new and old, as otlptranslator writes them;
// github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus; https://istio.io/latest/docs/reference/config/metrics/.
func presets() []preset {
	return []preset{
		{found: string(v1alpha1.LatencyPrometheusHTTP), histograms: []string{"http_request_duration_seconds"},
			secondsPerUnit: seconds, codeLabels: []string{defaultCodeLabel}, status: statusOfHTTP},
		{found: string(v1alpha1.LatencyGin), histograms: []string{"gin_request_duration_seconds", "gin_request_duration"},
			secondsPerUnit: seconds, codeLabels: []string{"code", "status"}, status: statusOfHTTP},
		{found: string(v1alpha1.LatencyEcho), histograms: []string{"echo_request_duration_seconds"},
			secondsPerUnit: seconds, codeLabels: []string{"code"}, status: statusOfHTTP},
		{found: string(v1alpha1.LatencyOpenTelemetryHTTP), histograms: []string{"http_server_request_duration_seconds"},
			secondsPerUnit: seconds, codeLabels: []string{"http_response_status_code"}, status: statusOfHTTP},
		{found: string(v1alpha1.LatencyOpenTelemetryHTTPMilliseconds), histograms: []string{"http_server_duration_milliseconds"},
			secondsPerUnit: milliseconds, codeLabels: []string{"http_status_code"}, status: statusOfHTTP},
		{found: string(v1alpha1.LatencyPrometheusGRPC), histograms: []string{"grpc_server_handling_seconds"},
			secondsPerUnit: seconds, codeLabels: []string{"grpc_code"}, status: statusOfGRPC, counter: "grpc_server_handled_total"},
		{found: string(v1alpha1.LatencyOpenTelemetryGRPC), histograms: []string{"rpc_server_call_duration_seconds"},
			secondsPerUnit: seconds, codeLabels: []string{"rpc_response_status_code"}, status: statusOfGRPC},
		{found: string(v1alpha1.LatencyOpenTelemetryGRPCMilliseconds), histograms: []string{"rpc_server_duration_milliseconds"},
			secondsPerUnit: milliseconds, codeLabels: []string{"rpc_grpc_status_code"}, status: statusOfGRPC},
		{found: string(v1alpha1.LatencyIstio), histograms: []string{"istio_request_duration_milliseconds"},
			secondsPerUnit: milliseconds, codeLabels: []string{"response_code"}, status: statusOfHTTP, counter: "istio_requests_total",
			reporter: "destination", sidecar: "istio-proxy"},
	}
}

// LatencyOf says which histogram a policy means. A source that names none is the API's default, LatencyAuto.
func LatencyOf(source v1alpha1.LatencySource) Latency {
	if source.Histogram == "" {
		return Latency{Preset: cmp.Or(source.Preset, v1alpha1.LatencyAuto)}
	}
	return Latency{Histogram: source.Histogram, CodeLabel: cmp.Or(source.CodeLabel, defaultCodeLabel)}
}

// candidates are the ways to count that a policy's choice leaves, in order.
func (l Latency) candidates() []preset {
	if l.Histogram != "" {
		return []preset{{found: l.Histogram, histograms: []string{l.Histogram}, secondsPerUnit: seconds,
			codeLabels: []string{l.CodeLabel}, status: statusOfHTTP}}
	}
	all := presets()
	if l.Preset == "" || l.Preset == v1alpha1.LatencyAuto {
		return all
	}
	return slices.DeleteFunc(all, func(p preset) bool { return p.found != string(l.Preset) })
}

// requestMetrics are the metrics that count requests, those with buckets, and the labels with a status, of all presets and of the
// histograms of the scope. A native histogram has its bare name.
func (s Scope) requestMetrics() (counts, buckets, labels []string) {
	all := presets()
	for _, latency := range s.Histograms {
		all = append(all, latency.candidates()...)
	}
	for _, p := range all {
		for _, histogram := range p.histograms {
			counts = append(counts, histogram+suffixCount, histogram+suffixSum, histogram)
			buckets = append(buckets, histogram+suffixBucket)
		}
		if p.counter != "" {
			counts = append(counts, p.counter)
		}
		labels = append(labels, p.codeLabels...)
	}
	return distinct(counts), distinct(buckets), distinct(labels)
}

func distinct(values []string) []string {
	slices.Sort(values)
	return slices.Compact(values)
}
