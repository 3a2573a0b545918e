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
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/fleet"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/workload"
)

// Policies finds the policies of a target.
type Policies interface {
	ForTarget(ctx context.Context, namespace string, target v1alpha1.TargetReference) ([]v1alpha1.RuntimeTuningPolicy, error)
}

// Reconciler takes every policy one look further at a time. All that it must remember is in the policy's status.
type Reconciler struct {
	// Client writes, and reads from a cache.
	Client client.Client
	// Server reads from the API server itself.
	Server   workload.Reader
	Policies Policies
	Observer Observer
	// Fleet may be left out: then its defaults hold.
	Fleet   Fleet
	Events  events.EventRecorder
	Metrics *Metrics
	Clock   clock.PassiveClock

	repairs    repairs
	blockades  blockades
	silences   silences
	streaks    streaks
	replaced   replaced
	admissions admissions
	sizes      sizes
}

const (
	// soon is the wait after a status was written: the next look acts on it.
	soon = 10 * time.Millisecond
	// idleLook is the wait where the policy does not say how long: its spec can't be used, and a change of it wakes the loop.
	idleLook = time.Minute
	// urgent is the priority of looks that a trial or a deletion waits for; what users change has 0.
	urgent = 10
)

// pass is one look at one policy.
type pass struct {
	now    time.Time
	policy *v1alpha1.RuntimeTuningPolicy
	plan   plan
	fleet  fleet.Limits
	target workload.Target
	// refusal is why the target can't be tuned, misconfigured why the policy can't work whatever its target; nil where they can.
	refusal, misconfigured *workload.Refusal
	// expected are the settings that the target's pods should have now.
	expected settings.Settings
	// requests are those of people that wait for an answer.
	requests     requests
	recentLength time.Duration
	// unsteadySince is since when the number of replicas keeps changing; zero where it does not.
	unsteadySince time.Time

	summary summary
	// unchanged says that the conditions stay as they are.
	unchanged bool
	decision  rollout.Decision
	wait      time.Duration
	finalizer finalizerChange
	// repairing is told once the pod to replace was evicted.
	repairing *rollout.Event
	// counted are the replaced pods that this look adds to the status.
	counted int
	// trouble is why Prometheus gave no window; the summary holds less of it.
	trouble error
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
			r.streaks.forget(request.NamespacedName)
			r.replaced.forget(request.NamespacedName)
			r.admissions.saw(request.NamespacedName, false)
			r.sizes.forget(request.NamespacedName)
			r.blockades.forget(request.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get policy %s: %w", request.NamespacedName, err)
	}
	r.admissions.saw(request.NamespacedName, policy.Status.Trial != nil)
	before := policy.DeepCopy()
	p, err := r.look(ctx, policy)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.decide(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	p.countReplaced(r.replaced.count(p.name()))
	return r.carryOut(ctx, p, before)
}

// look gathers what every decision rests on.
func (r *Reconciler) look(ctx context.Context, policy *v1alpha1.RuntimeTuningPolicy) (*pass, error) {
	p := &pass{now: r.Clock.Now().Truncate(time.Second), policy: policy, fleet: r.limits()}
	// What is taken down rests on what is up now, not on a cache.
	reader := workload.Reader(r.Client)
	if policy.Status.Trial != nil || policy.DeletionTimestamp != nil {
		reader = r.Server
	}
	if err := p.load(ctx, reader); err != nil {
		return nil, err
	}
	if p.target.UID != "" {
		p.unsteadySince = r.sizes.saw(p.name(), p.target.Replicas, p.now)
	}
	var err error
	if p.plan, err = newPlan(policy, int(p.target.Replicas)); err != nil {
		p.misconfigured = &workload.Refusal{Reason: v1alpha1.ReasonInvalidSpec, Message: err.Error()}
	}
	if p.target.InOrder {
		p.plan.MaxUnavailable = intstr.FromInt32(1) // of more that went at once all but the first would wait
	}
	p.wait = p.plan.Interval
	if p.misconfigured != nil {
		p.wait = idleLook
	}
	scrapeInterval, err := r.Observer.ScrapeInterval(policy.Spec.Metrics.Provider)
	if err != nil && p.misconfigured == nil {
		// A running trial goes on without data, and so reverts after noDataTimeout: the provider may come back before.
		p.misconfigured = &workload.Refusal{Reason: v1alpha1.ReasonProviderNotFound, Message: err.Error()}
	}
	p.recentLength = max(4*scrapeInterval, 2*p.plan.Interval)
	return p, nil
}

// load reads the target. A refusal is kept, for a person to cure. While pods are on trial, or to be restored, the container is the one
// that they were changed in, whatever the spec has come to name.
func (p *pass) load(ctx context.Context, reader workload.Reader) error {
	policy := p.policy
	if changed := p.policy.Status.Target; changed != nil && (p.policy.Status.Trial != nil || p.policy.DeletionTimestamp != nil) {
		policy = p.policy.DeepCopy()
		policy.Spec.Container = changed.Container
	}
	target, err := workload.Load(ctx, reader, policy)
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
	if p.policy.DeletionTimestamp != nil {
		return r.restore(ctx, p)
	}
	p.requests = newRequests(p.policy)
	p.refuseLongRequests()
	p.retry()
	switch {
	case p.policy.Status.Trial != nil:
		return r.advance(ctx, p)
	default:
		if err := r.idle(ctx, p); err != nil {
			return err
		}
		return r.settle(ctx, p)
	}
}

// carryOut writes the status, once, and only then touches pods: whoever goes on after a crash must know what was meant.
func (r *Reconciler) carryOut(ctx context.Context, p *pass, before *v1alpha1.RuntimeTuningPolicy) (ctrl.Result, error) {
	p.tellBlocked(r.blockades.lasting(p.name(), p.target.Pods, p.now))
	switch err := r.write(ctx, p, before); {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return p.again(soon), nil // someone else wrote, or the policy is gone: look again
	case err != nil || p.finalizer == removeFinalizer:
		return ctrl.Result{}, err
	}
	r.replaced.add(p.name(), -p.counted)
	r.keep(ctx, p)
	r.report(ctx, p, before)
	if p.decision.Changed || p.finalizer == addFinalizer {
		return p.again(soon), nil
	}
	if err := r.act(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	return p.again(p.wait), nil
}

func (r *Reconciler) write(ctx context.Context, p *pass, before *v1alpha1.RuntimeTuningPolicy) error {
	if err := r.writeFinalizer(ctx, p, before); err != nil || p.finalizer == removeFinalizer {
		return err
	}
	if !p.unchanged {
		summarize(p.policy, p.summary, metav1.NewTime(p.now))
	}
	if equality.Semantic.DeepEqual(before.Status, p.policy.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, p.policy); err != nil {
		return fmt.Errorf("write the status of policy %s: %w", p.name(), err)
	}
	return nil
}

// again asks for the next look. Policies with pods on their way come before the others, however many these are.
func (p *pass) again(wait time.Duration) ctrl.Result {
	priority := handler.LowPriority
	if p.policy.Status.Trial != nil || p.policy.DeletionTimestamp != nil {
		priority = urgent
	}
	return ctrl.Result{RequeueAfter: wait, Priority: &priority}
}

// report tells people and Prometheus what was decided, once it is written.
func (r *Reconciler) report(ctx context.Context, p *pass, before *v1alpha1.RuntimeTuningPolicy) {
	log := logf.FromContext(ctx)
	for _, event := range p.decision.Events {
		log.Info(event.Message, "event", event.Reason)
		r.emit(p.policy, nil, occasion(before, p.policy), event)
	}
	if p.trouble != nil && reasonOf(before) != p.summary.reason {
		log.Info("Prometheus gave no window", "error", p.trouble.Error())
	}
	if record := p.decision.Record; record != nil {
		r.Metrics.trials.WithLabelValues(string(record.Result), record.Reason).Inc()
	}
	if trial := p.policy.Status.Trial; p.decision.Changed && trial != nil && trial.Verdict != nil && trial.Verdict.At.Time.Equal(p.now) {
		r.Metrics.verdicts.WithLabelValues(string(trial.Verdict.Outcome)).Inc()
	}
	r.Metrics.show(p.policy)
}

func (p *pass) name() types.NamespacedName { return client.ObjectKeyFromObject(p.policy) }
