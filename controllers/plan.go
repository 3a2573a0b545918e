package controllers

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/tuning"
	"github.com/gopacer/gopacer/internal/verdict"
)

// minCPUGain is the least share of all CPU time that a candidate must save: below it nobody notices.
const minCPUGain = 0.01

// plan is a policy's spec in numbers.
type plan struct {
	rollout.Plan
	knobs    tuning.Knobs
	manual   []settings.Settings
	cooldown time.Duration
}

// newPlan resolves a spec. Its errors are for specs that the CRD's rules let through by mistake, or that were stored by an older CRD.
func newPlan(spec *v1alpha1.RuntimeTuningPolicySpec) (plan, error) {
	p := plan{
		Plan: rollout.Plan{
			Interval:      duration(spec.Analysis.Interval),
			WarmUp:        duration(spec.Analysis.WarmUp),
			NoDataTimeout: duration(spec.Analysis.NoDataTimeout),
		},
		cooldown: duration(spec.Schedule.Cooldown),
	}
	if p.Interval <= 0 || len(spec.Rollout.Steps) == 0 || spec.Rollout.MaxUnavailable == nil {
		return plan{}, fmt.Errorf("spec lacks analysis.interval, rollout.steps or rollout.maxUnavailable: install the CRD of this version, which fills in defaults")
	}
	p.MaxUnavailable = *spec.Rollout.MaxUnavailable
	for _, step := range spec.Rollout.Steps {
		p.Steps = append(p.Steps, rollout.Step{Canary: step.Canary, Hold: duration(step.Hold)})
	}
	var err error
	if p.SLOs, err = objectives(spec.SLOs); err != nil {
		return plan{}, err
	}
	if p.Gain.MinShare, err = share(spec.Objective.MinGain); err != nil {
		return plan{}, fmt.Errorf("spec.objective.minGain: %w", err)
	}
	p.Gain.MinCPUShare = minCPUGain
	if p.knobs, err = knobs(spec.Knobs); err != nil {
		return plan{}, err
	}
	p.manual, err = candidates(spec.Strategy)
	return p, err
}

func objectives(slos []v1alpha1.SLO) ([]verdict.SLO, error) {
	var resolved []verdict.SLO
	for _, slo := range slos {
		one := verdict.SLO{Name: slo.Name}
		var err error
		switch {
		case slo.Latency != nil:
			var target float64
			target, err = share(slo.Latency.Target)
			one.ThresholdSeconds, one.AllowedShare = slo.Latency.Threshold.Seconds(), 1-target
		case slo.Errors != nil:
			one.AllowedShare, err = share(slo.Errors.Max)
		}
		if err != nil {
			return nil, fmt.Errorf("spec.slos[%s]: %w", slo.Name, err)
		}
		resolved = append(resolved, one)
	}
	return resolved, nil
}

func knobs(spec v1alpha1.Knobs) (tuning.Knobs, error) {
	limit, err := share(spec.GOMEMLIMIT.PercentOfLimit)
	if err != nil {
		return tuning.Knobs{}, fmt.Errorf("spec.knobs.gomemlimit.percentOfLimit: %w", err)
	}
	return tuning.Knobs{
		TuneGOGC: spec.GOGC.Mode == v1alpha1.KnobTune,
		MinGOGC:  settings.GOGC(spec.GOGC.Min), MaxGOGC: settings.GOGC(spec.GOGC.Max),
		TuneMemoryLimit: spec.GOMEMLIMIT.Mode == v1alpha1.KnobTune, MemoryLimitShare: limit,
	}, nil
}

// candidates are nil but for the Manual strategy.
func candidates(strategy v1alpha1.Strategy) ([]settings.Settings, error) {
	if strategy.Manual == nil {
		return nil, nil
	}
	list := make([]settings.Settings, 0, len(strategy.Manual.Candidates))
	for i, candidate := range strategy.Manual.Candidates {
		parsed, err := settings.FromAPI(candidate)
		if err != nil {
			return nil, fmt.Errorf("spec.strategy.manual.candidates[%d]: %w", i, err)
		}
		list = append(list, parsed)
	}
	return list, nil
}

func duration(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

// share reads 5% as 0.05.
func share(percent v1alpha1.Percent) (float64, error) {
	number, err := strconv.ParseFloat(strings.TrimSuffix(string(percent), "%"), 64)
	if err != nil || number < 0 || number > 100 {
		return 0, fmt.Errorf("%q is not a percentage between 0%% and 100%%", percent)
	}
	return number / 100, nil
}
