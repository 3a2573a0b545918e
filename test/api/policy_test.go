package api_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

const immutableTarget = "targetRef is immutable: delete this policy and create another"

var checkout = v1alpha1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "checkout"}

func duration(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// defaulted is the spec of a policy that names nothing but its target.
func defaulted() v1alpha1.RuntimeTuningPolicySpec {
	one := intstr.FromInt32(1)
	return v1alpha1.RuntimeTuningPolicySpec{
		TargetRef: checkout,
		Mode:      v1alpha1.ModeObserve,
		Suspend:   v1alpha1.SuspendNone,
		Knobs: v1alpha1.Knobs{
			GOGC:       v1alpha1.GOGCKnob{Mode: v1alpha1.KnobTune},
			GOMEMLIMIT: v1alpha1.GOMEMLIMITKnob{Mode: v1alpha1.KnobTune, PercentOfLimit: "90%"},
			GOMAXPROCS: v1alpha1.GOMAXPROCSKnob{Mode: v1alpha1.KnobKeep, Max: 64},
		},
		Objective: v1alpha1.Objective{Minimize: v1alpha1.MinimizeGCCPU, MinGain: "5%"},
		Strategy:  v1alpha1.Strategy{Type: v1alpha1.StrategyFeedback},
		Analysis: v1alpha1.Analysis{
			Interval:      duration(30 * time.Second),
			WarmUp:        duration(2 * time.Minute),
			NoDataTimeout: duration(10 * time.Minute),
			Tier:          v1alpha1.TierStandard,
			GoodWindows:   3,
			Breaker:       v1alpha1.Breaker{Errors: "40%", For: duration(time.Minute)},
		},
		Rollout: v1alpha1.Rollout{
			MaxUnavailable: &one, Replacement: v1alpha1.ReplacementSurge,
			Promotion: v1alpha1.Promotion{By: v1alpha1.PromotionAutomatic, As: v1alpha1.PromotionWaves},
		},
		Schedule: v1alpha1.Schedule{Cooldown: duration(time.Hour)},
		Metrics: v1alpha1.Metrics{
			Provider: "default",
			Latency:  v1alpha1.LatencySource{Preset: v1alpha1.LatencyAuto},
		},
		DeletionPolicy: v1alpha1.DeletionRestore,
	}
}

// smallest is the policy of config/samples/smallest.yaml, with its defaults.
func smallest() v1alpha1.RuntimeTuningPolicySpec {
	spec := defaulted()
	spec.Mode = v1alpha1.ModeRecommend
	spec.SLOs = []v1alpha1.SLO{
		{Name: "latency", Latency: &v1alpha1.LatencySLO{Threshold: *duration(250 * time.Millisecond), Target: "99%"}},
		{Name: "errors", Errors: &v1alpha1.ErrorsSLO{Max: "1%"}},
	}
	return spec
}

func TestDefaults(t *testing.T) {
	object := readObject(t, repository+"/config/samples/smallest.yaml")
	create(t, object)
	var got v1alpha1.RuntimeTuningPolicy
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(object), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(smallest(), got.Spec); diff != "" {
		t.Errorf("spec of the smallest policy (-want +got):\n%s", diff)
	}
}

// TestGoClient sends policies as a Go program builds them, where a structure left alone has the zero value.
func TestGoClient(t *testing.T) {
	cases := map[string]struct {
		change func(*v1alpha1.RuntimeTuningPolicySpec) // of the spec that is sent, and of the defaults that are expected back
	}{
		"only a target": {change: func(*v1alpha1.RuntimeTuningPolicySpec) {}},
		"one field in each structure": {change: func(spec *v1alpha1.RuntimeTuningPolicySpec) {
			spec.Knobs.GOGC.Max = 400
			spec.Objective.MinGain = "10%"
			spec.Analysis.WarmUp = duration(0)
			spec.Analysis.Margins.CPU = "1%"
			spec.Analysis.Breaker.Errors = "25%"
			spec.Knobs.GOMAXPROCS.Max = 8
			spec.Rollout.Preset = v1alpha1.StepsGradual
			spec.Schedule.Cooldown = duration(0)
			spec.Metrics.Provider = "team-a"
		}},
		"a histogram of its own": {change: func(spec *v1alpha1.RuntimeTuningPolicySpec) {
			spec.Metrics.Latency = v1alpha1.LatencySource{Histogram: "rpc_duration_seconds", CodeLabel: "status"}
		}},
		"manual candidates": {change: func(spec *v1alpha1.RuntimeTuningPolicySpec) {
			off, limit := intstr.FromString("off"), resource.MustParse("512Mi")
			spec.Strategy = v1alpha1.Strategy{Type: v1alpha1.StrategyManual, Manual: &v1alpha1.ManualStrategy{
				Candidates: []v1alpha1.RuntimeSettings{{GOGC: &off, GOMEMLIMIT: &limit}},
			}}
		}},
		"a sweep of the usual ladder": {change: func(spec *v1alpha1.RuntimeTuningPolicySpec) {
			spec.Strategy.Type = v1alpha1.StrategySweep
		}},
		"approved settings": {change: func(spec *v1alpha1.RuntimeTuningPolicySpec) {
			gogc := intstr.FromInt32(150)
			spec.Approved = &v1alpha1.RuntimeSettings{GOGC: &gogc, GODEBUG: []v1alpha1.GODEBUGSetting{{Name: "madvdontneed", Value: "0"}}}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			policy := &v1alpha1.RuntimeTuningPolicy{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "go-", Namespace: namespace},
				Spec:       v1alpha1.RuntimeTuningPolicySpec{TargetRef: checkout},
			}
			tc.change(&policy.Spec)
			want := defaulted()
			tc.change(&want)
			create(t, policy)
			if diff := cmp.Diff(want, policy.Spec); diff != "" {
				t.Errorf("spec as stored (-want +got):\n%s", diff)
			}
			if err := cluster.Update(t.Context(), policy); err != nil {
				t.Errorf("an update with what was read: %v", err)
			}
		})
	}
}

