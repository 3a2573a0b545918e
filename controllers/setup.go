package controllers

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/workload"
)

const (
	// concurrency is how many policies are looked at at a time: a slow Prometheus must not keep the others waiting.
	concurrency = 16
	// firstRetry and lastRetry bound the wait after an error: a revert that the API server refuses is tried again soon after it no longer does.
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// SetupWithManager registers the reconciler. A policy is looked at when its spec changes, when its Deployment does, when a pod does
// while a trial runs, and at least once an interval.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		Named("runtimetuningpolicy").
		For(&v1alpha1.RuntimeTuningPolicy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.ofDeployment), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.ofPod)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(r)
}

func (r *Reconciler) ofDeployment(ctx context.Context, object client.Object) []reconcile.Request {
	return r.policiesOf(ctx, object.GetNamespace(), object.GetName(), func(*v1alpha1.RuntimeTuningPolicy) bool { return true })
}

// ofPod wakes policies that wait for pods; for the others a pod that comes or goes changes nothing.
func (r *Reconciler) ofPod(ctx context.Context, object client.Object) []reconcile.Request {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil
	}
	deployment, _, ok := workload.OwnerOf(pod)
	if !ok {
		return nil
	}
	return r.policiesOf(ctx, pod.Namespace, deployment, func(policy *v1alpha1.RuntimeTuningPolicy) bool {
		return policy.Status.Trial != nil || policy.DeletionTimestamp != nil
	})
}

func (r *Reconciler) policiesOf(ctx context.Context, namespace, deployment string, concerned func(*v1alpha1.RuntimeTuningPolicy) bool) []reconcile.Request {
	policies, err := r.Policies.ForTarget(ctx, namespace, workload.KindDeployment, deployment)
	if err != nil {
		logf.FromContext(ctx).Error(err, "Look up the policies of a Deployment; they are looked at with their next interval", "namespace", namespace, "deployment", deployment)
		return nil
	}
	var requests []reconcile.Request
	for i := range policies {
		if concerned(&policies[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: policies[i].Name}})
		}
	}
	return requests
}
