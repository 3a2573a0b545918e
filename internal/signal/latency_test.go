package signal

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func TestLatencyOf(t *testing.T) {
	for name, tc := range map[string]struct {
		source v1alpha1.LatencySource
		want   Latency
	}{
		"none": {v1alpha1.LatencySource{}, Latency{"http_request_duration_seconds", "code"}},
		"promhttp": {v1alpha1.LatencySource{Preset: v1alpha1.LatencyPrometheusHTTP},
			Latency{"http_request_duration_seconds", "code"}},
		"OpenTelemetry": {v1alpha1.LatencySource{Preset: v1alpha1.LatencyOpenTelemetryHTTP},
			Latency{"http_server_request_duration_seconds", "http_response_status_code"}},
		"histogram": {v1alpha1.LatencySource{Histogram: "gin_request_duration"}, Latency{"gin_request_duration", "code"}},
		"histogram and label": {v1alpha1.LatencySource{Histogram: "rpc_seconds", CodeLabel: "status"},
			Latency{"rpc_seconds", "status"}},
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
