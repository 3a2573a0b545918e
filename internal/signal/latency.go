package signal

import "github.com/gopacer/gopacer/api/v1alpha1"

// defaultCodeLabel holds the HTTP status where a policy names a histogram but no label; promhttp's middleware calls it so.
const defaultCodeLabel = "code"

// LatencyOf says which histogram a policy means. A source that names none is the API's default, PrometheusHTTP.
func LatencyOf(source v1alpha1.LatencySource) Latency {
	if source.Histogram != "" {
		code := source.CodeLabel
		if code == "" {
			code = defaultCodeLabel
		}
		return Latency{Histogram: source.Histogram, CodeLabel: code}
	}
	if source.Preset == v1alpha1.LatencyOpenTelemetryHTTP {
		// OpenTelemetry's http.server.request.duration and http.response.status_code, as otlptranslator writes them for Prometheus.
		return Latency{Histogram: "http_server_request_duration_seconds", CodeLabel: "http_response_status_code"}
	}
	return Latency{Histogram: "http_request_duration_seconds", CodeLabel: defaultCodeLabel}
}
