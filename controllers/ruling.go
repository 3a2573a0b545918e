package controllers

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/workload"
)

// others are the policies that name the target of a policy, and what they mean to it.
type others struct {
	// ruling is the name of the policy that rules the target in this one's place; empty where this one rules.
	ruling string
	// leaving is the name of a policy that is being deleted and still has pods to take back.
	leaving string
}

func (r *Reconciler) others(ctx context.Context, policy *v1alpha1.RuntimeTuningPolicy) (others, error) {
	policies, err := r.Policies.ForTarget(ctx, policy.Namespace, policy.Spec.TargetRef)
	if err != nil {
		return others{}, fmt.Errorf("look for other policies of the target: %w", err)
	}
	return othersAmong(policies, policy), nil
}

// othersAmong counts the policy itself as if it were not being deleted: one that never ruled has nothing to take back.
func othersAmong(policies []v1alpha1.RuntimeTuningPolicy, policy *v1alpha1.RuntimeTuningPolicy) others {
	var found others
	candidates := []v1alpha1.RuntimeTuningPolicy{*policy}
	candidates[0].DeletionTimestamp = nil
	for i := range policies {
		other := &policies[i]
		switch {
		case other.UID == policy.UID:
		case other.DeletionTimestamp == nil:
			candidates = append(candidates, *other)
		case controllerutil.ContainsFinalizer(other, v1alpha1.Finalizer):
			found.leaving = other.Name
		}
	}
	if ruling := workload.Ruling(candidates); ruling.UID != policy.UID {
		found.ruling = ruling.Name
	}
	return found
}
