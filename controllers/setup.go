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

// SetupWithManager registers the reconciler. A policy is looked at when its spec or a request changes, when its target does, when a pod does
// while a trial runs, and at least once an interval. Kinds of other groups are not watched, for they may not be installed: their pods are, and the
// interval does the rest.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	// Requests are annotations.
	asked := builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))
	return ctrl.NewControllerManagedBy(manager).
		Named("runtimetuningpolicy").
		For(&v1alpha1.RuntimeTuningPolicy{}, asked).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.ofTarget(workload.KindDeployment)), changed).
		Watches(&appsv1.StatefulSet{}, handler.EnqueueRequestsFromMapFunc(r.ofTarget(workload.KindStatefulSet)), changed).
		Watches(&appsv1.DaemonSet{}, handler.EnqueueRequestsFromMapFunc(r.ofTarget(workload.KindDaemonSet)), changed).
		Watches(&appsv1.ReplicaSet{}, handler.EnqueueRequestsFromMapFunc(r.ofTarget(workload.KindReplicaSet)), changed).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.ofPod)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(r)
}

// ofTarget wakes the policies of a workload that has changed.
func (r *Reconciler) ofTarget(kind string) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		target := v1alpha1.TargetReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: kind, Name: object.GetName()}
		return r.policiesOf(ctx, object.GetNamespace(), target, func(*v1alpha1.RuntimeTuningPolicy) bool { return true })
	}
}

// ofPod wakes policies that wait for pods; for the others a pod that comes or goes changes nothing.
func (r *Reconciler) ofPod(ctx context.Context, object client.Object) []reconcile.Request {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil
	}
	var requests []reconcile.Request
	targets, _ := workload.TargetsOf(pod)
	for _, target := range targets {
		requests = append(requests, r.policiesOf(ctx, pod.Namespace, target, func(policy *v1alpha1.RuntimeTuningPolicy) bool {
			return policy.Status.Trial != nil || policy.DeletionTimestamp != nil
		})...)
	}
	return requests
}

func (r *Reconciler) policiesOf(
	ctx context.Context, namespace string, target v1alpha1.TargetReference, concerned func(*v1alpha1.RuntimeTuningPolicy) bool,
) []reconcile.Request {
	policies, err := r.Policies.ForTarget(ctx, namespace, target)
	if err != nil {
		logf.FromContext(ctx).Error(err, "Look up the policies of a workload; they are looked at with their next interval",
			"namespace", namespace, "kind", target.Kind, "name", target.Name)
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
