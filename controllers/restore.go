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
	p.summary = underWay(v1alpha1.ReasonRestoring, "the policy is being deleted: its pods are replaced by pods with the declared settings")
	p.wait = restorePoll
	var changed []rollout.Pod
	if p.policy.Spec.DeletionPolicy != v1alpha1.DeletionKeep {
		changed = p.changedPods()
	}
	p.decision.Actions = rollout.Replace(p.view(), changed)
	if pinned := slices.DeleteFunc(changed, func(pod rollout.Pod) bool { return !pod.Pinned }); len(pinned) > 0 {
		p.summary = stalled(v1alpha1.ReasonPendingUpdate, leftBehind(pinned))
	}
	return nil
}

// restored says that nothing is left to take back: the pods may keep what they have, they are gone, they are another policy's, or all
// run what their template declares.
func (r *Reconciler) restored(ctx context.Context, p *pass) (bool, error) {
	keeps := p.policy.Spec.DeletionPolicy == v1alpha1.DeletionKeep
	if keeps && !p.unsettledPods() || p.refusal != nil && p.refusal.Reason == v1alpha1.ReasonTargetNotFound {
		return true, nil
	}
	others, err := r.others(ctx, p.policy)
	if err != nil {
		return false, err
	}
	return others.ruling != "" || !keeps && !p.unsettledPods() && len(p.changedPods()) == 0 && p.admissionsLanded(), nil
}

// admissionsLanded says that no pod that was admitted before the deletion is still on its way.
func (p *pass) admissionsLanded() bool {
	baseline := p.policy.Status.Baseline
	promoted := baseline != nil && baseline.Source == v1alpha1.BaselinePromoted
	return !promoted || p.now.Sub(p.policy.DeletionTimestamp.Time) >= rollout.AdmissionBound
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
