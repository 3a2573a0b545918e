//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/stage"
)

func after(duration time.Duration) *metav1.Duration { return &metav1.Duration{Duration: duration} }

// hold of a step. A look that needs more requests than come in it takes up to three holds and a noDataTimeout.
const hold = 20 * time.Second

// longHold is for what rests on the tail of the latencies: in a short hold a pod answers some forty requests of the slowest twentieth, whose
// number differs by a sixth from pod to pod by chance alone.
const longHold = time.Minute

// spec is a policy with short times and one step: three canary pods against three control pods. The objective is one that the
// service keeps also on a busy machine. Where pods share two processors with a whole cluster and with other scenarios, they differ by far
// more than a margin of 10%, which a real service should keep: here any margin may be widened to what the pods can resolve.
func spec() v1alpha1.RuntimeTuningPolicySpec {
	return v1alpha1.RuntimeTuningPolicySpec{
		TargetRef: v1alpha1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: stage.WorkloadDeployment},
		Mode:      v1alpha1.ModeAuto,
		SLOs: []v1alpha1.SLO{
			latency("250ms", "95%"),
			{Name: "errors", Errors: &v1alpha1.ErrorsSLO{Max: "5%"}},
		},
		Analysis: v1alpha1.Analysis{
			Interval: after(interval), WarmUp: after(10 * time.Second), NoDataTimeout: after(30 * time.Second),
			Tier: v1alpha1.TierBatch, Margins: v1alpha1.Margins{Max: "100%"},
		},
		Rollout: v1alpha1.Rollout{
			Steps:          []v1alpha1.Step{step(3, hold)},
			MaxUnavailable: ptr.To(intstr.FromInt32(2)),
		},
		Schedule: v1alpha1.Schedule{Cooldown: after(0)},
	}
}

func step(canary int32, hold time.Duration) v1alpha1.Step {
	return v1alpha1.Step{Canary: intstr.FromInt32(canary), Hold: after(hold)}
}

func latency(threshold string, target v1alpha1.Percent) v1alpha1.SLO {
	limit, err := time.ParseDuration(threshold)
	if err != nil {
		panic(err)
	}
	return v1alpha1.SLO{Name: "latency", Latency: &v1alpha1.LatencySLO{Threshold: metav1.Duration{Duration: limit}, Target: target}}
}

// manual is a strategy that tries one GOGC.
func manual(gogc int32) v1alpha1.Strategy {
	return v1alpha1.Strategy{Type: v1alpha1.StrategyManual, Manual: &v1alpha1.ManualStrategy{
		Candidates: []v1alpha1.RuntimeSettings{{GOGC: ptr.To(intstr.FromInt32(gogc))}},
	}}
}

// create makes the scene's policy.
func (s *scene) create(spec v1alpha1.RuntimeTuningPolicySpec) {
	s.t.Helper()
	key := s.policyKey()
	policy := &v1alpha1.RuntimeTuningPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Spec: spec}
	if err := s.client.Create(s.t.Context(), policy); err != nil {
		s.t.Fatal(err)
	}
}

// change patches the policy's spec, as a user does while gopacer writes the status.
func (s *scene) change(change func(spec *v1alpha1.RuntimeTuningPolicySpec)) {
	s.t.Helper()
	policy := s.policy()
	before := policy.DeepCopy()
	change(&policy.Spec)
	if err := s.client.Patch(s.t.Context(), policy, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
}

// awaitPolicy polls the policy until a check of it returns nil.
func (s *scene) awaitPolicy(what string, limit time.Duration, check func(policy *v1alpha1.RuntimeTuningPolicy) error) {
	s.t.Helper()
	s.await(what, limit, func(ctx context.Context) error {
		var policy v1alpha1.RuntimeTuningPolicy
		if err := s.client.Get(ctx, s.policyKey(), &policy); err != nil {
			return err
		}
		return check(&policy)
	})
}

func readyOf(policy *v1alpha1.RuntimeTuningPolicy) metav1.Condition {
	if ready := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return *ready
	}
	return metav1.Condition{}
}

// awaitReason waits until Ready has a reason.
func (s *scene) awaitReason(reason string, limit time.Duration) {
	s.t.Helper()
	s.awaitPolicy("Ready to say "+reason, limit, func(policy *v1alpha1.RuntimeTuningPolicy) error {
		if ready := readyOf(policy); ready.Reason != reason || ready.ObservedGeneration != policy.Generation {
			return fmt.Errorf("ready is %s, %s: %s", ready.Status, ready.Reason, ready.Message)
		}
		return nil
	})
}

