package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/tuning"
	"github.com/gopacer/gopacer/internal/workload"
)

// keep brings the target's RuntimeBaseline in line with the policy's status, which is written before it. What goes wrong is told, counted, and
// tried again at the next look: no revert waits for it.
func (r *Reconciler) keep(ctx context.Context, p *pass) {
	err := r.keepBaseline(ctx, p)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return // the cache lags behind: the next look sees what is there
	}
	if err != nil {
		r.Metrics.keepFailures.Inc()
		logf.FromContext(ctx).Error(err, "Keep the baseline and the record; the next look tries again")
	}
}

func (r *Reconciler) keepBaseline(ctx context.Context, p *pass) error {
	if knowsNothing(&p.policy.Status) {
		return nil // what is there may be all that is left of an earlier policy
	}
	others, err := r.others(ctx, p.policy)
	if err != nil || others.ruling != "" {
		return err
	}
	stored := &v1alpha1.RuntimeBaseline{}
	err = r.Client.Get(ctx, baselineKey(p.policy), stored)
	given, record := workload.Given(p.policy), workload.Record(p.policy)
	switch {
	case apierrors.IsNotFound(err):
		if given == nil && equality.Semantic.DeepEqual(record, v1alpha1.RuntimeBaselineStatus{Container: record.Container}) {
			return nil // nothing was learned yet
		}
		stored = workload.NewBaseline(p.policy.Namespace, p.policy.Spec.TargetRef)
		stored.Spec.Baseline, stored.Spec.ChangedAt = given, metav1.NewTime(p.now)
		if err := r.Client.Create(ctx, stored); err != nil {
			return fmt.Errorf("create RuntimeBaseline %s/%s: %w", stored.Namespace, stored.Name, err)
		}
	case err != nil:
		return fmt.Errorf("get the RuntimeBaseline of policy %s: %w", p.name(), err)
	default:
		if err := giveBaseline(ctx, r.Client, stored, given, p.now); err != nil {
			return err
		}
	}
	return keepRecord(ctx, r.Client, stored, record, p.now)
}

// giveBaseline says what new pods start with, where that is not what is stored.
func giveBaseline(ctx context.Context, writer client.Client, stored *v1alpha1.RuntimeBaseline, given *v1alpha1.GivenBaseline, now time.Time) error {
	if equality.Semantic.DeepEqual(stored.Spec.Baseline, given) {
		return nil
	}
	*stored = *stored.DeepCopy() // what a cache gives is its own
	stored.Spec.Baseline, stored.Spec.ChangedAt = given, metav1.NewTime(now)
	if err := writer.Update(ctx, stored); err != nil {
		return fmt.Errorf("write the baseline of RuntimeBaseline %s/%s: %w", stored.Namespace, stored.Name, err)
	}
	return nil
}

func keepRecord(ctx context.Context, writer client.Client, stored *v1alpha1.RuntimeBaseline, record v1alpha1.RuntimeBaselineStatus, now time.Time) error {
	record.RecordedAt = stored.Status.RecordedAt
	if equality.Semantic.DeepEqual(stored.Status, record) {
		return nil
	}
	changed := stored.DeepCopy()
	changed.Status = *record.DeepCopy()
	at := metav1.NewTime(now)
	changed.Status.RecordedAt = &at
	if err := writer.Status().Update(ctx, changed); err != nil {
		return fmt.Errorf("write the record of RuntimeBaseline %s/%s: %w", stored.Namespace, stored.Name, err)
	}
	return nil
}

func baselineKey(policy *v1alpha1.RuntimeTuningPolicy) client.ObjectKey {
	return client.ObjectKey{Namespace: policy.Namespace, Name: workload.BaselineName(policy.Spec.TargetRef)}
}

// knowsNothing says that a policy has not judged its target yet: it is new, or came back from a backup without its status.
func knowsNothing(status *v1alpha1.RuntimeTuningPolicyStatus) bool {
	return status.Baseline == nil && status.Trial == nil && status.Trials == 0 && len(status.History) == 0
}

// adopt lets a policy that knows nothing yet go on from the record of its target. What was promoted it takes over only where pods still run it:
// else the pods went back to what they declare, and the history is all that counts.
func (r *Reconciler) adopt(ctx context.Context, p *pass) (*summary, error) {
	if !knowsNothing(&p.policy.Status) {
		return nil, nil
	}
	stored := &v1alpha1.RuntimeBaseline{}
	switch err := r.Server.Get(ctx, baselineKey(p.policy), stored); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for a record of the target of policy %s: %w", p.name(), err)
	}
	status, record := &p.policy.Status, &stored.Status
	status.Trials, status.Rejected, status.Calibration, status.History = record.Trials, record.Rejected, record.Calibration, record.History
	p.coolDown()
	found := fmt.Sprintf("the history of %d trials of an earlier policy counts on", record.Trials)
	if p.stillRuns(record) {
		status.Baseline = record.Baseline
		p.finalizer = addFinalizer // its pods run what was promoted: deletionPolicy has a say from now on
		found += fmt.Sprintf(", and so does what it promoted, which pods still run (%s)", p.expected.Canonical())
	}
	if record.Trials > 0 {
		p.decision.Events = append(p.decision.Events, rollout.Event{Reason: v1alpha1.EventRecordAdopted, Message: found})
	}
	return nil, nil
}

// coolDown rests after the last trial on record as its own policy would have.
func (p *pass) coolDown() {
	history := p.policy.Status.History
	if len(history) == 0 || history[0].Result == v1alpha1.TrialMeasured {
		return
	}
	if until := history[0].EndedAt.Add(tuning.NextCooldown(p.plan.cooldown, history)); until.After(p.now) {
		p.policy.Status.CooldownUntil = &metav1.Time{Time: until}
	}
}

// stillRuns says that what is on record as promoted stands on the target as it is, and that a pod was given it and has it.
func (p *pass) stillRuns(record *v1alpha1.RuntimeBaselineStatus) bool {
	if record.Baseline == nil || record.Container != p.target.Container {
		return false
	}
	onThis, ok := settings.FromAPIOn(record.Baseline.Settings, record.Baseline.Footing, p.target.Footing)
	if !ok {
		return false
	}
	p.expected = onThis
	for _, pod := range p.target.Pods {
		if pod.Given && pod.Revision == p.target.Revision && !pod.Terminating && pod.Unreadable == "" && pod.Settings == onThis {
			return true
		}
	}
	return false
}

// withdrawn says that new pods have not got the baseline of a policy that is being deleted for so long that none is on its way.
func (r *Reconciler) withdrawn(ctx context.Context, p *pass) (bool, error) {
	baseline := p.policy.Status.Baseline
	if baseline == nil || baseline.Source != v1alpha1.BaselinePromoted {
		return true, nil
	}
	since := p.policy.DeletionTimestamp.Time
	stored := &v1alpha1.RuntimeBaseline{}
	switch err := r.Server.Get(ctx, baselineKey(p.policy), stored); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return false, fmt.Errorf("see whether new pods still get the baseline of policy %s: %w", p.name(), err)
	case stored.Spec.Baseline != nil:
		return false, nil // the end of this look takes it away
	case stored.Spec.ChangedAt.After(since):
		since = stored.Spec.ChangedAt.Time
	}
	return p.policy.Spec.DeletionPolicy == v1alpha1.DeletionKeep || p.now.Sub(since) >= rollout.AdmissionBound, nil
}
