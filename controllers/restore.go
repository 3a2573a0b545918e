package controllers

import (
	"context"
	"fmt"
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
	changed := p.changedPods()
	if p.policy.Spec.DeletionPolicy == v1alpha1.DeletionKeep || p.refusal != nil || len(changed) == 0 && p.admissionsLanded() {
		p.finalizer = removeFinalizer
		return nil
	}
	p.summary = underWay(v1alpha1.ReasonRestoring, "the policy is being deleted: its pods are replaced by pods with the declared settings")
	p.wait = restorePoll
	p.decision.Replace = rollout.Affordable(p.plan.Plan, int(p.target.Replicas), p.target.Pods, changed)
	return nil
}

// admissionsLanded says that no pod that was admitted before the deletion is still on its way.
func (p *pass) admissionsLanded() bool {
	baseline := p.policy.Status.Baseline
	promoted := baseline != nil && baseline.Source == v1alpha1.BaselinePromoted
	return !promoted || p.now.Sub(p.policy.DeletionTimestamp.Time) >= rollout.AdmissionBound
}

// changedPods are pods that gopacer gave other settings than their template declares. For a pod of an older revision, whose template is
// not read, the gift alone counts: its successor is born as that template declares.
func (p *pass) changedPods() []rollout.Pod {
	var pods []rollout.Pod
	for _, pod := range p.target.Pods {
		asDeclared := pod.Revision == p.target.Revision && pod.Settings == p.target.Footing.Declared
		if pod.Given && !pod.Terminating && !asDeclared {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (r *Reconciler) ruling(ctx context.Context, policy *v1alpha1.RuntimeTuningPolicy) (string, error) {
	policies, err := r.Policies.ForTarget(ctx, policy.Namespace, policy.Spec.TargetRef.Kind, policy.Spec.TargetRef.Name)
	if err != nil {
		return "", fmt.Errorf("look for other policies of the target: %w", err)
	}
	return rulingOther(policies, policy), nil
}
