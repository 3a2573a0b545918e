package main

import "github.com/prometheus/client_golang/prometheus"

// Reasons for which a request fails.
const (
	reasonNoEndpoint = "no_endpoint"
	reasonTimeout    = "timeout"
	reasonConnection = "connection"
	reasonClientSide = "http_4xx"
	reasonServerSide = "http_5xx"
	reasonOther      = "http_other"
)

// metrics is what the generator says about itself and about the service as its clients see it.
type metrics struct {
	sent      prometheus.Counter
	succeeded prometheus.Counter
	failed    *prometheus.CounterVec
	dropped   prometheus.Counter
	latency   prometheus.Histogram
	lateness  prometheus.Histogram
	inFlight  prometheus.Gauge
}

// seconds are the edges for latency and lateness: those of the service, and finer ones between them.
var seconds = []float64{.001, .0025, .005, .0075, .01, .015, .025, .035, .05, .075, .1, .15, .25, .5, 1, 2.5, 5}

func newMetrics(registry prometheus.Registerer, endpoints *ring, requests *schedule) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds})
	}
	made := &metrics{
		sent:      counter("load_requests_sent_total", "Requests given to an endpoint."),
		succeeded: counter("load_requests_succeeded_total", "Requests answered with 2xx within the timeout."),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "load_requests_failed_total", Help: "Requests that failed, by reason.",
		}, []string{"reason"}),
		dropped: counter("load_requests_dropped_total", "Requests not sent because too many were under way."),
		latency: histogram("load_request_duration_seconds",
			"Time from when a request was due to its answer or failure."),
		lateness: histogram("load_request_lateness_seconds", "Time from when a request was due to its start."),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "load_requests_in_flight", Help: "Requests under way.",
		}),
	}
	registry.MustRegister(made.sent, made.succeeded, made.failed, made.dropped, made.latency, made.lateness, made.inFlight,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "load_endpoints", Help: "Endpoints that take turns.",
		}, func() float64 { return float64(endpoints.size()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "load_rate", Help: "Requests due a second.",
		}, requests.currentRate),
	)
	for _, reason := range []string{reasonNoEndpoint, reasonTimeout, reasonConnection, reasonClientSide, reasonServerSide, reasonOther} {
		made.failed.WithLabelValues(reason) // a reason that never occurred shows as 0, not as nothing
	}
	return made
}
