package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/fleet"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/schedule"
	"github.com/gopacer/gopacer/internal/settings"
)

// advance takes the running trial one look further.
func (r *Reconciler) advance(ctx context.Context, p *pass) error {
	view := p.view()
	stop, err := r.stopRequest(ctx, p)
	if err != nil {
		return err
	}
	view.Stop, view.Promote = stop, p.requests.has(v1alpha1.RequestPromote)
	trial := *p.policy.Status.Trial
	needed, err := rollout.NeedsMeasurements(trial, view)
	if err != nil {
		return reconcile.TerminalError(err) // what the status says can't be read; asking again changes nothing
	}
	if needed {
		r.measureTrial(ctx, p, &view)
	}
	decision, err := rollout.Advance(trial, view)
	if err != nil {
		return err
	}
	p.take(decision)
	p.answerTrial(trial)
	return nil
}

func (r *Reconciler) measureTrial(ctx context.Context, p *pass, view *rollout.View) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	view.Recent = r.tryObserve(ctx, p, p.recentLength)
	if length := rollout.EvidenceLength(p.policy.Status.Trial, p.now, p.recentLength); length > 0 {
		view.Evidence = r.tryObserve(ctx, p, length)
	}
}

func (p *pass) view() rollout.View {
	return rollout.View{
		Now: p.now, PolicyUID: p.policy.UID, Plan: p.plan.Plan, Replicas: int(p.target.Replicas), Revision: p.target.Revision, StableNames: p.target.StableNames,
		Unsettled: p.target.RollingOut || p.target.Scaling, Unsteady: !p.unsteadySince.IsZero(), Footing: p.target.Footing, Pods: p.target.Pods,
		Hold: p.held() != "", RecentLength: p.recentLength, Surge: p.surge(), MinReady: p.target.MinReady, CreationFailsSince: p.target.CreationFailsSince,
	}
}

// stopRequest says who wants the trial to end, if anybody.
func (r *Reconciler) stopRequest(ctx context.Context, p *pass) (*rollout.Stop, error) {
	switch {
	case p.policy.DeletionTimestamp != nil:
		return &rollout.Stop{Reason: v1alpha1.ReasonPolicyDeleted, Message: "the policy is being deleted"}, nil
	case p.requests.has(v1alpha1.RequestAbort):
		return &rollout.Stop{Reason: v1alpha1.ReasonAborted, Message: "a person asked for it"}, nil
	case p.policy.Spec.Suspend == v1alpha1.SuspendRevert:
		return &rollout.Stop{Reason: v1alpha1.ReasonSuspended, Message: "spec.suspend is Revert"}, nil
	case p.fleet.Stop == fleet.StopRevert:
		return &rollout.Stop{Reason: v1alpha1.ReasonFleetStopped, Message: stopped(p.fleet)}, nil
	case p.policy.Spec.Mode != v1alpha1.ModeAuto:
		return &rollout.Stop{Reason: v1alpha1.ReasonModeChanged, Message: fmt.Sprintf("spec.mode is %s", p.policy.Spec.Mode)}, nil
	case p.misconfigured != nil && p.misconfigured.Reason == v1alpha1.ReasonInvalidSpec:
		return &rollout.Stop{Reason: v1alpha1.ReasonSuperseded, Message: p.misconfigured.Message}, nil
	case p.refusal != nil:
		return &rollout.Stop{Reason: v1alpha1.ReasonSuperseded, Message: p.refusal.Message}, nil
	case p.policy.Spec.Container != "" && p.policy.Spec.Container != p.target.Container:
		return &rollout.Stop{Reason: v1alpha1.ReasonSuperseded, Message: "spec.container names another container"}, nil
	}
	others, err := r.others(ctx, p.policy)
	if err != nil || others.ruling == "" {
		return nil, err
	}
	return &rollout.Stop{Reason: v1alpha1.ReasonSuperseded, Message: fmt.Sprintf("policy %s is older and names the same target", others.ruling)}, nil
}

// take writes a decision about a trial into the status.
func (p *pass) take(decision rollout.Decision) {
	status := &p.policy.Status
	decision.Events = append(p.decision.Events, decision.Events...)
	p.decision = decision
	p.wait = decision.Wait
	before := status.Trial
	status.Trial = decision.Trial
	if decision.Baseline != nil {
		status.Baseline = decision.Baseline
	}
	if decision.Measured != nil && before != nil {
		p.keepMeasured(before, *decision.Measured)
	}
	if decision.Record != nil {
		p.record(*decision.Record)
	}
	p.summary = p.trialSummary()
}

