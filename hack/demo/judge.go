package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// outside are ends of a trial that say nothing of its candidate: the operator tries it again.
var outside = []string{
	v1alpha1.ReasonSharedBreach, v1alpha1.ReasonSuperseded, v1alpha1.ReasonNoData, v1alpha1.ReasonNotAdmitted,
	v1alpha1.ReasonTooFewRequests, v1alpha1.ReasonUnevenTraffic, v1alpha1.ReasonCanariesLost,
}

// reverted says that the harmful candidate was reverted for what it did to the latency.
func (s *show) reverted(policy *v1alpha1.RuntimeTuningPolicy, after int64) (bool, error) {
	history := policy.Status.History
	if policy.Status.Trial != nil || len(history) == 0 || history[0].Number <= after {
		return false, nil
	}
	switch record := history[0]; {
	case record.Result == v1alpha1.TrialReverted && record.Reason == v1alpha1.ReasonLatencyBreached:
		s.result.Revert.Trial = record
		return true, nil
	case record.Result == v1alpha1.TrialReverted && slices.Contains(outside, record.Reason):
		return false, nil
	default:
		return false, fmt.Errorf("trial %d ended as %s for %s, not as a revert for a breach of the latency objective: %s", record.Number, record.Result, record.Reason, record.Message)
	}
}

// testify holds what the operator says of the revert against what the witness saw.
func (s *show) testify(ctx context.Context, seen testimony) error {
	s.result.Revert.Witness = seen
	gone, err := seen.lastGone()
	if err != nil {
		return fmt.Errorf("the operator says that the trial was reverted, but %w", err)
	}
	if seen.FirstBreach.IsZero() {
		return fmt.Errorf("the operator reverted for %s, but of %d polls none showed more than %s of the canary pods' requests slower than %s",
			s.result.Revert.Trial.Reason, seen.Polls, written(share, s.script.latency.allowed), s.script.latency.threshold)
	}
	s.result.Revert.Seconds = gone.Sub(seen.FirstBreach).Round(100 * time.Millisecond).Seconds()
	s.output.say("measured", "%.1f s from the first breaching sample (%s of %.0f requests slow) to the last canary pod gone; pods that ever ran the candidate: %d",
		s.result.Revert.Seconds, written(share, seen.Share), seen.Requests, len(seen.Pods))
	pods, err := s.readyPods(ctx)
	if err != nil {
		return err
	}
	return s.runsEverywhere(ctx, s.result.Promotion.Trial.Candidate, names(pods))
}

// cohorts are the pods that a step is judged by, and since when.
type cohorts struct {
	canary, control []string
	warm            time.Time
}

// note keeps those of the step that is judged now. Once a trial is promoted its status names no control pods any more.
func (c *cohorts) note(trial *v1alpha1.Trial) {
	if trial == nil || trial.Stage != v1alpha1.StageCanary || trial.WarmAt == nil {
		return
	}
	*c = cohorts{warm: trial.WarmAt.Time}
	for _, slot := range trial.Slots {
		c.canary = append(c.canary, slot.PodName)
	}
	for _, control := range trial.Controls {
		c.control = append(c.control, control.PodName)
	}
}

// readyPods are the service's. It is an error if one is not ready.
func (s *show) readyPods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := s.client.List(ctx, &pods, client.InNamespace(policyName.Namespace), client.MatchingLabels{"app": policyName.Name}); err != nil {
		return nil, fmt.Errorf("list the pods: %w", err)
	}
	if len(pods.Items) == 0 {
		return nil, fmt.Errorf("the service has no pod")
	}
	for _, pod := range pods.Items {
		switch {
		case pod.DeletionTimestamp != nil:
			return nil, fmt.Errorf("pod %s is going", pod.Name)
		case !isReady(&pod):
			return nil, fmt.Errorf("pod %s is not ready", pod.Name)
		}
	}
	return pods.Items, nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

func names(pods []corev1.Pod) []string {
	var all []string
	for _, pod := range pods {
		all = append(all, pod.Name)
	}
	return sorted(all)
}

// runsEverywhere asks the processes themselves, through Prometheus, which settings they run.
func (s *show) runsEverywhere(ctx context.Context, wanted v1alpha1.RuntimeSettings, pods []string) error {
	parsed, err := settings.FromAPI(wanted)
	if err != nil {
		return fmt.Errorf("read the promoted settings: %w", err)
	}
	queries := []string{fmt.Sprintf(`count(go_gc_gogc_percent{$pods} == %d)`, parsed.EffectiveGOGC())}
	if parsed.MemoryLimitBytes != 0 {
		queries = append(queries, fmt.Sprintf(`count(go_gc_gomemlimit_bytes{$pods} == %d)`, parsed.MemoryLimitBytes))
	}
	for _, query := range queries {
		promQL := s.meter.fill(query, pods, 0)
		found, err := s.meter.number(ctx, promQL, time.Now())
		if err != nil {
			return fmt.Errorf("see which settings the processes run: %w", err)
		}
		if int(found) != len(pods) {
			return fmt.Errorf("%d of %d pods run %s, as Prometheus says (%s)", int(found), len(pods), settingsText(wanted), promQL)
		}
	}
	return nil
}