// TestStrategyDefaults: what a strategy's own fields are once they are named, and that each lacks the fields of the others.
func TestStrategyDefaults(t *testing.T) {
	cases := map[string]struct{ sent, want v1alpha1.Strategy }{
		"feedback": {
			v1alpha1.Strategy{Feedback: v1alpha1.FeedbackRules{QuotaUse: "70%"}},
			v1alpha1.Strategy{Type: v1alpha1.StrategyFeedback, Feedback: v1alpha1.FeedbackRules{
				LongPause: duration(5 * time.Millisecond), RunnablePerProcessor: 2, QuotaUse: "70%",
			}},
		},
		"sweep": {
			v1alpha1.Strategy{Type: v1alpha1.StrategySweep, Sweep: &v1alpha1.SweepStrategy{}},
			v1alpha1.Strategy{Type: v1alpha1.StrategySweep, Sweep: &v1alpha1.SweepStrategy{Ladder: []int32{25, 50, 100, 150, 200}}},
		},
		"calibrate": {v1alpha1.Strategy{Type: v1alpha1.StrategyCalibrate}, v1alpha1.Strategy{Type: v1alpha1.StrategyCalibrate}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			policy := &v1alpha1.RuntimeTuningPolicy{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "strategy-", Namespace: namespace},
				Spec:       v1alpha1.RuntimeTuningPolicySpec{TargetRef: checkout, Strategy: tc.sent},
			}
			create(t, policy)
			if diff := cmp.Diff(tc.want, policy.Spec.Strategy); diff != "" {
				t.Errorf("strategy as stored (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDuplicates: a rung or a key of GODEBUG that is listed twice is refused, since one of the two would count in silence.
func TestDuplicates(t *testing.T) {
	twice := []any{map[string]any{"name": "disablethp", "value": "1"}, map[string]any{"name": "disablethp", "value": "1"}}
	cases := map[string]struct {
		file, path, field string
		value             any
	}{
		"rungs":            {"testdata/full-sweep.yaml", "spec.strategy.sweep.ladder", "spec.strategy.sweep.ladder[2]", []any{int64(50), int64(100), int64(50)}},
		"approved GODEBUG": {"testdata/full.yaml", "spec.approved.godebug", "spec.approved.godebug[1]", twice},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			refuses(t, try(t, readObject(t, tc.file), nil, tc.path, tc.value), tc.field, "Duplicate value")
		})
	}
}

// TestTargetIsImmutable changes the name.
func TestTargetIsImmutable(t *testing.T) {
	object := readObject(t, repository+"/config/samples/smallest.yaml")
	create(t, object)
	changed := object.DeepCopy()
	assign(t, changed.Object, "spec.targetRef.name", "cart")
	refuses(t, cluster.Update(t.Context(), changed), "spec.targetRef", immutableTarget)

	kept := object.DeepCopy()
	assign(t, kept.Object, "spec.mode", "Auto")
	if err := cluster.Update(t.Context(), kept); err != nil {
		t.Errorf("a change beside the target is refused: %v", err)
	}
}

// TestUnreadableDurations refuses durations that match the pattern but that no Go client can decode: one such policy would fail every
// list of policies.
func TestUnreadableDurations(t *testing.T) {
	fixture := readObject(t, "testdata/full.yaml")
	paths := []string{"spec.analysis.interval", "spec.analysis.warmUp", "spec.analysis.noDataTimeout", "spec.analysis.breaker.for", "spec.rollout.steps[0].hold",
		"spec.schedule.cooldown", "spec.schedule.windows[0].duration", "spec.slos[0].latency.threshold"}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			if err := try(t, fixture, nil, path, "9999999999999999999h"); !apierrors.IsInvalid(err) {
				t.Errorf("error %v, want the value refused", err)
			}
		})
	}
}

// TestUnknownFields: a misspelt field is refused by kubectl's strict validation instead of being dropped in silence.
func TestUnknownFields(t *testing.T) {
	object := readObject(t, repository+"/config/samples/smallest.yaml")
	assign(t, object.Object, "spec.slo", []any{})
	err := client.WithFieldValidation(cluster, metav1.FieldValidationStrict).Create(t.Context(), object, client.DryRunAll)
	if !apierrors.IsBadRequest(err) {
		t.Errorf("error %v, want the unknown field refused", err)
	}
}

func TestSelectableTarget(t *testing.T) {
	for _, target := range []string{"selected", "other"} {
		policy := &v1alpha1.RuntimeTuningPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "of-" + target, Namespace: namespace},
			Spec:       v1alpha1.RuntimeTuningPolicySpec{TargetRef: v1alpha1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: target}},
		}
		create(t, policy)
	}
	var found v1alpha1.RuntimeTuningPolicyList
	err := cluster.List(t.Context(), &found, client.InNamespace(namespace), client.MatchingFields{"spec.targetRef.name": "selected"})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Items) != 1 || found.Items[0].Name != "of-selected" {
		t.Errorf("found %d policies, want only of-selected", len(found.Items))
	}
}
