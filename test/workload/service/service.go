package main

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// latencyBuckets are the edges at which objectives lie; a share of slow requests is exact only at an edge.
var latencyBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}

// runtimeMetricsPattern names what the runtime measures beyond the Go collector's default.
var runtimeMetricsPattern = regexp.MustCompile(`^/(gc|cpu|sched|memory|sync).*`)

// service answers requests once its live heap stands, and until it drains.
type service struct {
	settings settings
	stock    atomic.Pointer[catalogue] // nil until the live heap is built
	draining atomic.Bool
}

// build makes the live heap, and with it the service ready.
func (s *service) build() {
	stock := newCatalogue(s.settings.liveHeapBytes)
	stock.market.get(stock)
	if s.settings.cacheEmpties {
		stock.market.emptyAtCollections()
	}
	s.stock.Store(stock)
}

// handler routes the service's endpoints. Only the work is measured: probes and scrapes are no requests of a user.
func (s *service) handler() http.Handler {
	registry := prometheus.NewRegistry()
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "http_request_duration_seconds",
		Help:    "Time from the start of a request's handler to its end.",
		Buckets: latencyBuckets,
	}, []string{"code", "method"})
	registry.MustRegister(duration, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	switch s.settings.metrics {
	case runtimeMetrics:
		registry.MustRegister(collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(
			collectors.GoRuntimeMetricsRule{Matcher: runtimeMetricsPattern})))
	case defaultGoMetrics:
		registry.MustRegister(collectors.NewGoCollector())
	}
	mux := http.NewServeMux()
	mux.Handle("/work", promhttp.InstrumentHandlerDuration(duration, http.HandlerFunc(s.work)))
	mux.HandleFunc("/healthz", s.health)
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}

// health is the readiness: it fails before the live heap stands, and again from the first moment of the drain.
func (s *service) health(response http.ResponseWriter, _ *http.Request) {
	switch {
	case s.draining.Load():
		http.Error(response, "draining", http.StatusServiceUnavailable)
	case s.stock.Load() == nil:
		http.Error(response, "building the live heap", http.StatusServiceUnavailable)
	default:
		response.WriteHeader(http.StatusOK)
	}
}

// work does one request, with the faults that the settings ask for.
func (s *service) work(response http.ResponseWriter, request *http.Request) {
	stock := s.stock.Load()
	if stock == nil {
		http.Error(response, "building the live heap", http.StatusServiceUnavailable)
		return
	}
	if s.settings.failing.take() {
		http.Error(response, "failing as ERROR_SHARE asks for", http.StatusInternalServerError)
		return
	}
	if s.settings.slow.take() {
		wait(request.Context(), s.settings.slowBy)
	}
	answer, err := serveDocument(stock, s.settings.documentLines)
	if err != nil {
		http.Error(response, err.Error(), http.StatusInternalServerError)
		return
	}
	response.Header().Set("Content-Type", "application/json")
	// An error here means that the client has gone; nobody is left to be told.
	_ = json.NewEncoder(response).Encode(answer)
}

// wait returns after a duration, or earlier when the context ends.
func wait(ctx context.Context, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
