package controllers

import (
	"testing"
	"time"

	instrument "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

func TestMetrics(t *testing.T) {
	registry := instrument.NewPedanticRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewMetrics(registry); err == nil {
		t.Error("registered twice")
	}
	policy := newPolicy("policy")
	policy.Namespace = "shop"
	name := types.NamespacedName{Namespace: "shop", Name: "policy"}
	policy.Status.Trial = &v1alpha1.Trial{}
	policy.Status.Baseline = promotedBaseline(150, 25)
	policy.Status.Baseline.Settings = settings.Settings{GOGC: settings.Off, MemoryLimitBytes: 1 << 30}.API()
	m.show(policy)
	m.sawWindow(name, time.Unix(1000, 0))
	m.sawGCShare(name, 0.25)
	for _, want := range []struct {
		gauge *instrument.GaugeVec
		value float64
	}{{m.running, 1}, {m.gogc, -1}, {m.memoryLimit, 1 << 30}, {m.observed, 1000}, {m.gcShare, 0.25}} {
		if got := testutil.ToFloat64(want.gauge.WithLabelValues("shop", "policy")); got != want.value {
			t.Errorf("%v, want %v", got, want.value)
		}
	}
	policy.Status.Trial = nil
	policy.Status.Baseline.Settings = settings.Settings{}.API()
	m.show(policy)
	if testutil.ToFloat64(m.running) != 0 || testutil.ToFloat64(m.gogc) != 100 || testutil.CollectAndCount(m.memoryLimit) != 0 {
		t.Error("the gauges do not follow the status")
	}
	m.forget(name)
	for _, gauge := range []*instrument.GaugeVec{m.gogc, m.memoryLimit, m.running, m.observed, m.gcShare} {
		if testutil.CollectAndCount(gauge) != 0 {
			t.Error("a policy that is gone is shown")
		}
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// TestMetricsOfTrial: what a trial and its policy leave behind is counted and bounded.
func TestMetricsOfTrial(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	w.run(ended)
	m := w.reconciler.Metrics
	if got := testutil.ToFloat64(m.trials.WithLabelValues("Promoted", "Promoted")); got != 1 {
		t.Errorf("%v trials", got)
	}
	if got := testutil.ToFloat64(m.evictions.WithLabelValues(evicted)); got != 9 {
		t.Errorf("%v evictions, want 3 canary, 3 control and 3 other pods", got)
	}
	if testutil.ToFloat64(m.verdicts.WithLabelValues("Pass")) == 0 || testutil.ToFloat64(m.gogc) != 35 {
		t.Error("the verdict or the baseline is not shown")
	}
	w.delete()
	w.runGone()
	if testutil.CollectAndCount(m.running) != 0 || testutil.CollectAndCount(m.gogc) != 0 {
		t.Error("the policy is gone, and still shown")
	}
}
