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
			GOGC:       v1alpha1.GOGCKnob{Mode: v1alpha1.KnobTune, Min: 25, Max: 200},
			GOMEMLIMIT: v1alpha1.GOMEMLIMITKnob{Mode: v1alpha1.KnobTune, PercentOfLimit: "90%"},
		},
		Objective: v1alpha1.Objective{Minimize: v1alpha1.MinimizeGCCPU, MinGain: "5%"},
		Strategy:  v1alpha1.Strategy{Type: v1alpha1.StrategyFeedback},
		Analysis: v1alpha1.Analysis{
			Interval:      duration(30 * time.Second),
			WarmUp:        duration(2 * time.Minute),
			NoDataTimeout: duration(10 * time.Minute),
		},
		Rollout: v1alpha1.Rollout{
			Steps: []v1alpha1.Step{
				{Canary: intstr.FromString("10%"), Hold: duration(5 * time.Minute)},
				{Canary: intstr.FromString("25%"), Hold: duration(5 * time.Minute)},
				{Canary: intstr.FromString("50%"), Hold: duration(5 * time.Minute)},
			},
			MaxUnavailable: &one,
		},
		Schedule: v1alpha1.Schedule{Cooldown: duration(time.Hour)},
		Metrics: v1alpha1.Metrics{
			Provider: "default",
			Latency:  v1alpha1.LatencySource{Preset: v1alpha1.LatencyPrometheusHTTP},
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

// TestTargetIsImmutable changes the name; apiVersion and kind have only one value each.
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
	paths := []string{"spec.analysis.interval", "spec.analysis.warmUp", "spec.analysis.noDataTimeout", "spec.rollout.steps[0].hold",
		"spec.schedule.cooldown", "spec.slos[0].latency.threshold"}
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
