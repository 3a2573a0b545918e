package v1alpha1

// LatencyPreset names a well-known histogram of request durations, and the label or metric that tells failed requests.
// +kubebuilder:validation:Enum=Auto;PrometheusHTTP;Gin;Echo;OpenTelemetryHTTP;OpenTelemetryHTTPMilliseconds;PrometheusGRPC;OpenTelemetryGRPC;OpenTelemetryGRPCMilliseconds;Istio
type LatencyPreset string

const (
	// LatencyAuto takes the first of the others, in the order in which they are listed here, that the pods expose. status.target.latency says which.
	LatencyAuto LatencyPreset = "Auto"
	// LatencyPrometheusHTTP is http_request_duration_seconds with the status in the label code, as promhttp names it.
	LatencyPrometheusHTTP LatencyPreset = "PrometheusHTTP"
	// LatencyGin is gin_request_duration_seconds, or gin_request_duration, with the status in code or status.
	LatencyGin LatencyPreset = "Gin"
	// LatencyEcho is echo_request_duration_seconds with the status in code.
	LatencyEcho LatencyPreset = "Echo"
	// LatencyOpenTelemetryHTTP is http_server_request_duration_seconds with the status in http_response_status_code.
	LatencyOpenTelemetryHTTP LatencyPreset = "OpenTelemetryHTTP"
	// LatencyOpenTelemetryHTTPMilliseconds is the older http_server_duration_milliseconds with the status in http_status_code.
	LatencyOpenTelemetryHTTPMilliseconds LatencyPreset = "OpenTelemetryHTTPMilliseconds"
	// LatencyPrometheusGRPC is grpc_server_handling_seconds, with grpc_server_handled_total counting by grpc_code.
	LatencyPrometheusGRPC LatencyPreset = "PrometheusGRPC"
	// LatencyOpenTelemetryGRPC is rpc_server_call_duration_seconds with the status in rpc_response_status_code.
	LatencyOpenTelemetryGRPC LatencyPreset = "OpenTelemetryGRPC"
	// LatencyOpenTelemetryGRPCMilliseconds is the older rpc_server_duration_milliseconds with the status in rpc_grpc_status_code.
	LatencyOpenTelemetryGRPCMilliseconds LatencyPreset = "OpenTelemetryGRPCMilliseconds"
	// LatencyIstio is istio_request_duration_milliseconds as the pod's own sidecar reports it, with the status in response_code.
	LatencyIstio LatencyPreset = "Istio"
)

// LatencySource says which histogram, classic or native, counts the target's requests by duration and status. Requests with an HTTP status of
// 5xx, or a gRPC code that blames the server, have failed.
// +kubebuilder:validation:XValidation:rule="has(self.preset) != has(self.histogram)",message="set exactly one of preset and histogram"
// +kubebuilder:validation:XValidation:rule="!has(self.codeLabel) || has(self.histogram)",message="codeLabel goes with histogram; a preset brings its own"
type LatencySource struct {
	// preset names a well-known histogram.
	// +optional
	Preset LatencyPreset `json:"preset,omitempty"`
	// histogram is the name of a histogram in seconds, without _bucket.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_:][a-zA-Z0-9_:]*$`
	Histogram string `json:"histogram,omitempty"`
	// codeLabel is the label that holds the HTTP status of a request.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	CodeLabel string `json:"codeLabel,omitempty"`
}

// Metrics says where measurements come from.
type Metrics struct {
	// provider is the name of a Prometheus in the manager's configuration.
	// +optional
	// +kubebuilder:default=default
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Provider string `json:"provider,omitempty"`
	// latency names the histogram of the target's requests.
	// +optional
	// +kubebuilder:default={preset:Auto}
	Latency LatencySource `json:"latency,omitempty,omitzero"`
}
