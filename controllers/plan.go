package controllers

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/schedule"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/tuning"
)

// plan is a policy's spec in numbers.
type plan struct {
	rollout.Plan
	knobs     tuning.Knobs
	objective tuning.Objective
	rules     tuning.Rules
	strategy  tuning.Strategy
	cooldown  time.Duration
	windows   []schedule.Window
	// margins are those of the tier or the policy, before they are settled; maxMargin is what none is widened beyond.
	margins   map[v1alpha1.SignalName]float64
	maxMargin float64
	// queries of the policy's own, held to its namespace.
	queries []signal.CustomQuery
}

// newPlan resolves a spec. Its errors are for specs that the CRD's rules let through by mistake, or that were stored by an older CRD.
func newPlan(policy *v1alpha1.RuntimeTuningPolicy, replicas int) (plan, error) {
	spec := &policy.Spec
	p := plan{
		Plan: rollout.Plan{
			Interval:      duration(spec.Analysis.Interval),
			WarmUp:        duration(spec.Analysis.WarmUp),
			NoDataTimeout: duration(spec.Analysis.NoDataTimeout),
			ByHand:        spec.Rollout.Promotion.By == v1alpha1.PromotionManual,
			AtNextRollout: spec.Rollout.Promotion.As == v1alpha1.PromotionNextRollout,
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
	if p.SLOs, p.queries, err = objectives(spec.SLOs, policy.Namespace); err != nil {
		return plan{}, err
	}
	if p.windows, err = windows(spec.Schedule.Windows); err != nil {
		return plan{}, err
	}
	if err := p.settleAnalysis(spec.Analysis); err != nil {
		return plan{}, err
	}
	if err := p.settleTuning(spec); err != nil {
		return plan{}, err
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
	case duration(spec.Analysis.Breaker.For) <= 0:
		return "analysis.breaker.for"
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
