package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
)

// settleBaseline brings the baseline in line with the target: the declared settings where nothing was promoted, and again where the
// template declares something else than what the promotion rested on. What Git says wins.
func (r *Reconciler) settleBaseline(ctx context.Context, p *pass) (*summary, error) {
	if p.expectPromoted() {
		return nil, nil
	}
	baseline := p.policy.Status.Baseline
	if baseline != nil && baseline.Source == v1alpha1.BaselinePromoted {
		// A cache that lags behind must not cost what is proven.
		if err := p.load(ctx, r.Server); err != nil {
			return nil, err
		}
		if p.refusal != nil || p.expectPromoted() {
			return r.refused(ctx, p)
		}
		p.decision.Events = append(p.decision.Events, rollout.Event{Reason: v1alpha1.EventBaselineVoid, Warning: true,
			Message: fmt.Sprintf("the container, or what the template declares for it, is not what the promotion rested on: what is declared holds (%s)", p.target.Footing.Declared.Canonical())})
	}
	footing := p.target.Footing
	p.expected = footing.Declared
	declared := v1alpha1.Baseline{Source: v1alpha1.BaselineDeclared, Settings: footing.Declared.API(), Footing: footing.API()}
	if baseline == nil || !equality.Semantic.DeepEqual(*baseline, declared) {
		p.policy.Status.Baseline = &declared
	}
	p.showTarget()
	return nil, nil
}

// expectPromoted takes what was promoted for what the pods should run, where it stands on the target as it is. It says false where it
// does not, was promoted for another container, or nothing was promoted.
func (p *pass) expectPromoted() bool {
	baseline, before := p.policy.Status.Baseline, p.policy.Status.Target
	if baseline == nil || baseline.Source != v1alpha1.BaselinePromoted || before != nil && before.Container != p.target.Container {
		return false
	}
	onThis, ok := settings.FromAPIOn(baseline.Settings, baseline.Footing, p.target.Footing)
	if ok {
		p.expected = onThis
		p.showTarget()
	}
	return ok
}

func (p *pass) showTarget() {
	found := v1alpha1.TargetStatus{Container: p.target.Container, Footing: p.target.Footing.API()}
	found.Replacement, found.ReplacementReason = p.replacement()
	if old := p.policy.Status.Target; old != nil && old.Container == found.Container {
		found.GoVersion, found.Latency = old.GoVersion, old.Latency
	}
	if old := p.policy.Status.Target; old == nil || !equality.Semantic.DeepEqual(*old, found) {
		p.policy.Status.Target = &found
	}
}

// expectedOn are the settings that admission gave a pod which was born with another memory limit than its template declares, by another
// webhook's hand.
func (p *pass) expectedOn(pod rollout.Pod) settings.Settings {
	baseline := p.policy.Status.Baseline
	if baseline == nil || baseline.Source != v1alpha1.BaselinePromoted || !pod.ResizedFrom(p.target.Footing) {
		return p.expected
	}
	own := p.target.Footing
	own.MemoryLimitBytes = pod.MemoryLimitBytes
	onThis, ok := settings.FromAPIOn(baseline.Settings, baseline.Footing, own)
	if !ok {
		return p.expected
	}
	return onThis
}

// podsUnlike are the living pods of the current revision that run other settings.
func (p *pass) podsUnlike(want settings.Settings) []rollout.Pod {
	var pods []rollout.Pod
	for _, pod := range p.target.Pods {
		if pod.Revision == p.target.Revision && !pod.Terminating && !pod.HandedOver && pod.Unreadable == "" && pod.Settings != want && pod.Settings != p.expectedOn(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}