// trialSummary says what a trial is doing, without live figures.
func (p *pass) trialSummary() summary {
	trial := p.policy.Status.Trial
	if trial == nil {
		record := p.decision.Record
		switch record.Result {
		case v1alpha1.TrialPromoted:
			return underWay(v1alpha1.ReasonPromoting, fmt.Sprintf("trial %d has ended: every pod runs its candidate", record.Number))
		case v1alpha1.TrialMeasured, v1alpha1.TrialRecommended:
			return underWay(v1alpha1.ReasonReverting, fmt.Sprintf("trial %d has ended: every pod runs the baseline again", record.Number))
		}
		return underWay(v1alpha1.ReasonReverting, fmt.Sprintf("trial %d has ended: reverted for %s", record.Number, record.Reason))
	}
	candidate := "an unreadable candidate"
	if parsed, err := settings.FromAPI(trial.Candidate); err == nil {
		candidate = parsed.Canonical()
	}
	switch trial.Stage {
	case v1alpha1.StagePromoting:
		if p.plan.WaitsForRollout(trial) {
			return well(v1alpha1.ReasonAwaitingRollout, fmt.Sprintf("trial %d made %s the baseline: the other pods get it with the next rollout", trial.Number, candidate))
		}
		if trial.Verdict == nil { // as rollout.StartApproved leaves it
			return underWay(v1alpha1.ReasonPromoting, fmt.Sprintf("trial %d: %s was approved by a person: all pods follow", trial.Number, candidate))
		}
		return underWay(v1alpha1.ReasonPromoting, fmt.Sprintf("trial %d proved %s: the other pods follow", trial.Number, candidate))
	case v1alpha1.StageReverting:
		if len(p.decision.Pinned) > 0 {
			return stalled(v1alpha1.ReasonPendingUpdate, leftBehind(p.decision.Pinned))
		}
		return underWay(v1alpha1.ReasonReverting, fmt.Sprintf("trial %d of %s goes back: %s: %s", trial.Number, candidate, trial.End.Reason, trial.End.Message))
	default:
		if trial.PassedAt != nil {
			return underWay(v1alpha1.ReasonAwaitingPromotion, fmt.Sprintf("trial %d of %s passed every step: annotate the policy with %s to promote it, until %s%s", trial.Number,
				candidate, v1alpha1.AnnotationPromote, trial.PassedAt.Add(rollout.PromotionDeadline).UTC().Format(time.RFC3339), p.trialNotes()))
		}
		return underWay(v1alpha1.ReasonTrialRunning, fmt.Sprintf("trial %d tries %s: step %d of %d%s", trial.Number, candidate,
			min(int(trial.Step)+1, len(p.plan.Steps)), len(p.plan.Steps), p.trialNotes()))
	}
}

// leftBehind names pods that gopacer would take back and may not.
func leftBehind(pods []rollout.Pod) string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods[:min(len(pods), mostNamed)] {
		names = append(names, pod.Name)
	}
	more := ""
	if len(pods) > mostNamed {
		more = fmt.Sprintf(" and %d more", len(pods)-mostNamed)
	}
	return fmt.Sprintf("pods %s%s still run what gopacer gave them, and their successors would be of another template: delete them once they may be",
		strings.Join(names, ", "), more)
}

// mostNamed is how many pods a message names.
const mostNamed = 5

// trialNotes are what a person should know of a running trial beside its step.
func (p *pass) trialNotes() string {
	notes := ""
	switch trial := p.policy.Status.Trial; trial.Purpose {
	case v1alpha1.PurposeMeasure:
		notes = ", to measure it"
	case v1alpha1.PurposeCalibrate:
		notes = ", which is the baseline, to learn how unlike each other the pods are"
	default:
		if trial.Harm == v1alpha1.HarmGuardrailsOnly {
			notes = ", guardrails only"
		}
	}
	if trial := p.policy.Status.Trial; trial.Stage == v1alpha1.StageCanary && trial.VerifiedAt == nil && !p.unsteadySince.IsZero() {
		notes += ", while the number of replicas keeps changing since " + p.unsteadySince.UTC().Format(time.RFC3339)
	}
	if held := p.held(); held != "" {
		notes += ", held: " + held
	}
	return notes
}

// held says why a trial goes no further for now; empty where it may.
func (p *pass) held() string {
	if p.policy.Spec.Suspend == v1alpha1.SuspendHold {
		return "spec.suspend is Hold"
	}
	if p.fleet.Stop != fleet.StopNone {
		return stopped(p.fleet)
	}
	if open, next := schedule.Open(p.plan.windows, p.now); !open {
		return "it is outside of spec.schedule.windows until " + next.UTC().Format(time.RFC3339)
	}
	return ""
}
