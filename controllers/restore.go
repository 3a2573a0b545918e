package controllers

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
)

// restorePoll is the wait while pods are replaced.
const restorePoll = 2 * time.Second

// restore carries out the deletion policy: first a running trial goes back, then, with Restore, every pod gets what its template
// declares. New pods get that from the moment of deletion on, since admission ignores a policy that is being deleted.
func (r *Reconciler) restore(ctx context.Context, p *pass) error {
	if !controllerutil.ContainsFinalizer(p.policy, v1alpha1.Finalizer) {
		p.unchanged = true
		return nil
	}
	if p.policy.Status.Trial != nil {
		return r.advance(ctx, p)
	}
	done, err := r.restored(ctx, p)
	if err != nil {
		return err
	}
	if done {
		p.finalizer = removeFinalizer
		return nil
	}
	p.wait = restorePoll
	if p.policy.Spec.DeletionPolicy == v1alpha1.DeletionKeep {
		p.summary = underWay(v1alpha1.ReasonRestoring, "the policy is being deleted: new pods start as declared, the others keep what they have")
		p.decision.Actions = rollout.Replace(p.view(), nil)
		return nil
	}
	p.summary = underWay(v1alpha1.ReasonRestoring, "the policy is being deleted: its pods are replaced by pods with the declared settings")
	changed := p.changedPods()
	p.decision.Actions = rollout.Replace(p.view(), changed)
	if pinned := slices.DeleteFunc(changed, func(pod rollout.Pod) bool { return !pod.Pinned }); len(pinned) > 0 {
		p.summary = stalled(v1alpha1.ReasonPendingUpdate, leftBehind(pinned))
	}
	return nil
}

// restored says that nothing is left to take back: new pods start as declared, and the others may keep what they have, or run what their
// template declares. Where the target is gone, or another policy's, there was nothing.
func (r *Reconciler) restored(ctx context.Context, p *pass) (bool, error) {
	if p.refusal != nil && p.refusal.Reason == v1alpha1.ReasonTargetNotFound {
		return true, nil
	}
	others, err := r.others(ctx, p.policy)
	if err != nil || others.ruling != "" {
		return err == nil, err
	}
	withdrawn, err := r.withdrawn(ctx, p)
	if err != nil || !withdrawn {
		return false, err
	}
	return !p.unsettledPods() && (p.policy.Spec.DeletionPolicy == v1alpha1.DeletionKeep || len(p.changedPods()) == 0), nil
}

// changedPods are pods that gopacer gave other settings than their template declares. For a pod of an older revision, and where the
// template can't be read, the gift alone counts: its successor is born as its template declares.
func (p *pass) changedPods() []rollout.Pod {
	var pods []rollout.Pod
	for _, pod := range p.target.Pods {
		asDeclared := p.refusal == nil && pod.Revision == p.target.Revision && pod.Settings == p.target.Footing.Declared
		if pod.Given && !pod.Terminating && !asDeclared {
			pods = append(pods, pod)
		}
	}
	return pods
}
