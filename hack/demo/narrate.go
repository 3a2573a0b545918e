package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// line is what a change of the policy's status tells.
type line struct{ subject, text string }

// narrator turns one look at a policy's status after the other into events. A look may miss what lay between two of them,
// so it goes by what the status says, not by what changed last.
type narrator struct {
	before v1alpha1.RuntimeTuningPolicyStatus
	lines  []line
}

func (n *narrator) add(subject, format string, values ...any) {
	n.lines = append(n.lines, line{subject, fmt.Sprintf(format, values...)})
}

// look tells what is new.
func (n *narrator) look(policy *v1alpha1.RuntimeTuningPolicy) []line {
	n.lines = nil
	after := policy.Status
	n.ended(after.History)
	if after.Trial == nil {
		n.rest(&after)
	} else {
		n.trial(policy)
	}
	n.before = *after.DeepCopy()
	return n.lines
}

// rest tells what the policy says of itself between trials. Of one that has just ended the record tells more.
func (n *narrator) rest(after *v1alpha1.RuntimeTuningPolicyStatus) {
	was, is := condition(&n.before, v1alpha1.ConditionReady), condition(after, v1alpha1.ConditionReady)
	if is.Reason == v1alpha1.ReasonPromoting || is.Reason == v1alpha1.ReasonReverting {
		return
	}
	if is.Reason != "" && (was.Reason != is.Reason || was.Message != is.Message) {
		n.add("policy", "%s: %s", is.Reason, is.Message)
	}
}

// ended tells of trials that came to their end, the oldest first.
func (n *narrator) ended(history []v1alpha1.TrialRecord) {
	last := int64(0)
	if len(n.before.History) > 0 {
		last = n.before.History[0].Number
	}
	for _, record := range slices.Backward(history) {
		if record.Number <= last {
			continue
		}
		took := record.EndedAt.Sub(record.StartedAt.Time).Round(time.Second)
		if record.Result == v1alpha1.TrialPromoted {
			n.add(name(record.Number), "ended after %s: every pod runs %s", took, settingsText(record.Candidate))
			continue
		}
		n.add(name(record.Number), "ended after %s: reverted for %s, no pod runs %s any more", took, record.Reason, settingsText(record.Candidate))
	}
}

func name(number int64) string { return fmt.Sprintf("trial %d", number) }

// trial tells how far the running trial got.
func (n *narrator) trial(policy *v1alpha1.RuntimeTuningPolicy) {
	now, was := policy.Status.Trial, n.before.Trial
	if was == nil || was.Number != now.Number {
		n.add(name(now.Number), "tries %s instead of %s. %s", settingsText(now.Candidate), settingsText(now.Previous.Settings), now.Reason)
		was = &v1alpha1.Trial{Number: now.Number, Stage: v1alpha1.StageCanary, Step: -1}
	}
	if was.Stage == v1alpha1.StageCanary {
		n.canary(policy, was)
	}
	if was.Stage == now.Stage {
		return
	}
	switch now.Stage {
	case v1alpha1.StagePromoting:
		n.add(name(now.Number), "PROMOTED: %s is the new baseline; the other pods follow, %s at a time", settingsText(now.Candidate), policy.Spec.Rollout.MaxUnavailable)
	case v1alpha1.StageReverting:
		n.add(name(now.Number), "REVERTS: %s. %s", now.End.Reason, now.End.Message)
	}
}

// canary tells of steps, of pods that took a slot, and of how they are judged.
func (n *narrator) canary(policy *v1alpha1.RuntimeTuningPolicy, was *v1alpha1.Trial) {
	now, steps := policy.Status.Trial, len(policy.Spec.Rollout.Steps)
	passed := now.Step > was.Step || now.Stage == v1alpha1.StagePromoting
	if passed && was.Step >= 0 {
		n.add(name(now.Number), "step %d of %d passed. %s", was.Step+1, steps, evidence(now.Verdict))
	}
	if now.Stage != v1alpha1.StageCanary {
		return
	}
	if now.Step > was.Step {
		n.add(name(now.Number), "step %d of %d: canary pods: %s, with control pods of the same age beside them", now.Step+1, steps, policy.Spec.Rollout.Steps[now.Step].Canary.String())
	}
	for _, slot := range now.Slots {
		if slot.PodName != "" && !slices.Contains(was.Slots, slot) {
			n.add(name(now.Number), "pod %s started with the candidate", slot.PodName)
		}
	}
	sameStep := now.Step == was.Step
	if now.VerifiedAt != nil && (!sameStep || was.VerifiedAt == nil) {
		n.add(name(now.Number), "verified: the processes themselves show the candidate; warming up for %s", length(policy.Spec.Analysis.WarmUp))
	}
	if now.WarmAt != nil && (!sameStep || was.WarmAt == nil) {
		n.add(name(now.Number), "warm: judged every %s from now on", length(policy.Spec.Analysis.Interval))
	}
}
