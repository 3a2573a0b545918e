package controllers

import (
	"context"
	"errors"

	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/workload"
)

// act replaces and labels pods. One that can't be replaced keeps no other from going: in a revert each of them counts. What is given back comes
// first: it may put a good pod in the place of a bad one at no cost. What is handed over comes before what is evicted: its successor then starts
// even where a budget refuses the eviction.
func (r *Reconciler) act(ctx context.Context, p *pass) error {
	var problems []error
	for _, back := range p.decision.GiveBack {
		problems = append(problems, done(ctx, p, "Gave a pod back to its ReplicaSet", back.Pod, p.target.GiveBack(ctx, r.Client, p.policy.Namespace, back)))
	}
	for _, pod := range p.decision.HandOver {
		problems = append(problems, r.handOver(ctx, p, pod))
	}
	for _, pod := range p.decision.Evict {
		problems = append(problems, r.evict(ctx, p, pod))
	}
	for _, pod := range p.decision.Spare {
		problems = append(problems, done(ctx, p, "Cleared a pod's deletion cost", pod, workload.Spare(ctx, r.Client, p.policy.Namespace, pod)))
	}
	for _, change := range p.decision.Relabel {
		problems = append(problems, workload.MarkCohort(ctx, r.Client, p.policy.Namespace, change.Pod.Name, change.Pod.UID, change.Cohort))
	}
	return errors.Join(problems...)
}

// done tells of a change that was made. A pod that has changed since it was looked at is looked at again.
func done(ctx context.Context, p *pass, what string, pod rollout.Pod, err error) error {
	switch {
	case err == nil:
		logf.FromContext(ctx).Info(what, "pod", pod.Name, "settings", pod.Settings.Canonical(), "reason", p.summary.reason)
	case errors.Is(err, workload.ErrChanged):
		return nil
	}
	return err
}

func (r *Reconciler) handOver(ctx context.Context, p *pass, pod rollout.Pod) error {
	err := p.target.HandOver(ctx, r.Client, p.policy.Namespace, pod)
	if err == nil {
		r.tellRepair(p, pod)
	}
	return done(ctx, p, "Handed a pod over: it serves until its successor is available", pod, err)
}

func (r *Reconciler) tellRepair(p *pass, pod rollout.Pod) {
	if p.repairing != nil {
		r.emit(p.policy, &pod, "", *p.repairing)
	}
}

// evict counts and tells how it went. A refused eviction is asked for again, more and more rarely; it is no error.
func (r *Reconciler) evict(ctx context.Context, p *pass, pod rollout.Pod) error {
	if !r.blockades.due(p.name(), pod.UID, p.now) {
		return nil
	}
	err := workload.Evict(ctx, r.Client, p.policy.Namespace, pod)
	refused := errors.Is(err, workload.ErrBlocked) || errors.Is(err, workload.ErrManyBudgets)
	if refused && p.decision.Force && !pod.Ready && workload.OfReplicaSet(p.policy.Spec.TargetRef) {
		if err := workload.Delete(ctx, r.Client, p.policy.Namespace, pod); err != nil {
			return done(ctx, p, "", pod, err)
		}
		err, refused = nil, false
	}
	switch {
	case err == nil:
		r.blockades.lifted(p.name(), pod.UID)
		r.Metrics.evictions.WithLabelValues(evicted).Inc()
		r.replaced.add(p.name(), 1)
		if !pod.HandedOver {
			r.tellRepair(p, pod)
		}
		return done(ctx, p, "Evicted a pod", pod, nil)
	case errors.Is(err, workload.ErrChanged):
		return nil
	case refused:
		r.blockades.refused(p.name(), pod.UID, p.now, err.Error())
		r.Metrics.evictions.WithLabelValues(blocked).Inc()
		r.emit(p.policy, &pod, "", rollout.Event{Reason: v1alpha1.EventPodBlocked, Message: err.Error(), Warning: true})
		return nil
	default:
		r.Metrics.evictions.WithLabelValues(failed).Inc()
		return err
	}
}
