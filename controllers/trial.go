package controllers

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
)

// maxHistory is what the CRD admits.
const maxHistory = 10

// advance takes the running trial one look further.
func (r *Reconciler) advance(ctx context.Context, p *pass) error {
	view := p.view()
	stop, err := r.stopRequest(ctx, p)
	if err != nil {
		return err
	}
	view.Stop = stop
	trial := *p.policy.Status.Trial
	needed, err := rollout.NeedsMeasurements(trial, view)
	if err != nil {
		return err
	}
	if needed {
		view.Recent = r.tryObserve(ctx, p, p.recentLength)
		if length := rollout.EvidenceLength(&trial, p.now, p.recentLength); length > 0 {
			view.Evidence = r.tryObserve(ctx, p, length)
		}
	}
	decision, err := rollout.Advance(trial, view)
	if err != nil {
		return err
	}
	p.take(decision)
	return nil
}

func (p *pass) view() rollout.View {
	return rollout.View{
		Now: p.now, PolicyUID: p.policy.UID, Plan: p.plan.Plan, Replicas: int(p.target.Replicas), Revision: p.target.Revision,
		Unsettled: p.target.RollingOut || p.target.Scaling, Footing: p.target.Footing, Pods: p.target.Pods,
		Hold: p.policy.Spec.Suspend == v1alpha1.SuspendHold, RecentLength: p.recentLength,
	}
}

// stopRequest says who wants the trial to end, if anybody.
func (r *Reconciler) stopRequest(ctx context.Context, p *pass) (*rollout.Stop, error) {
	switch {
	case p.policy.DeletionTimestamp != nil:
		return &rollout.Stop{Reason: v1alpha1.ReasonPolicyDeleted, Message: "the policy is being deleted"}, nil
	case p.policy.Spec.Suspend == v1alpha1.SuspendRevert:
		return &rollout.Stop{Reason: v1alpha1.ReasonSuspended, Message: "spec.suspend is Revert"}, nil
	case p.policy.Spec.Mode != v1alpha1.ModeAuto:
		return &rollout.Stop{Reason: v1alpha1.ReasonModeChanged, Message: fmt.Sprintf("spec.mode is %s", p.policy.Spec.Mode)}, nil
	case p.misconfigured != nil && p.misconfigured.Reason == v1alpha1.ReasonInvalidSpec:
		return &rollout.Stop{Reason: v1alpha1.ReasonSuperseded, Message: p.misconfigured.Message}, nil
	case p.refusal != nil:
		return &rollout.Stop{Reason: v1alpha1.ReasonSuperseded, Message: p.refusal.Message}, nil
	}
	ruling, err := r.ruling(ctx, p.policy)
	if err != nil || ruling == "" {
		return nil, err
	}
	return &rollout.Stop{Reason: v1alpha1.ReasonSuperseded, Message: fmt.Sprintf("policy %s is older and names the same target", ruling)}, nil
}

// tryObserve gives nil where Prometheus gives no whole answer: the verdict then is Invalid, and the trial holds.
func (r *Reconciler) tryObserve(ctx context.Context, p *pass, length time.Duration) *signal.Window {
	window, err := r.observe(ctx, p, length)
	if err != nil {
		logf.FromContext(ctx).V(1).Info("Prometheus gave no window", "error", err.Error())
		return nil
	}
	return &window
}

// observeTimeout bounds all questions of one look together: a look must come round again soon, if only for the guardrails.
const observeTimeout = 15 * time.Second

func (r *Reconciler) observe(ctx context.Context, p *pass, length time.Duration) (signal.Window, error) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	window, err := r.Observer.Observe(ctx, p.request(length))
	if err != nil {
		return signal.Window{}, err
	}
	r.Metrics.sawWindow(p.name(), p.now)
	return window, nil
}

func (p *pass) request(length time.Duration) signal.Request {
	return signal.Request{
		Provider: p.policy.Spec.Metrics.Provider, Namespace: p.policy.Namespace, PodPrefix: p.policy.Spec.TargetRef.Name + "-",
		Container: p.target.Container, Latency: signal.LatencyOf(p.policy.Spec.Metrics.Latency), Length: length, End: p.now,
	}
}

// take writes a decision about a trial into the status.
func (p *pass) take(decision rollout.Decision) {
	status := &p.policy.Status
	decision.Events = append(p.decision.Events, decision.Events...)
	p.decision = decision
	p.wait = decision.Wait
	status.Trial = decision.Trial
	if decision.Baseline != nil {
		status.Baseline = decision.Baseline
	}
	if decision.Record != nil {
		status.History = append([]v1alpha1.TrialRecord{*decision.Record}, status.History...)
		status.History = status.History[:min(len(status.History), maxHistory)]
		until := metav1.NewTime(p.now.Add(p.plan.cooldown))
		status.CooldownUntil = &until
	}
	p.summary = p.trialSummary()
}

// trialSummary says what a trial is doing, without live figures.
func (p *pass) trialSummary() summary {
	trial := p.policy.Status.Trial
	if trial == nil {
		record := p.decision.Record
		reason := v1alpha1.ReasonReverting
		if record.Result == v1alpha1.TrialPromoted {
			reason = v1alpha1.ReasonPromoting
		}
		return underWay(reason, fmt.Sprintf("trial %d has ended: %s (%s)", record.Number, record.Result, record.Reason))
	}
	candidate := "an unreadable candidate"
	if parsed, err := settings.FromAPI(trial.Candidate); err == nil {
		candidate = parsed.Canonical()
	}
	switch trial.Stage {
	case v1alpha1.StagePromoting:
		return underWay(v1alpha1.ReasonPromoting, fmt.Sprintf("trial %d proved %s: the other pods follow", trial.Number, candidate))
	case v1alpha1.StageReverting:
		return underWay(v1alpha1.ReasonReverting, fmt.Sprintf("trial %d of %s goes back: %s: %s", trial.Number, candidate, trial.End.Reason, trial.End.Message))
	default:
		return underWay(v1alpha1.ReasonTrialRunning, fmt.Sprintf("trial %d tries %s: step %d of %d", trial.Number, candidate, trial.Step+1, len(p.plan.Steps)))
	}
}
