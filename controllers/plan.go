package controllers

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/tuning"
	"github.com/gopacer/gopacer/internal/verdict"
)

// minCPUGain is the least share of all CPU time that a candidate must save: below it nobody notices.
const minCPUGain = 0.01

// defaultMinGOGC and defaultMaxGOGC bound Feedback where a policy does not.
const (
	defaultMinGOGC = 25
	defaultMaxGOGC = 200
)

// plan is a policy's spec in numbers.
type plan struct {
	rollout.Plan
	knobs    tuning.Knobs
	strategy tuning.Strategy
	cooldown time.Duration
}

// newPlan resolves a spec. Its errors are for specs that the CRD's rules let through by mistake, or that were stored by an older CRD.
func newPlan(spec *v1alpha1.RuntimeTuningPolicySpec, replicas int) (plan, error) {
	p := plan{
		Plan: rollout.Plan{
			Interval:      duration(spec.Analysis.Interval),
			WarmUp:        duration(spec.Analysis.WarmUp),
			NoDataTimeout: duration(spec.Analysis.NoDataTimeout),
		},
		cooldown: duration(spec.Schedule.Cooldown),
	}
	if missing := missingDefault(spec); missing != "" {
		return plan{}, fmt.Errorf("spec lacks %s: install the CRD of this version, which fills in defaults", missing)
	}
	var err error
	if p.MaxUnavailable, err = countOrPercent(*spec.Rollout.MaxUnavailable); err != nil {
		return plan{}, fmt.Errorf("spec.rollout.maxUnavailable: %w", err)
	}
	if p.Steps, err = steps(spec.Rollout, replicas); err != nil {
		return plan{}, err
	}
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
	p.strategy.Type = spec.Strategy.Type
	if p.strategy.Manual, err = candidates(spec.Strategy); err != nil {
		return plan{}, err
	}
	if spec.Strategy.Sweep != nil {
		p.strategy.Ladder = spec.Strategy.Sweep.Ladder
	}
	return p, nil
}

// missingDefault names what the CRD fills in and a trial can't do without. A duration of nothing is not the same as none.
func missingDefault(spec *v1alpha1.RuntimeTuningPolicySpec) string {
	switch {
	case duration(spec.Analysis.Interval) <= 0:
		return "analysis.interval"
	case spec.Analysis.WarmUp == nil:
		return "analysis.warmUp"
	case spec.Analysis.NoDataTimeout == nil:
		return "analysis.noDataTimeout"
	case spec.Schedule.Cooldown == nil:
		return "schedule.cooldown"
	case spec.Rollout.MaxUnavailable == nil:
		return "rollout.maxUnavailable"
	}
	for i, step := range spec.Rollout.Steps {
		if step.Hold == nil {
			return fmt.Sprintf("rollout.steps[%d].hold", i)
		}
	}
	return ""
}

// steps are those that the policy lists, or its preset's for so many replicas.
func steps(spec v1alpha1.Rollout, replicas int) ([]rollout.Step, error) {
	if len(spec.Steps) == 0 {
		preset, err := rollout.PresetSteps(spec.Preset, replicas)
		if err != nil {
			return nil, fmt.Errorf("spec.rollout.preset: %w", err)
		}
		return preset, nil
	}
	var listed []rollout.Step
	for i, step := range spec.Steps {
		canary, err := countOrPercent(step.Canary)
		if err != nil {
			return nil, fmt.Errorf("spec.rollout.steps[%d].canary: %w", i, err)
		}
		listed = append(listed, rollout.Step{Canary: canary, Hold: duration(step.Hold)})
	}
	return listed, nil
}

func countOrPercent(value intstr.IntOrString) (intstr.IntOrString, error) {
	if scaled, err := intstr.GetScaledValueFromIntOrPercent(&value, 100, true); err != nil || scaled < 1 {
		return value, fmt.Errorf("%q is neither a count from 1 on nor a percentage from 1%% on", value.String())
	}
	return value, nil
}

func objectives(slos []v1alpha1.SLO) ([]verdict.SLO, error) {
	var resolved []verdict.SLO
	for _, slo := range slos {
		one := verdict.SLO{Name: slo.Name}
		var err error
		switch {
		case slo.Latency != nil && slo.Errors == nil && slo.Latency.Threshold.Duration > 0:
			var target float64
			target, err = share(slo.Latency.Target)
			one.ThresholdSeconds, one.AllowedShare = slo.Latency.Threshold.Seconds(), 1-target
		case slo.Errors != nil && slo.Latency == nil:
			one.AllowedShare, err = share(slo.Errors.Max)
		default:
			err = errors.New("set exactly one of latency, with a threshold above 0s, and errors")
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
		MinGOGC:  settings.GOGC(cmp.Or(spec.GOGC.Min, defaultMinGOGC)), MaxGOGC: settings.GOGC(cmp.Or(spec.GOGC.Max, defaultMaxGOGC)),
		ExplicitMin: settings.GOGC(spec.GOGC.Min), ExplicitMax: settings.GOGC(spec.GOGC.Max),
		TuneMemoryLimit: spec.GOMEMLIMIT.Mode == v1alpha1.KnobTune, MemoryLimitShare: limit,
		TuneProcessors: spec.GOMAXPROCS.Mode == v1alpha1.KnobTune, MaxProcessors: spec.GOMAXPROCS.Max,
	}, nil
}

// candidates are nil but for the Manual strategy.
func candidates(strategy v1alpha1.Strategy) ([]settings.Settings, error) {
	if (strategy.Type == v1alpha1.StrategyManual) != (strategy.Manual != nil) {
		return nil, errors.New("spec.strategy: set manual if, and only if, type is Manual")
	}
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
	if err != nil || !(number >= 0 && number <= 100) { // NaN is neither
		return 0, fmt.Errorf("%q is not a percentage between 0%% and 100%%", percent)
	}
	return number / 100, nil
}
