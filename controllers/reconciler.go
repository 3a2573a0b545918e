// Package controllers carries out what the pure rooms decide: get, observe, decide, write the status, act.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/workload"
)

// Observer measures a target's pods.
type Observer interface {
	// ScrapeInterval of a provider.
	ScrapeInterval(provider string) (time.Duration, error)
	// Observe gives one window, or an error where any part of it is missing.
	Observe(ctx context.Context, request signal.Request) (signal.Window, error)
}

// Policies finds the policies of a target.
type Policies interface {
	ForTarget(ctx context.Context, namespace, kind, name string) ([]v1alpha1.RuntimeTuningPolicy, error)
}

// Reconciler takes every policy one look further at a time. All that it must remember is in the policy's status.
type Reconciler struct {
	// Client writes, and reads from a cache.
	Client client.Client
	// Server reads from the API server itself.
	Server   client.Reader
	Policies Policies
	Observer Observer
	Events   events.EventRecorder
	Metrics  *Metrics
	Clock    clock.PassiveClock

	repairs repairs
}

// soon is the wait after a status was written: the next look acts on it.
const soon = 10 * time.Millisecond

// pass is one look at one policy.
type pass struct {
	now    time.Time
	policy *v1alpha1.RuntimeTuningPolicy
	plan   plan
	target workload.Target
	// refusal is why the target can't be tuned, misconfigured why the policy can't work whatever its target; nil where they can.
	refusal, misconfigured *workload.Refusal
	// expected are the settings that the target's pods should have now.
	expected     settings.Settings
	recentLength time.Duration

	summary summary
	// unchanged says that the conditions stay as they are.
	unchanged bool
	decision  rollout.Decision
	wait      time.Duration
	finalizer finalizerChange
}

type finalizerChange int

const (
	keepFinalizer finalizerChange = iota
	addFinalizer
	removeFinalizer
)

// Reconcile is one turn of the loop.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	policy := &v1alpha1.RuntimeTuningPolicy{}
	// The policy is read from the API server: acting on a status older than one's own last write would open a slot twice.
	if err := r.Server.Get(ctx, request.NamespacedName, policy); err != nil {
		if apierrors.IsNotFound(err) {
			r.Metrics.forget(request.NamespacedName)
			r.repairs.forget(request.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get policy %s: %w", request.NamespacedName, err)
	}
	before := policy.DeepCopy()
	p, err := r.look(ctx, policy)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.decide(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	return r.carryOut(ctx, p, before)
}

// look gathers what every decision rests on.
func (r *Reconciler) look(ctx context.Context, policy *v1alpha1.RuntimeTuningPolicy) (*pass, error) {
	p := &pass{now: r.Clock.Now().Truncate(time.Second), policy: policy}
	var err error
	if p.plan, err = newPlan(&policy.Spec); err != nil {
		p.misconfigured = &workload.Refusal{Reason: v1alpha1.ReasonInvalidSpec, Message: err.Error()}
	}
	p.wait = max(p.plan.Interval, time.Second)
	// What is taken down rests on what is up now, not on a cache.
	reader := client.Reader(r.Client)
	if policy.Status.Trial != nil || policy.DeletionTimestamp != nil {
		reader = r.Server
	}
	if err := p.load(ctx, reader); err != nil {
		return nil, err
	}
	scrapeInterval, err := r.Observer.ScrapeInterval(policy.Spec.Metrics.Provider)
	if err != nil && p.misconfigured == nil {
		// A running trial goes on without data, and so reverts after noDataTimeout: the provider may come back before.
		p.misconfigured = &workload.Refusal{Reason: v1alpha1.ReasonProviderNotFound, Message: err.Error()}
	}
	p.recentLength = max(4*scrapeInterval, 2*p.plan.Interval)
	return p, nil
}

// load reads the target. A refusal is kept, for a person to cure.
func (p *pass) load(ctx context.Context, reader client.Reader) error {
	target, err := workload.Load(ctx, reader, p.policy)
	var refusal *workload.Refusal
	switch {
	case errors.As(err, &refusal):
		p.refusal = refusal
	case err != nil:
		return err
	}
	p.target = target
	return nil
}

// decide lets the one part act that the policy's state calls for.
func (r *Reconciler) decide(ctx context.Context, p *pass) error {
	switch {
	case p.policy.DeletionTimestamp != nil:
		return r.restore(ctx, p)
	case p.policy.Status.Trial != nil:
		return r.advance(ctx, p)
	default:
		return r.idle(ctx, p)
	}
}

// carryOut writes the status, once, and only then touches pods: whoever goes on after a crash must know what was meant.
func (r *Reconciler) carryOut(ctx context.Context, p *pass, before *v1alpha1.RuntimeTuningPolicy) (ctrl.Result, error) {
	if err := r.writeFinalizer(ctx, p, before); err != nil || p.finalizer == removeFinalizer {
		return ctrl.Result{}, err
	}
	if !p.unchanged {
		summarize(p.policy, p.summary, metav1.NewTime(p.now))
	}
	written := !equality.Semantic.DeepEqual(before.Status, p.policy.Status)
	if written {
		if err := r.Client.Status().Update(ctx, p.policy); err != nil {
			if apierrors.IsConflict(err) {
				return ctrl.Result{RequeueAfter: soon}, nil // someone else wrote: look again
			}
			return ctrl.Result{}, fmt.Errorf("write the status of policy %s: %w", client.ObjectKeyFromObject(p.policy), err)
		}
	}
	r.report(ctx, p)
	if p.decision.Changed || p.finalizer == addFinalizer {
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	if err := r.act(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: p.wait}, nil
}

// report tells people and Prometheus what was decided, once it is written.
func (r *Reconciler) report(ctx context.Context, p *pass) {
	log := logf.FromContext(ctx)
	for _, event := range p.decision.Events {
		log.Info(event.Message, "event", event.Reason)
	}
	r.emit(p.policy, p.decision.Events)
	if record := p.decision.Record; record != nil {
		r.Metrics.trials.WithLabelValues(string(record.Result), record.Reason).Inc()
	}
	if trial := p.policy.Status.Trial; p.decision.Changed && trial != nil && trial.Verdict != nil && trial.Verdict.At.Time.Equal(p.now) {
		r.Metrics.verdicts.WithLabelValues(string(trial.Verdict.Outcome)).Inc()
	}
	r.Metrics.show(p.policy)
}

// act evicts and labels pods. A refused eviction waits for the next look; it is no error.
func (r *Reconciler) act(ctx context.Context, p *pass) error {
	namespace := p.policy.Namespace
	for _, pod := range p.decision.Replace {
		switch err := workload.Evict(ctx, r.Client, namespace, pod); {
		case err == nil:
			r.Metrics.evictions.WithLabelValues("evicted").Inc()
			logf.FromContext(ctx).Info("Evicted a pod", "pod", pod.Name, "settings", pod.Settings.Canonical(), "reason", p.summary.reason)
		case errors.Is(err, workload.ErrBlocked):
			r.Metrics.evictions.WithLabelValues("blocked").Inc()
			r.emit(p.policy, []rollout.Event{{Reason: v1alpha1.EventPodBlocked, Message: err.Error(), Warning: true}})
		default:
			r.Metrics.evictions.WithLabelValues("error").Inc()
			return err
		}
	}
	for _, change := range p.decision.Relabel {
		if err := workload.MarkCohort(ctx, r.Client, namespace, change.Pod.Name, change.Pod.UID, change.Cohort); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) name() types.NamespacedName { return client.ObjectKeyFromObject(p.policy) }
