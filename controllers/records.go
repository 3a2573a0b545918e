package controllers

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

const (
	// recordLife is how long a record waits for the next policy of its target.
	recordLife = 30 * 24 * time.Hour
	// recordLook is how often a record without a policy is looked at. One that is younger stays though its target is missing: a restore from a
	// backup may bring that later.
	recordLook = time.Hour
)

// Records cares for RuntimeBaselines without a policy: new pods start as declared, and the record goes when it is old, or with its target. Those that
// have a policy are the Reconciler's.
type Records struct {
	// Client writes; Server reads from the API server itself.
	Client client.Client
	Server client.Reader
	Clock  clock.PassiveClock
}

// SetupWithManager registers it. A record is looked at when the manager starts, when a policy goes, and once an hour.
func (r *Records) SetupWithManager(manager ctrl.Manager) error {
	gone := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	return ctrl.NewControllerManagedBy(manager).
		Named("runtimebaseline").
		For(&v1alpha1.RuntimeBaseline{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.RuntimeTuningPolicy{}, handler.EnqueueRequestsFromMapFunc(recordOf), builder.WithPredicates(gone)).
		Complete(r)
}

func recordOf(_ context.Context, object client.Object) []reconcile.Request {
	policy, ok := object.(*v1alpha1.RuntimeTuningPolicy)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: baselineKey(policy)}}
}

// Reconcile is one look at one record.
func (r *Records) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	stored := &v1alpha1.RuntimeBaseline{}
	if err := r.Server.Get(ctx, request.NamespacedName, stored); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get RuntimeBaseline %s: %w", request.NamespacedName, err)
	}
	later := ctrl.Result{RequeueAfter: recordLook}
	inUse, err := r.inUse(ctx, stored)
	if err != nil || inUse {
		return later, err
	}
	now := r.Clock.Now().Truncate(time.Second)
	if err := giveBaseline(ctx, r.Client, stored, nil, now); err != nil {
		return ctrl.Result{}, err
	}
	over, err := r.over(ctx, stored, now)
	if err != nil || !over {
		return later, err
	}
	exactly := client.Preconditions{UID: &stored.UID, ResourceVersion: &stored.ResourceVersion}
	if err := r.Client.Delete(ctx, stored, exactly); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("delete RuntimeBaseline %s: %w", request.NamespacedName, err)
	}
	logf.FromContext(ctx).Info("Deleted a record that no policy came to adopt")
	return ctrl.Result{}, nil
}

// inUse says that a policy names the target. The API server is asked, since a cache may not have heard of one that came back from a backup.
func (r *Records) inUse(ctx context.Context, stored *v1alpha1.RuntimeBaseline) (bool, error) {
	var policies v1alpha1.RuntimeTuningPolicyList
	if err := r.Server.List(ctx, &policies, client.InNamespace(stored.Namespace)); err != nil {
		return false, fmt.Errorf("list the policies of namespace %s: %w", stored.Namespace, err)
	}
	for i := range policies.Items {
		if baselineKey(&policies.Items[i]) == client.ObjectKeyFromObject(stored) {
			return true, nil
		}
	}
	return false, nil
}

// over says that a record has waited long enough: for the next policy, or, where the target is gone, for the target.
func (r *Records) over(ctx context.Context, stored *v1alpha1.RuntimeBaseline, now time.Time) (bool, error) {
	latest := stored.CreationTimestamp.Time
	for _, at := range []*metav1.Time{&stored.Spec.ChangedAt, stored.Status.RecordedAt} {
		if at != nil && at.After(latest) {
			latest = at.Time
		}
	}
	switch age := now.Sub(latest); {
	case age >= recordLife:
		return true, nil
	case age < recordLook:
		return false, nil
	}
	target := &metav1.PartialObjectMetadata{}
	target.SetGroupVersionKind(schema.FromAPIVersionAndKind(stored.Spec.TargetRef.APIVersion, stored.Spec.TargetRef.Kind))
	err := r.Server.Get(ctx, types.NamespacedName{Namespace: stored.Namespace, Name: stored.Spec.TargetRef.Name}, target)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return true, nil
	case apierrors.IsForbidden(err):
		return false, nil // of other kinds the manager may read the scale only: the age decides
	case err != nil:
		return false, fmt.Errorf("look for %s %s/%s: %w", stored.Spec.TargetRef.Kind, stored.Namespace, stored.Spec.TargetRef.Name, err)
	}
	return false, nil
}

var _ reconcile.Reconciler = (*Records)(nil)
