package controllers

import (
	"context"
	"errors"

	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/workload"
)

// act evicts and labels pods. One that can't be evicted keeps no other from going: in a revert each of them counts.
func (r *Reconciler) act(ctx context.Context, p *pass) error {
	var problems []error
	for _, pod := range p.decision.Replace {
		problems = append(problems, r.evict(ctx, p, pod))
	}
	for _, change := range p.decision.Relabel {
		problems = append(problems, workload.MarkCohort(ctx, r.Client, p.policy.Namespace, change.Pod.Name, change.Pod.UID, change.Cohort))
	}
	return errors.Join(problems...)
}

// evict counts and tells how it went. A refused eviction waits for the next look; it is no error.
func (r *Reconciler) evict(ctx context.Context, p *pass, pod rollout.Pod) error {
	switch err := workload.Evict(ctx, r.Client, p.policy.Namespace, pod); {
	case err == nil:
		r.Metrics.evictions.WithLabelValues(evicted).Inc()
		r.replaced.add(p.name(), 1)
		logf.FromContext(ctx).Info("Evicted a pod", "pod", pod.Name, "settings", pod.Settings.Canonical(), "reason", p.summary.reason)
		if p.repairing != nil {
			r.emit(p.policy, &pod, "", *p.repairing)
		}
		return nil
	case errors.Is(err, workload.ErrBlocked):
		r.Metrics.evictions.WithLabelValues(blocked).Inc()
		r.emit(p.policy, &pod, "", rollout.Event{Reason: v1alpha1.EventPodBlocked, Message: err.Error(), Warning: true})
		return nil
	default:
		r.Metrics.evictions.WithLabelValues(failed).Inc()
		return err
	}
}
