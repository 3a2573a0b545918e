package controllers

import (
	"context"
	"fmt"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/workload"
)

// idle goes through what may keep a trial from starting, and starts one where nothing does. The first answer is the summary.
func (r *Reconciler) idle(ctx context.Context, p *pass) error {
	p.answerIdle()
	for _, ask := range []func(context.Context, *pass) (*summary, error){
		r.refused, r.conflicted, r.adopt, r.settleBaseline, suspended, fleetStopped, r.repair, pendingUpdate, waitForTarget, tooFewReplicas, r.measureAndPropose,
	} {
		answer, err := ask(ctx, p)
		if err != nil {
			return err
		}
		if answer != nil {
			p.summary = *answer
			break
		}
	}
	if !p.keepsRecommendation() {
		p.policy.Status.Recommendation = nil
	}
	return nil
}

// keepsRecommendation says that a recommendation is as good as it was. One that a trial made stands until it is the baseline, or what it was
// tried on has changed. Another stands where it is made again, or the target can't be measured just now. Mode Observe declines both.
func (p *pass) keepsRecommendation() bool {
	mode := p.policy.Spec.Mode
	if mode != v1alpha1.ModeRecommend && mode != v1alpha1.ModeAuto {
		return false
	}
	if p.policy.Status.Trial != nil || p.awaitsApproval() {
		return true
	}
	switch p.summary.reason {
	case v1alpha1.ReasonRecommended, v1alpha1.ReasonWaitingForTarget, v1alpha1.ReasonNoTraffic, v1alpha1.ReasonPrometheusUnavailable:
		return mode == v1alpha1.ModeRecommend
	}
	return false
}

// recommendedOnThis says that the trial behind the recommendation ran on the target as it is. While the target can't be read, it may have.
func (p *pass) recommendedOnThis() bool {
	if p.refusal != nil || p.misconfigured != nil {
		return true
	}
	for _, record := range p.policy.Status.History {
		if record.Result == v1alpha1.TrialRecommended {
			footing, err := settings.FootingFromAPI(record.Footing)
			return err == nil && footing == p.target.Footing
		}
	}
	return false
}

func (r *Reconciler) refused(_ context.Context, p *pass) (*summary, error) {
	for _, refusal := range []*workload.Refusal{p.misconfigured, p.refusal} {
		if refusal != nil {
			refused := stalled(refusal.Reason, refusal.Message)
			return &refused, nil
		}
	}
	return nil, nil
}

func (r *Reconciler) conflicted(ctx context.Context, p *pass) (*summary, error) {
	others, err := r.others(ctx, p.policy)
	switch {
	case err != nil:
		return nil, err
	case others.ruling != "":
		conflict := stalled(v1alpha1.ReasonConflicted, fmt.Sprintf("policy %s is older and names the same target: delete one of the two", others.ruling))
		return &conflict, nil
	case others.leaving != "":
		waiting := underWay(v1alpha1.ReasonWaitingForTarget, fmt.Sprintf("policy %s of the same target is being deleted, and takes its pods back first", others.leaving))
		return &waiting, nil
	}
	return nil, nil
}

func suspended(_ context.Context, p *pass) (*summary, error) {
	if p.policy.Spec.Suspend == v1alpha1.SuspendNone || p.policy.Spec.Suspend == "" {
		return nil, nil
	}
	paused := well(v1alpha1.ReasonSuspended, "spec.suspend is "+string(p.policy.Spec.Suspend)+": no trial starts")
	return &paused, nil
}

// pendingUpdate: to replace a pod would bring it to the new template, which is for a person to do.
func pendingUpdate(_ context.Context, p *pass) (*summary, error) {
	if p.target.PendingUpdate == "" {
		return nil, nil
	}
	pending := stalled(v1alpha1.ReasonPendingUpdate, p.target.PendingUpdate)
	return &pending, nil
}

func waitForTarget(_ context.Context, p *pass) (*summary, error) {
	if p.unsettledPods() {
		waiting := underWay(v1alpha1.ReasonWaitingForTarget, "a pod that was replaced serves on until its successor is available")
		return &waiting, nil
	}
	if !p.target.RollingOut && !p.target.Scaling {
		return nil, nil
	}
	waiting := underWay(v1alpha1.ReasonWaitingForTarget, "a rollout or scaling of the target is going on")
	return &waiting, nil
}

func tooFewReplicas(_ context.Context, p *pass) (*summary, error) {
	if p.policy.Spec.Mode != v1alpha1.ModeAuto {
		return nil, nil
	}
	if reason := p.infeasible(); reason != "" {
		few := stalled(v1alpha1.ReasonTooFewReplicas, reason)
		return &few, nil
	}
	return nil, nil
}