// awaitTrial waits until a trial stands where a check wants it. A trial that has ended fails the test.
func (s *scene) awaitTrial(what string, number int64, limit time.Duration, check func(trial *v1alpha1.Trial) error) {
	s.t.Helper()
	s.awaitPolicy(what, limit, func(policy *v1alpha1.RuntimeTuningPolicy) error {
		if record := recordOf(policy, number); record != nil {
			s.t.Fatalf("waiting for %s: trial %d has ended: %s, %s: %s", what, number, record.Result, record.Reason, record.Message)
		}
		trial := policy.Status.Trial
		if trial == nil || trial.Number != number {
			ready := readyOf(policy)
			return fmt.Errorf("trial %d has not started: ready is %s, %s: %s", number, ready.Status, ready.Reason, ready.Message)
		}
		if err := check(trial); err != nil {
			return fmt.Errorf("%w (stage %s, step %d, verified %v, warm %v, verdict %+v)", err, trial.Stage, trial.Step, trial.VerifiedAt, trial.WarmAt, trial.Verdict)
		}
		return nil
	})
}

func started(*v1alpha1.Trial) error { return nil }

// judged says that a step is past its warm-up and was found good.
func judged(trial *v1alpha1.Trial) error {
	if trial.WarmAt == nil || trial.Verdict == nil || trial.Verdict.Outcome != v1alpha1.OutcomePass || trial.Verdict.At.Before(trial.WarmAt) {
		return errors.New("the step has no Pass yet")
	}
	return nil
}

func inStage(stage v1alpha1.Stage) func(trial *v1alpha1.Trial) error {
	return func(trial *v1alpha1.Trial) error {
		if trial.Stage != stage {
			return fmt.Errorf("the trial is not in stage %s", stage)
		}
		return nil
	}
}

func recordOf(policy *v1alpha1.RuntimeTuningPolicy, number int64) *v1alpha1.TrialRecord {
	for i := range policy.Status.History {
		if policy.Status.History[i].Number == number {
			return &policy.Status.History[i]
		}
	}
	return nil
}

// awaitEnd waits until a trial has ended, as it should.
func (s *scene) awaitEnd(number int64, result v1alpha1.TrialResult, reason string) *v1alpha1.TrialRecord {
	s.t.Helper()
	var record *v1alpha1.TrialRecord
	s.awaitPolicy(fmt.Sprintf("trial %d to end", number), endLimit, func(policy *v1alpha1.RuntimeTuningPolicy) error {
		if record = recordOf(policy, number); record != nil {
			return nil
		}
		ready := readyOf(policy)
		return fmt.Errorf("ready is %s, %s: %s; trial %+v", ready.Status, ready.Reason, ready.Message, policy.Status.Trial)
	})
	if record.Result != result || record.Reason != reason {
		s.t.Fatalf("trial %d ended %s, %s: %s; want %s, %s", number, record.Result, record.Reason, record.Message, result, reason)
	}
	return record
}

// checkQuiet is invariant I9: over three looks and more nothing is written and no pod replaced.
func (s *scene) checkQuiet() {
	s.t.Helper()
	policy, pods := s.policy(), s.podIDs()
	quiet := time.NewTimer(3*policy.Spec.Analysis.Interval.Duration + 2*time.Second)
	defer quiet.Stop()
	select {
	case <-quiet.C:
	case <-s.t.Context().Done():
	}
	if later := s.policy(); later.ResourceVersion != policy.ResourceVersion {
		s.t.Errorf("I9 Quiet: the policy was written: Ready was %+v and is %+v", readyOf(policy), readyOf(later))
	}
	later := s.podIDs()
	for id := range pods {
		if !later[id] {
			s.t.Errorf("I9 Quiet: pod %s was replaced", id)
		}
	}
}

// awaitEvents waits until the policy has events of these reasons.
func (s *scene) awaitEvents(reasons ...string) {
	s.t.Helper()
	s.await(fmt.Sprintf("events %v", reasons), soonLimit, func(ctx context.Context) error {
		var events eventsv1.EventList
		if err := s.client.List(ctx, &events, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, event := range events.Items {
			if event.Regarding.Kind == "RuntimeTuningPolicy" {
				seen[event.Reason] = true
			}
		}
		for _, reason := range reasons {
			if !seen[reason] {
				return fmt.Errorf("there is no event %s, only %v", reason, seen)
			}
		}
		return nil
	})
}

// measured asks Prometheus for a metric of every pod.
func (s *scene) measured(ctx context.Context, metric string) (map[string]float64, error) {
	return s.ask(ctx, fmt.Sprintf("%s{namespace=%q,container=%q}", metric, s.namespace, stage.WorkloadDeployment))
}

// ask asks Prometheus for one number of every pod.
func (s *scene) ask(ctx context.Context, query string) (map[string]float64, error) {
	answer, _, _, err := s.prometheus.Query(ctx, query, time.Now())
	if err != nil {
		return nil, fmt.Errorf("ask Prometheus for %s: %w", query, err)
	}
	vector, ok := answer.(model.Vector)
	if !ok {
		return nil, fmt.Errorf("ask Prometheus for %s: it answered a %s", query, answer.Type())
	}
	values := map[string]float64{}
	for _, sample := range vector {
		values[string(sample.Metric["pod"])] = float64(sample.Value)
	}
	return values, nil
}
