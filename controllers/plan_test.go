package controllers

import (
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

func TestPlan(t *testing.T) {
	policy := newPolicy("policy")
	spec := &policy.Spec
	off := intstr.FromString("off")
	spec.Strategy = v1alpha1.Strategy{Type: v1alpha1.StrategyManual, Manual: &v1alpha1.ManualStrategy{Candidates: []v1alpha1.RuntimeSettings{{GOGC: &off}}}}
	spec.Knobs.GOGC.Mode = v1alpha1.KnobKeep
	p, err := newPlan(policy, 10)
	if err != nil {
		t.Fatal(err)
	}
	if p.Interval != 10*time.Second || p.WarmUp != 20*time.Second || p.NoDataTimeout != time.Minute || p.cooldown != time.Hour {
		t.Errorf("times %v %v %v %v", p.Interval, p.WarmUp, p.NoDataTimeout, p.cooldown)
	}
	if len(p.Steps) != 1 || p.Steps[0].Canary.IntValue() != 3 || p.Steps[0].Hold != 20*time.Second || p.MaxUnavailable.IntValue() != 1 {
		t.Errorf("steps %+v, maxUnavailable %s", p.Steps, p.MaxUnavailable.String())
	}
	if len(p.SLOs) != 2 || p.SLOs[0].ThresholdSeconds != 0.1 || math.Abs(p.SLOs[0].AllowedShare-0.01) > 1e-12 || p.SLOs[1].AllowedShare != 0.01 {
		t.Errorf("objectives %+v", p.SLOs)
	}
	if p.Gain.MinShare != 0.05 || p.Gain.MinCPUShare != 0.01 || p.objective.MinGain != 0.05 || p.objective.MinCPUGain != 0.01 || p.knobs.TuneGOGC || p.knobs.MaxGOGC != 200 || p.knobs.MemoryLimitShare != 0.9 {
		t.Errorf("gain %+v, knobs %+v", p.Gain, p.knobs)
	}
	if len(p.strategy.Manual) != 1 || p.strategy.Manual[0].GOGC != settings.Off {
		t.Errorf("candidates %+v", p.strategy.Manual)
	}
}

// TestPlanRefuses every form that the CRD's rules should have kept out.
func TestPlanRefuses(t *testing.T) {
	latency := func(threshold time.Duration, share v1alpha1.Percent) []v1alpha1.SLO {
		return []v1alpha1.SLO{{Name: "fast", Latency: &v1alpha1.LatencySLO{Threshold: metav1.Duration{Duration: threshold}, Target: share}}}
	}
	query := func(promQL, most string) []v1alpha1.SLO {
		return []v1alpha1.SLO{{Name: "queue", Query: &v1alpha1.QuerySLO{PromQL: promQL, Max: most}}}
	}
	type spec = v1alpha1.RuntimeTuningPolicySpec
	tests := map[string]struct {
		spoil func(*spec)
		word  string
	}{
		"no interval":         {func(s *spec) { s.Analysis.Interval = nil }, "analysis.interval"},
		"interval of nothing": {func(s *spec) { s.Analysis.Interval = seconds(0) }, "analysis.interval"},
		"interval backwards":  {func(s *spec) { s.Analysis.Interval = seconds(-5) }, "analysis.interval"},
		"no warm-up":          {func(s *spec) { s.Analysis.WarmUp = nil }, "analysis.warmUp"},
		"no timeout":          {func(s *spec) { s.Analysis.NoDataTimeout = nil }, "analysis.noDataTimeout"},
		"no cooldown":         {func(s *spec) { s.Schedule.Cooldown = nil }, "schedule.cooldown"},
		"no maxUnavailable":   {func(s *spec) { s.Rollout.MaxUnavailable = nil }, "rollout.maxUnavailable"},
		"bad maxUnavailable":  {func(s *spec) { s.Rollout.MaxUnavailable = ptr.To(intstr.FromString("some")) }, "rollout.maxUnavailable"},
		"none unavailable":    {func(s *spec) { s.Rollout.MaxUnavailable = ptr.To(intstr.FromInt32(0)) }, "rollout.maxUnavailable"},
		"unknown steps":       {func(s *spec) { s.Rollout = v1alpha1.Rollout{Preset: "Bold", MaxUnavailable: s.Rollout.MaxUnavailable} }, "rollout.preset"},
		"no breaker":          {func(s *spec) { s.Analysis.Breaker.For = nil }, "analysis.breaker.for"},
		"breaker in words":    {func(s *spec) { s.Analysis.Breaker.Errors = "most" }, "spec.analysis.breaker.errors"},
		"unknown tier":        {func(s *spec) { s.Analysis.Tier = "Gold" }, "spec.analysis.tier"},
		"margin in words":     {func(s *spec) { s.Analysis.Margins.CPU = "some" }, "spec.analysis.margins.cpu"},
		"most in words":       {func(s *spec) { s.Analysis.Margins.Max = "any" }, "spec.analysis.margins.max"},
		"quota in words":      {func(s *spec) { s.Strategy.Feedback.QuotaUse = "most" }, "spec.strategy.feedback.quotaUse"},
		"query of no PromQL":  {func(s *spec) { s.SLOs = query("up{", "1") }, "spec.slos[queue]"},
		"query of no number":  {func(s *spec) { s.SLOs = query("up", "many") }, "spec.slos[queue]"},
		"another namespace":   {func(s *spec) { s.SLOs = query(`up{namespace="bank"}`, "1") }, "spec.slos[queue]"},
		"no hold":             {func(s *spec) { s.Rollout.Steps[0].Hold = nil }, "rollout.steps[0].hold"},
		"no canary":           {func(s *spec) { s.Rollout.Steps[0].Canary = intstr.IntOrString{} }, "rollout.steps[0].canary"},
		"canary in words":     {func(s *spec) { s.Rollout.Steps[0].Canary = intstr.FromString("half") }, "rollout.steps[0].canary"},
		"canary below none":   {func(s *spec) { s.Rollout.Steps[0].Canary = intstr.FromInt32(-1) }, "rollout.steps[0].canary"},
		"empty objective":     {func(s *spec) { s.SLOs = []v1alpha1.SLO{{Name: "fast"}} }, "spec.slos[fast]"},
		"both objectives":     {func(s *spec) { s.SLOs[0].Errors = s.SLOs[1].Errors }, "spec.slos[latency]"},
		"threshold of 0":      {func(s *spec) { s.SLOs = latency(0, "99%") }, "spec.slos[fast]"},
		"target in words":     {func(s *spec) { s.SLOs = latency(time.Second, "most") }, "spec.slos[fast]"},
		"errors of no number": {func(s *spec) { s.SLOs[1].Errors.Max = "NaN%" }, "spec.slos[errors]"},
		"errors below none":   {func(s *spec) { s.SLOs[1].Errors.Max = "-1%" }, "spec.slos[errors]"},
		"errors above all":    {func(s *spec) { s.SLOs[1].Errors.Max = "101%" }, "spec.slos[errors]"},
		"no gain":             {func(s *spec) { s.Objective.MinGain = "" }, "objective.minGain"},
		"infinite gain":       {func(s *spec) { s.Objective.MinGain = "Inf%" }, "objective.minGain"},
		"no share of memory":  {func(s *spec) { s.Knobs.GOMEMLIMIT.PercentOfLimit = "" }, "percentOfLimit"},
		"manual without list": {func(s *spec) { s.Strategy.Type = v1alpha1.StrategyManual }, "spec.strategy"},
		"list without manual": {func(s *spec) { s.Strategy.Manual = &v1alpha1.ManualStrategy{} }, "spec.strategy"},
		"candidate in words": {func(s *spec) {
			bad := intstr.FromString("high")
			s.Strategy = v1alpha1.Strategy{Type: v1alpha1.StrategyManual, Manual: &v1alpha1.ManualStrategy{Candidates: []v1alpha1.RuntimeSettings{{GOGC: &bad}}}}
		}, "candidates[0]"},
	}
	for name, test := range tests {
		policy := newPolicy("policy")
		test.spoil(&policy.Spec)
		p, err := newPlan(policy, 10)
		if err == nil || !strings.Contains(err.Error(), test.word) {
			t.Errorf("%s: %v, want a word on %s", name, err, test.word)
		}
		if err != nil && (len(p.Steps) > 0 || p.strategy.Manual != nil) {
			t.Errorf("%s: an error and a plan", name)
		}
	}
}

func TestShare(t *testing.T) {
	for text, want := range map[v1alpha1.Percent]float64{"0%": 0, "100%": 1, "5%": 0.05, "0.05%": 0.0005} {
		if got, err := share(text); err != nil || math.Abs(got-want) > 1e-15 {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
}

// TestTiers: what a tier presets, and what a policy overrides of it.
func TestTiers(t *testing.T) {
	for name, test := range map[string]struct {
		analysis                    v1alpha1.Analysis
		latency, cpu, startup, most float64
	}{
		"none":     {v1alpha1.Analysis{}, 0.03, 0.02, 0.25, 0.10},
		"Critical": {v1alpha1.Analysis{Tier: v1alpha1.TierCritical}, 0.03, 0.02, 0.25, 0.05},
		"Batch":    {v1alpha1.Analysis{Tier: v1alpha1.TierBatch}, 0.09, 0.06, 0.25, 0.25},
		"overridden": {v1alpha1.Analysis{Tier: v1alpha1.TierBatch, Margins: v1alpha1.Margins{Latency: "4%", CPU: "1%", Max: "50%"}},
			0.04, 0.01, 0.25, 0.50},
	} {
		policy := newPolicy("policy")
		policy.Spec.Analysis.Tier, policy.Spec.Analysis.Margins = test.analysis.Tier, test.analysis.Margins
		p, err := newPlan(policy, 10)
		if err != nil {
			t.Fatal(err)
		}
		got := []float64{p.margins[v1alpha1.SignalRequestLatency], p.margins[v1alpha1.SignalCPUPerRequest], p.margins[v1alpha1.SignalStartupTime], p.maxMargin}
		for i, want := range []float64{test.latency, test.cpu, test.startup, test.most} {
			if math.Abs(got[i]-want) > 1e-12 {
				t.Errorf("tier %s: margins %v, want %v, %v, %v and %v at most", name, got, test.latency, test.cpu, test.startup, test.most)
				break
			}
		}
	}
}
