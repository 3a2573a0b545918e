package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

func manual(candidates ...v1alpha1.RuntimeSettings) *v1alpha1.ManualStrategy {
	return &v1alpha1.ManualStrategy{Candidates: candidates}
}

// TestAssembleProcessorsFromLimit: a container that takes GOMAXPROCS from its limit can be tuned, as long as nothing asks for another value.
func TestAssembleProcessorsFromLimit(t *testing.T) {
	fromLimit := corev1.EnvVar{Name: "GOMAXPROCS", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}}
	collector := settings.Settings{GOGC: 150, GODEBUG: "disablethp=1"}.API()
	processors := settings.Settings{GOMAXPROCS: 4}.API()
	on := settings.Footing{Declared: settings.Settings{GOGC: 25}, CPULimitMilli: 4000}.API()
	before, more := on, on
	before.Declared, more.CPULimit = settings.Settings{GOGC: 50}.API(), ptr.To(resource.MustParse("8"))
	var unreadable v1alpha1.RuntimeSettings
	unreadable.GODEBUG = []v1alpha1.GODEBUGSetting{{Name: "unknown", Value: "1"}}
	for name, test := range map[string]struct {
		change func(*v1alpha1.RuntimeTuningPolicy)
		cure   string
	}{
		"nothing asked": {},
		"another strategy": {change: func(p *v1alpha1.RuntimeTuningPolicy) {
			p.Spec.Strategy.Type = v1alpha1.StrategyFeedback
		}},
		"the collector": {change: func(p *v1alpha1.RuntimeTuningPolicy) {
			p.Spec.Strategy.Manual, p.Spec.Approved = manual(collector), &collector
			p.Status.Trial = &v1alpha1.Trial{Candidate: collector, Footing: on}
			p.Status.Baseline = &v1alpha1.Baseline{Source: v1alpha1.BaselinePromoted, Settings: collector, Footing: on}
		}},
		"a candidate": {
			change: func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Strategy.Manual = manual(collector, processors) },
			cure:   "or leave it out of spec.strategy.manual.candidates[1]",
		},
		"approved what can't be read": {change: func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Approved = &unreadable }},
		"a candidate after an unreadable one": {
			change: func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Strategy.Manual = manual(unreadable, processors) },
			cure:   "or leave it out of spec.strategy.manual.candidates[1]",
		},
		"approved": {change: func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Approved = &processors }, cure: "or remove spec.approved"},
		"on trial": {
			change: func(p *v1alpha1.RuntimeTuningPolicy) {
				p.Status.Trial = &v1alpha1.Trial{Candidate: processors, Footing: on}
			},
			cure: "or wait for the trial of it to be reverted",
		},
		"promoted": {
			change: func(p *v1alpha1.RuntimeTuningPolicy) {
				p.Status.Baseline = &v1alpha1.Baseline{Source: v1alpha1.BaselinePromoted, Settings: processors, Footing: on}
			},
			cure: "or delete this policy, which has promoted it",
		},
		"promoted before Git declared otherwise": {change: func(p *v1alpha1.RuntimeTuningPolicy) {
			p.Status.Baseline = &v1alpha1.Baseline{Source: v1alpha1.BaselinePromoted, Settings: processors, Footing: before}
		}},
		"promoted before the limit shrank": {change: func(p *v1alpha1.RuntimeTuningPolicy) {
			p.Status.Baseline = &v1alpha1.Baseline{Source: v1alpha1.BaselinePromoted, Settings: processors, Footing: more}
		}},
		"on trial before Git declared otherwise": {change: func(p *v1alpha1.RuntimeTuningPolicy) {
			p.Status.Trial = &v1alpha1.Trial{Candidate: processors, Footing: before}
		}},
		"once declared": {change: func(p *v1alpha1.RuntimeTuningPolicy) {
			p.Status.Baseline = &v1alpha1.Baseline{Source: v1alpha1.BaselineDeclared, Settings: processors, Footing: on}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			limits := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}
			deployment := newDeployment(corev1.Container{Name: "app", Env: []corev1.EnvVar{{Name: "GOGC", Value: "25"}, fromLimit}, Resources: limits})
			policy := newPolicy("")
			if test.change != nil {
				test.change(policy)
			}
			got, err := assemble(policy, ofDeployment(deployment, nil, nil), nil)
			reason := ""
			if test.cure != "" {
				reason = v1alpha1.ReasonUnmanageableEnv
			}
			checkRefusal(t, err, reason, `Deployment checkout: container "app": GOMAXPROCS is taken from valueFrom, so 4 can't`, test.cure)
			if want := (settings.Footing{Declared: settings.Settings{GOGC: 25}, CPULimitMilli: 4000}); got.Footing != want {
				t.Errorf("footing %+v, want %+v", got.Footing, want)
			}
			if diff := cmp.Diff([]string{"GOMAXPROCS"}, got.Unmanageable); diff != "" {
				t.Errorf("unmanageable (-want +got):\n%s", diff)
			}
		})
	}
}
