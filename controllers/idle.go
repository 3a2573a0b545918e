package controllers

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/tuning"
	"github.com/gopacer/gopacer/internal/workload"
)

// idle goes through what may keep a trial from starting, and starts one where nothing does. The first answer is the summary.
func (r *Reconciler) idle(ctx context.Context, p *pass) error {
	for _, ask := range []func(context.Context, *pass) (*summary, error){
		r.refused, r.conflicted, r.settleBaseline, suspended, r.repair, waitForTarget, tooFewReplicas, r.measureAndPropose,
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
	if p.policy.Spec.Mode != v1alpha1.ModeRecommend || !keepsRecommendation(p.summary.reason) {
		p.policy.Status.Recommendation = nil
	}
	return nil
}

// keepsRecommendation says that a recommendation is as good as it was: it is made again, or the target can't be measured just now.
func keepsRecommendation(reason string) bool {
	switch reason {
	case v1alpha1.ReasonRecommended, v1alpha1.ReasonWaitingForTarget, v1alpha1.ReasonNoTraffic, v1alpha1.ReasonPrometheusUnavailable:
		return true
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

func waitForTarget(_ context.Context, p *pass) (*summary, error) {
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
	if reason := p.plan.Feasible(int(p.target.Replicas)); reason != "" {
		few := stalled(v1alpha1.ReasonTooFewReplicas, reason)
		return &few, nil
	}
	return nil, nil
}

func (r *Reconciler) propose(ctx context.Context, p *pass, seen tuning.Observation) (*summary, error) {
	mode := p.policy.Spec.Mode
	if mode != v1alpha1.ModeRecommend && mode != v1alpha1.ModeAuto { // a mode that this version does not know may do the least
		observing := well(v1alpha1.ReasonObserving, "all signals are there; set spec.mode to Recommend to see a candidate, or to Auto to try it")
		return &observing, nil
	}
	status := &p.policy.Status
	proposal := tuning.Propose(tuning.Input{
		Now: p.now, Baseline: p.expected, Footing: p.target.Footing, Knobs: p.plan.knobs, Strategy: p.plan.strategy, Observed: seen,
		Objective: tuning.Objective{Minimize: p.policy.Spec.Objective.Minimize, MinGain: p.plan.Gain.MinShare, MinCPUGain: p.plan.Gain.MinCPUShare},
		Streak:    tuning.DeadbandLooks, History: status.History, Rejected: status.Rejected, Sweep: status.Sweep,
	})
	switch {
	case proposal.Blocked != "":
		blocked := unwell(proposal.Blocked, proposal.Reason)
		return &blocked, nil
	case proposal.Candidate == nil:
		tuned := well(v1alpha1.ReasonTuned, proposal.Reason)
		return &tuned, nil
	case mode == v1alpha1.ModeRecommend:
		p.recommend(proposal)
		recommended := well(v1alpha1.ReasonRecommended, "status.recommendation has a candidate: "+proposal.Candidate.Canonical())
		return &recommended, nil
	}
	if until := p.policy.Status.CooldownUntil; until != nil && p.now.Before(until.Time) {
		p.wait = min(p.wait, until.Sub(p.now))
		cooling := well(v1alpha1.ReasonCooldown, "the next trial may start at "+until.UTC().Format(time.RFC3339))
		return &cooling, nil
	}
	return r.start(ctx, p, *proposal.Candidate, proposal.Reason)
}

// recommend keeps a recommendation that says the same: its figures would make every look a write.
func (p *pass) recommend(proposal tuning.Proposal) {
	if old := p.policy.Status.Recommendation; old != nil {
		if settled, err := settings.FromAPI(old.Settings); err == nil && settled == *proposal.Candidate {
			return
		}
	}
	p.policy.Status.Recommendation = &v1alpha1.Recommendation{
		Settings: proposal.Candidate.API(), Reason: proposal.Reason, Predicted: proposal.Predicted.Text(), At: metav1.NewTime(p.now),
	}
}

// start begins a trial on the target as the API server has it now. The finalizer comes first: from the first slot on there is
// something to restore.
func (r *Reconciler) start(ctx context.Context, p *pass, candidate settings.Settings, reason string) (*summary, error) {
	proposedOn := p.target.Footing
	if err := p.load(ctx, r.Server); err != nil {
		return nil, err
	}
	infeasible := p.plan.Feasible(int(p.target.Replicas)) != ""
	if p.refusal != nil || p.target.RollingOut || p.target.Scaling || p.target.Footing != proposedOn || infeasible {
		waiting := underWay(v1alpha1.ReasonWaitingForTarget, "the target has just changed")
		return &waiting, nil
	}
	if !controllerutil.ContainsFinalizer(p.policy, v1alpha1.Finalizer) {
		p.finalizer = addFinalizer
		p.unchanged = true
		return &summary{}, nil
	}
	p.policy.Status.Trials++
	p.take(rollout.Start(p.view(), p.policy.Status.Trials, candidate, reason, *p.policy.Status.Baseline))
	return &p.summary, nil
}
