package controllers

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// writeFinalizer adds the finalizer before a first trial, and removes it when the deletion policy is carried out.
func (r *Reconciler) writeFinalizer(ctx context.Context, p *pass, before *v1alpha1.RuntimeTuningPolicy) error {
	if p.finalizer == keepFinalizer {
		return nil
	}
	changed := before.DeepCopy()
	if p.finalizer == addFinalizer {
		controllerutil.AddFinalizer(changed, v1alpha1.Finalizer)
	} else {
		controllerutil.RemoveFinalizer(changed, v1alpha1.Finalizer)
	}
	patch := client.MergeFromWithOptions(before.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, changed, patch); err != nil {
		return fmt.Errorf("write the finalizer of policy %s: %w", p.name(), err)
	}
	p.policy.ResourceVersion = changed.ResourceVersion
	p.policy.Finalizers = changed.Finalizers
	return nil
}
