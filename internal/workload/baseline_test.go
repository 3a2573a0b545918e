package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func TestBaselineName(t *testing.T) {
	long := strings.Repeat("a", 252)
	names := map[string]bool{}
	for _, test := range []struct{ apiVersion, kind, name, want string }{
		{"apps/v1", "Deployment", "checkout", "deployment-checkout"},
		{"apps/v1", "StatefulSet", "checkout", "statefulset-checkout"},
		{"argoproj.io/v1alpha1", "Rollout", "checkout", "rollout.argoproj.io-checkout"},
		{"apps/v1", "Deployment", long + "b", "deployment-" + long[:231] + "-"},
		{"apps/v1", "Deployment", long + "c", "deployment-" + long[:231] + "-"},
	} {
		got := BaselineName(v1alpha1.TargetReference{APIVersion: test.apiVersion, Kind: test.kind, Name: test.name})
		if !strings.HasPrefix(got, test.want) || len(got) > 253 || len(test.name) < 200 && got != test.want {
			t.Errorf("%s %s: %q (%d characters), want %q", test.kind, test.name, got, len(got), test.want)
		}
		if names[got] {
			t.Errorf("two targets have the name %q", got)
		}
		names[got] = true
	}
}

func promotedPolicy() *v1alpha1.RuntimeTuningPolicy {
	gogc, declared := intstr.FromInt32(150), intstr.FromInt32(25)
	return &v1alpha1.RuntimeTuningPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "policy"},
		Status: v1alpha1.RuntimeTuningPolicyStatus{
			Target: &v1alpha1.TargetStatus{Container: "app"}, Trials: 3,
			Baseline: &v1alpha1.Baseline{
				Source:   v1alpha1.BaselinePromoted,
				Settings: v1alpha1.RuntimeSettings{GOGC: &gogc, GOMEMLIMIT: ptr.To(resource.MustParse("400Mi"))},
				Footing:  v1alpha1.Footing{Declared: v1alpha1.RuntimeSettings{GOGC: &declared}, MemoryLimit: ptr.To(resource.MustParse("512Mi"))},
			},
		},
	}
}

func TestGiven(t *testing.T) {
	limit := resource.MustParse("512Mi")
	want := &v1alpha1.GivenBaseline{
		Policy: "policy", Container: "app",
		Settings: []v1alpha1.Variable{{Name: "GOGC", Value: "150"}, {Name: "GOMEMLIMIT", Value: "419430400"}},
		Footing:  v1alpha1.VariablesFooting{Declared: []v1alpha1.Variable{{Name: "GOGC", Value: "25"}}, MemoryLimit: &limit},
	}
	if diff := cmp.Diff(want, Given(promotedPolicy())); diff != "" {
		t.Errorf("given (-want +got):\n%s", diff)
	}
	bad := intstr.FromString("all")
	for name, change := range map[string]func(*v1alpha1.RuntimeTuningPolicy){
		"being deleted":        func(p *v1alpha1.RuntimeTuningPolicy) { p.DeletionTimestamp = &metav1.Time{} },
		"nothing judged":       func(p *v1alpha1.RuntimeTuningPolicy) { p.Status.Baseline = nil },
		"no target":            func(p *v1alpha1.RuntimeTuningPolicy) { p.Status.Target = nil },
		"declared":             func(p *v1alpha1.RuntimeTuningPolicy) { p.Status.Baseline.Source = v1alpha1.BaselineDeclared },
		"unreadable":           func(p *v1alpha1.RuntimeTuningPolicy) { p.Status.Baseline.Settings.GOGC = &bad },
		"an unreadable ground": func(p *v1alpha1.RuntimeTuningPolicy) { p.Status.Baseline.Footing.Declared.GOGC = &bad },
	} {
		policy := promotedPolicy()
		change(policy)
		if got := Given(policy); got != nil {
			t.Errorf("%s: new pods get %+v", name, got)
		}
	}
}

func TestRecord(t *testing.T) {
	policy := promotedPolicy()
	want := v1alpha1.RuntimeBaselineStatus{Container: "app", Trials: 3, Baseline: policy.Status.Baseline}
	if diff := cmp.Diff(want, Record(policy)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	policy.Status.Baseline.Source = v1alpha1.BaselineDeclared
	if got := Record(policy); got.Baseline != nil {
		t.Errorf("what is declared is on record as promoted: %+v", got.Baseline)
	}
}
