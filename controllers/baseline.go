package controllers

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/workload"
)

// settleBaseline brings the baseline in line with the target: the declared settings where nothing was promoted, and again where the
// template declares something else than what the promotion rested on. What Git says wins.
func (p *pass) settleBaseline() {
	footing := p.target.Footing
	declared := v1alpha1.Baseline{Source: v1alpha1.BaselineDeclared, Settings: footing.Declared.API(), Footing: footing.API()}
	baseline := p.policy.Status.Baseline
	status := v1alpha1.TargetStatus{Container: p.target.Container, Footing: footing.API()}
	if old := p.policy.Status.Target; old == nil || !equality.Semantic.DeepEqual(*old, status) {
		p.policy.Status.Target = &status
	}
	p.expected = footing.Declared
	if baseline != nil && baseline.Source == v1alpha1.BaselinePromoted {
		if onThis, ok := promotedOn(*baseline, footing); ok {
			p.expected = onThis
			return
		}
		p.decision.Events = append(p.decision.Events, rollout.Event{Reason: v1alpha1.EventBaselineVoid, Warning: true,
			Message: fmt.Sprintf("the template declares other settings than those that the promotion rested on: what it declares holds (%s)", footing.Declared.Canonical())})
	}
	if baseline == nil || !equality.Semantic.DeepEqual(*baseline, declared) {
		p.policy.Status.Baseline = &declared
	}
}

func promotedOn(baseline v1alpha1.Baseline, footing settings.Footing) (settings.Settings, bool) {
	promoted, err := settings.FromAPI(baseline.Settings)
	if err != nil {
		return settings.Settings{}, false
	}
	proven, err := settings.FootingFromAPI(baseline.Footing)
	if err != nil {
		return settings.Settings{}, false
	}
	return proven.On(footing, promoted)
}

// podsUnlike are the living pods of the current revision that run other settings.
func (p *pass) podsUnlike(want settings.Settings) []rollout.Pod {
	var pods []rollout.Pod
	for _, pod := range p.target.Pods {
		if pod.Revision == p.target.Revision && !pod.Terminating && pod.Unreadable == "" && pod.Settings != want {
			pods = append(pods, pod)
		}
	}
	return pods
}

// rulingOther is the name of the policy that rules the target in this one's place; empty where this one rules.
func rulingOther(policies []v1alpha1.RuntimeTuningPolicy, policy *v1alpha1.RuntimeTuningPolicy) string {
	ruling := workload.Ruling(policies)
	if ruling == nil || ruling.UID == policy.UID {
		return ""
	}
	return ruling.Name
}
