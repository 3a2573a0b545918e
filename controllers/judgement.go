package controllers

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/signal/promql"
	"github.com/gopacer/gopacer/internal/verdict"
)

// tier is what a service tier presets: how much wider than usual the margins are, and what they are never widened beyond.
type tier struct{ factor, most float64 }

func tierOf(name v1alpha1.Tier) (tier, error) {
	switch name {
	case v1alpha1.TierCritical:
		return tier{1, 0.05}, nil
	case v1alpha1.TierStandard, "":
		return tier{1, 0.10}, nil
	case v1alpha1.TierBatch:
		return tier{3, 0.25}, nil
	}
	return tier{}, fmt.Errorf("spec.analysis.tier %q is not known: use %s, %s or %s", name, v1alpha1.TierCritical, v1alpha1.TierStandard, v1alpha1.TierBatch)
}

// usualMargins are how much worse a canary may be where the policy does not say, times a tier's factor, but for the time to start. Errors have none: what they may
// rise by is absolute.
func usualMargins(factor float64) map[v1alpha1.SignalName]float64 {
	return map[v1alpha1.SignalName]float64{
		v1alpha1.SignalRequestLatency: 0.03 * factor, v1alpha1.SignalTailLatency: 0.10 * factor, v1alpha1.SignalSlowRequests: 0.10 * factor,
		v1alpha1.SignalErrors: 0, v1alpha1.SignalCPUPerRequest: 0.02 * factor, v1alpha1.SignalStartupTime: 0.25,
	}
}

// settleAnalysis resolves how trials are judged.
func (p *plan) settleAnalysis(spec v1alpha1.Analysis) error {
	preset, err := tierOf(spec.Tier)
	if err != nil {
		return err
	}
	p.margins, p.maxMargin = usualMargins(preset.factor), preset.most
	for field, override := range map[string]struct {
		percent v1alpha1.Percent
		signals []v1alpha1.SignalName
	}{
		"latency":      {spec.Margins.Latency, []v1alpha1.SignalName{v1alpha1.SignalRequestLatency}},
		"cpu":          {spec.Margins.CPU, []v1alpha1.SignalName{v1alpha1.SignalCPUPerRequest}},
		"slowRequests": {spec.Margins.SlowRequests, []v1alpha1.SignalName{v1alpha1.SignalSlowRequests, v1alpha1.SignalTailLatency}},
	} {
		if override.percent == "" {
			continue
		}
		allowed, err := share(override.percent)
		if err != nil {
			return fmt.Errorf("spec.analysis.margins.%s: %w", field, err)
		}
		for _, name := range override.signals {
			p.margins[name] = allowed
		}
	}
	if spec.Margins.Max != "" {
		if p.maxMargin, err = share(spec.Margins.Max); err != nil {
			return fmt.Errorf("spec.analysis.margins.max: %w", err)
		}
	}
	if p.Breaker.Share, err = share(spec.Breaker.Errors); err != nil {
		return fmt.Errorf("spec.analysis.breaker.errors: %w", err)
	}
	p.Breaker.Length = duration(spec.Breaker.For)
	p.GoodWindows = max(1, int(spec.GoodWindows))
	return nil
}

// objectives resolves the SLOs; a query of one's own is held to the policy's namespace.
func objectives(slos []v1alpha1.SLO, namespace string) ([]verdict.SLO, []signal.CustomQuery, error) {
	var resolved []verdict.SLO
	var queries []signal.CustomQuery
	for _, slo := range slos {
		one := verdict.SLO{Name: slo.Name}
		var err error
		switch {
		case slo.Latency != nil && slo.Errors == nil && slo.Query == nil && slo.Latency.Threshold.Duration > 0:
			var target float64
			target, err = share(slo.Latency.Target)
			one.ThresholdSeconds, one.AllowedShare = slo.Latency.Threshold.Seconds(), 1-target
		case slo.Errors != nil && slo.Latency == nil && slo.Query == nil:
			one.AllowedShare, err = share(slo.Errors.Max)
		case slo.Query != nil && slo.Latency == nil && slo.Errors == nil:
			one.Query = true
			var held string
			if held, err = promql.EnforceNamespace(slo.Query.PromQL, namespace); err == nil {
				queries = append(queries, signal.CustomQuery{Name: slo.Name, PromQL: held})
				one.Max, err = strconv.ParseFloat(slo.Query.Max, 64)
			}
		default:
			err = errors.New("set exactly one of latency, with a threshold above 0s, errors and query")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("spec.slos[%s]: %w", slo.Name, err)
		}
		resolved = append(resolved, one)
	}
	return resolved, queries, nil
}

// latencyThresholdSeconds is that of the first latency objective; 0 where there is none.
func (p plan) latencyThresholdSeconds() float64 {
	for _, slo := range p.SLOs {
		if slo.ThresholdSeconds > 0 {
			return slo.ThresholdSeconds
		}
	}
	return 0
}
