package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
)

// surgeLook is the wait while a pod is handed over: nothing wakes the loop of a policy without a trial when its successor becomes available.
const surgeLook = 2 * time.Second

// surge is how many pods may be handed over at a time; 0 where pods are evicted. A policy of a CRD that does not know surge evicts.
func (p *pass) surge() int {
	if replacement, _ := p.replacement(); replacement != v1alpha1.ReplacementSurge {
		return 0
	}
	return p.target.MaxSurge
}

// replacement is how pods of the target are replaced, and why, where that is not as the policy asks.
func (p *pass) replacement() (v1alpha1.Replacement, string) {
	if p.policy.Spec.Rollout.Replacement != v1alpha1.ReplacementSurge {
		return v1alpha1.ReplacementEvict, ""
	}
	if p.target.SurgeRefused != "" {
		return v1alpha1.ReplacementEvict, p.target.SurgeRefused
	}
	return v1alpha1.ReplacementSurge, ""
}

// infeasible says why no trial can be run on the target as it is.
func (p *pass) infeasible() string {
	reason := p.plan.Feasible(int(p.target.Replicas), p.surge() > 0)
	if _, refused := p.replacement(); reason != "" && refused != "" {
		return fmt.Sprintf("%s; no pod is started beside it, since %s", reason, refused)
	}
	return reason
}

// unsettledPods says that a replacement has not come to its end.
func (p *pass) unsettledPods() bool {
	return slices.ContainsFunc(p.target.Pods, func(pod rollout.Pod) bool { return !pod.Terminating && (pod.HandedOver || pod.DropFirst) })
}

// settle brings replacements to their end while no trial does: in every mode, suspended or not. A policy that does not rule the target leaves that to
// the one that does.
func (r *Reconciler) settle(ctx context.Context, p *pass) error {
	if !p.unsettledPods() || p.decision.Changed || p.summary.reason == v1alpha1.ReasonConflicted {
		return nil
	}
	p.wait = min(p.wait, surgeLook)
	if err := p.load(ctx, r.Server); err != nil {
		return err
	}
	p.decision.Actions = rollout.Replace(p.view(), nil)
	if len(p.decision.GiveBack) > 0 {
		r.repairs.failed(p.name(), p.now)
	}
	return nil
}

// tellBlocked says that a pod's eviction has been refused for too long.
func (p *pass) tellBlocked(message string) {
	if message != "" && !p.unchanged && p.finalizer != removeFinalizer {
		p.summary = stalled(v1alpha1.ReasonEvictionBlocked, note(message))
	}
}
