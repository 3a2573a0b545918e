package prometheus

import (
	"time"

	instrument "github.com/prometheus/client_golang/prometheus"
)

// metrics count the queries. The labels are bounded: providers come from the configuration, results from a closed list.
type metrics struct {
	queries  *instrument.CounterVec
	duration *instrument.HistogramVec
}

func newMetrics(registerer instrument.Registerer, providers []string) (*metrics, error) {
	m := &metrics{
		queries: instrument.NewCounterVec(instrument.CounterOpts{
			Name: "gopacer_prometheus_queries_total",
			Help: "Queries to Prometheus by provider and result.",
		}, []string{"provider", "result"}),
		duration: instrument.NewHistogramVec(instrument.HistogramOpts{
			Name:    "gopacer_prometheus_query_duration_seconds",
			Help:    "Time that a query to Prometheus took, with its retry.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"provider"}),
	}
	for _, collector := range []instrument.Collector{m.queries, m.duration} {
		if err := registerer.Register(collector); err != nil {
			return nil, err
		}
	}
	// From the start, so that the first error is an increase that a query can see.
	for _, provider := range providers {
		m.duration.WithLabelValues(provider)
		for _, result := range results() {
			m.queries.WithLabelValues(provider, string(result))
		}
	}
	return m, nil
}

func (m *metrics) observe(provider string, outcome result, duration time.Duration) {
	m.queries.WithLabelValues(provider, string(outcome)).Inc()
	m.duration.WithLabelValues(provider).Observe(duration.Seconds())
}
