package controllers

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// Metrics are the reconciler's own. Labels are bounded by the policies and by the closed list of reasons.
type Metrics struct {
	trials      *prometheus.CounterVec
	verdicts    *prometheus.CounterVec
	evictions   *prometheus.CounterVec
	gogc        *prometheus.GaugeVec
	memoryLimit *prometheus.GaugeVec
	running     *prometheus.GaugeVec
	observed    *prometheus.GaugeVec
	gcShare     *prometheus.GaugeVec
	// keepFailures has no labels: one is as bad as another.
	keepFailures prometheus.Counter
}

// Results of an eviction.
const (
	evicted = "evicted"
	blocked = "blocked"
	failed  = "error"
)

// NewMetrics registers the metrics.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"namespace", "policy"})
	}
	m := &Metrics{
		trials:      counter("gopacer_trials_total", "Trials that ended, by result and reason.", "result", "reason"),
		verdicts:    counter("gopacer_verdicts_total", "Verdicts over running trials, by outcome.", "outcome"),
		evictions:   counter("gopacer_evictions_total", "Evictions that were asked for, by result: evicted, blocked, error.", "result"),
		gogc:        gauge("gopacer_baseline_gogc_percent", "GOGC that every pod of the target should run; -1 for off."),
		memoryLimit: gauge("gopacer_baseline_gomemlimit_bytes", "GOMEMLIMIT that every pod of the target should run; absent where none is set."),
		running:     gauge("gopacer_trial_running", "1 while a trial of the policy runs, in any stage."),
		observed:    gauge("gopacer_last_observation_timestamp_seconds", "Unix time of the newest answer of Prometheus about the policy's target."),
		gcShare:     gauge("gopacer_target_gc_cpu_share", "Share of the target's CPU time that the garbage collector takes, from 0 to 1."),
		keepFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gopacer_baseline_write_failures_total", Help: "Writes of RuntimeBaselines that failed; each is tried again at the policy's next look.",
		}),
	}
	for _, collector := range []prometheus.Collector{m.trials, m.verdicts, m.evictions, m.gogc, m.memoryLimit, m.running, m.observed, m.gcShare, m.keepFailures} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register a metric of the reconciler: %w", err)
		}
	}
	for _, result := range []string{evicted, blocked, failed} {
		m.evictions.WithLabelValues(result)
	}
	for _, outcome := range []v1alpha1.Outcome{v1alpha1.OutcomePass, v1alpha1.OutcomeFail, v1alpha1.OutcomeInconclusive, v1alpha1.OutcomeInvalid} {
		m.verdicts.WithLabelValues(string(outcome))
	}
	return m, nil
}

// show sets the gauges of a policy to what its status says.
func (m *Metrics) show(policy *v1alpha1.RuntimeTuningPolicy) {
	labels := prometheus.Labels{"namespace": policy.Namespace, "policy": policy.Name}
	running := 0.0
	if policy.Status.Trial != nil {
		running = 1
	}
	m.running.With(labels).Set(running)
	m.gogc.Delete(labels)
	m.memoryLimit.Delete(labels)
	if policy.Status.Baseline == nil {
		return
	}
	baseline, err := settings.FromAPI(policy.Status.Baseline.Settings)
	if err != nil {
		return
	}
	m.gogc.With(labels).Set(float64(baseline.EffectiveGOGC()))
	if baseline.MemoryLimitBytes != 0 {
		m.memoryLimit.With(labels).Set(float64(baseline.MemoryLimitBytes))
	}
}

func (m *Metrics) sawWindow(policy types.NamespacedName, at time.Time) {
	m.observed.WithLabelValues(policy.Namespace, policy.Name).Set(float64(at.Unix()))
}

func (m *Metrics) sawGCShare(policy types.NamespacedName, gcShare float64) {
	m.gcShare.WithLabelValues(policy.Namespace, policy.Name).Set(gcShare)
}

// forget drops the gauges of a policy that is gone.
func (m *Metrics) forget(policy types.NamespacedName) {
	for _, gauge := range []*prometheus.GaugeVec{m.gogc, m.memoryLimit, m.running, m.observed, m.gcShare} {
		gauge.DeleteLabelValues(policy.Namespace, policy.Name)
	}
}
