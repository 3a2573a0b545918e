package main

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
)

// settingsText is for people: GOGC=35, GOMEMLIMIT=461MiB. The other settings stay as they are declared throughout.
func settingsText(settings v1alpha1.RuntimeSettings) string {
	var parts []string
	if settings.GOGC != nil {
		parts = append(parts, "GOGC="+settings.GOGC.String())
	}
	if settings.GOMEMLIMIT != nil {
		parts = append(parts, fmt.Sprintf("GOMEMLIMIT=%.0fMiB", float64(settings.GOMEMLIMIT.Value())/(1<<20)))
	}
	if len(parts) == 0 {
		return "nothing set"
	}
	return strings.Join(parts, ", ")
}

// evidence is what a verdict rests on: of a failure the reason, else the numbers of all that was measured.
func evidence(verdict *v1alpha1.Verdict) string {
	if verdict == nil {
		return "no verdict"
	}
	if verdict.Outcome == v1alpha1.OutcomeFail {
		return verdict.Message
	}
	var parts []string
	for _, check := range verdict.Checks {
		if check.Message != "" {
			parts = append(parts, check.Message)
		}
	}
	if len(parts) == 0 {
		return verdict.Reason
	}
	return strings.Join(parts, "; ")
}

func condition(status *v1alpha1.RuntimeTuningPolicyStatus, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// outlook says what is waited for now, and for how long.
func outlook(policy *v1alpha1.RuntimeTuningPolicy, now time.Time) string {
	trial := policy.Status.Trial
	if trial == nil {
		ready := condition(&policy.Status, v1alpha1.ConditionReady)
		if ready.Reason == "" {
			return "the operator has not looked at the policy yet"
		}
		return ready.Reason + ": " + ready.Message
	}
	switch trial.Stage {
	case v1alpha1.StagePromoting:
		return fmt.Sprintf("replacing the other pods for %s; a breach would bring the old settings back", since(trial.StepStartedAt, now))
	case v1alpha1.StageReverting:
		// A pod that was admitted just before the slots closed may still be on its way.
		return fmt.Sprintf("taking the canary pods back, and seeing that none comes after: %s left at least", left(trial.End.At, rollout.AdmissionBound, now))
	default:
		return canaryOutlook(policy, now)
	}
}

func canaryOutlook(policy *v1alpha1.RuntimeTuningPolicy, now time.Time) string {
	trial := policy.Status.Trial
	step := fmt.Sprintf("step %d of %d", trial.Step+1, len(policy.Spec.Rollout.Steps))
	switch {
	case trial.VerifiedAt == nil:
		return fmt.Sprintf("%s: replacing pods, until their processes show the candidate, for %s", step, since(trial.StepStartedAt, now))
	case trial.WarmAt == nil:
		return fmt.Sprintf("%s: warming up, %s left; only the guardrails act", step, left(*trial.VerifiedAt, length(policy.Spec.Analysis.WarmUp), now))
	}
	hold := time.Duration(0)
	if int(trial.Step) < len(policy.Spec.Rollout.Steps) {
		hold = length(policy.Spec.Rollout.Steps[trial.Step].Hold)
	}
	judged := "no verdict yet"
	if trial.Verdict != nil && !trial.Verdict.At.Before(trial.WarmAt) {
		judged = string(trial.Verdict.Outcome) + ": " + evidence(trial.Verdict)
	}
	return fmt.Sprintf("%s: judging, %s left at least; %s", step, left(*trial.WarmAt, hold, now), judged)
}

func length(duration *metav1.Duration) time.Duration {
	if duration == nil {
		return 0
	}
	return duration.Duration
}

func since(start metav1.Time, now time.Time) string {
	return max(0, now.Sub(start.Time)).Round(time.Second).String()
}

func left(start metav1.Time, whole time.Duration, now time.Time) string {
	return max(0, whole-now.Sub(start.Time)).Round(time.Second).String()
}
