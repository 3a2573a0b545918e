package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// kind says how a figure is written for people.
type kind string

const (
	perRequest kind = "ms"
	share      kind = "%"
	bytes      kind = "MiB"
	count      kind = ""
)

// question is a figure to measure. Its PromQL has $pods for the selector's labels, $window for the range, and $edge for the
// bucket of the latency objective.
type question struct {
	name, promQL string
	kind         kind
}

const (
	requests = `sum(increase(http_request_duration_seconds_count{$pods}[$window]))`
	gcCPU    = `(sum(increase(go_cpu_classes_gc_total_cpu_seconds_total{$pods}[$window]))` +
		` - sum(increase(go_cpu_classes_gc_mark_idle_cpu_seconds_total{$pods}[$window])))`
	gcCPUPerRequest = "GC CPU per request"
	slowRequests    = "slow requests"
	requestCount    = "requests measured"
)

// questions are those of the table. They are the demonstration's own, not the operator's.
var questions = []question{
	{gcCPUPerRequest, gcCPU + " / " + requests, perRequest},
	{"all CPU per request", `sum(increase(process_cpu_seconds_total{$pods}[$window])) / ` + requests, perRequest},
	{slowRequests, `1 - sum(increase(http_request_duration_seconds_bucket{$pods,le="$edge"}[$window])) / ` + requests, share},
	{"latency, p99", `histogram_quantile(0.99, sum by (le) (increase(http_request_duration_seconds_bucket{$pods}[$window])))`, perRequest},
	{"memory (RSS) of a pod", `avg(avg_over_time(process_resident_memory_bytes{$pods}[$window]))`, bytes},
	{requestCount, requests, count},
}

// figure is an answer, with the question as it was asked.
type figure struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Value  float64 `json:"value"`
	PromQL string  `json:"promql"`
}

// sheet is what was measured of one set of pods, over one window.
type sheet struct {
	Settings string    `json:"settings"`
	Pods     []string  `json:"pods"`
	Until    time.Time `json:"until"`
	Window   string    `json:"window"`
	Figures  []figure  `json:"figures"`
}

func (s sheet) value(name string) float64 {
	for _, one := range s.Figures {
		if one.Name == name {
			return one.Value
		}
	}
	return math.NaN()
}

// meter asks Prometheus.
type meter struct {
	api     prometheus.API
	latency objective
}

func newMeter(address string, latency objective) (meter, error) {
	client, err := api.NewClient(api.Config{Address: address})
	if err != nil {
		return meter{}, fmt.Errorf("make a client of Prometheus at %s: %w", address, err)
	}
	return meter{api: prometheus.NewAPI(client), latency: latency}, nil
}

// measure asks all questions about the window that ends at a time.
func (m meter) measure(ctx context.Context, settings string, pods []string, until time.Time, window time.Duration) (sheet, error) {
	made := sheet{Settings: settings, Pods: sorted(pods), Until: until.UTC(), Window: model.Duration(window).String()}
	for _, asked := range questions {
		promQL := m.fill(asked.promQL, pods, window)
		value, err := m.number(ctx, promQL, made.Until)
		if err != nil {
			return sheet{}, fmt.Errorf("measure %s: %w", asked.name, err)
		}
		made.Figures = append(made.Figures, figure{Name: asked.name, Unit: asked.kind.unit(), Value: value, PromQL: promQL})
	}
	return made, nil
}

// fill names the pods one by one, so that no other pod's samples come in.
func (m meter) fill(promQL string, pods []string, window time.Duration) string {
	selector := fmt.Sprintf(`namespace=%q,pod=~%q`, policyName.Namespace, strings.Join(pods, "|"))
	return strings.NewReplacer("$pods", selector, "$window", model.Duration(window).String(), "$edge", m.latency.edge).Replace(promQL)
}

func (k kind) unit() string {
	switch k {
	case perRequest:
		return "seconds"
	case share:
		return "share"
	case bytes:
		return "bytes"
	default:
		return "requests"
	}
}

var errNoSample = errors.New("no sample")

// number asks for one number at a time.
func (m meter) number(ctx context.Context, promQL string, at time.Time) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	answer, _, _, err := m.api.Query(ctx, promQL, at)
	if err != nil {
		return 0, fmt.Errorf("ask Prometheus: %w", err)
	}
	samples, ok := answer.(model.Vector)
	if !ok || len(samples) > 1 {
		return 0, fmt.Errorf("ask Prometheus %s: got %s, want one number", promQL, answer.Type())
	}
	if len(samples) == 0 || math.IsNaN(float64(samples[0].Value)) || math.IsInf(float64(samples[0].Value), 0) {
		return 0, fmt.Errorf("ask Prometheus %s: %w", promQL, errNoSample)
	}
	return float64(samples[0].Value), nil
}
