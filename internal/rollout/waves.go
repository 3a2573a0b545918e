package rollout

import (
	"fmt"
	"slices"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
)

// finishIfTargetMoved ends the waves where the rest of the pods can't get the new baseline from gopacer's hand: a new revision takes
// over, whose pods are born with it if they may have it, unless it is what the trial waits for, or what it was proven on has changed, or no pod is asked for.
func (m *machine) finishIfTargetMoved() bool {
	footing, err := settings.FootingFromAPI(m.trial.Footing)
	if err == nil && footing == m.Footing && (m.Revision == m.trial.Revision || m.Plan.AtNextRollout) && m.Replicas > 0 {
		return false
	}
	return m.endPromoted()
}

// tuned are the pods with the new baseline, untuned those that still have the old one. A pod that can't be read is neither, and stays:
// its successor could not be read either.
func (m *machine) tuned() []Pod {
	return m.pick(func(pod Pod) bool { return runs(pod, m.candidate) })
}

func (m *machine) untuned() []Pod {
	return m.pick(func(pod Pod) bool { return pod.Unreadable == "" && pod.Settings != m.candidate })
}

// revertOnWaveHarm keeps the guardrails of the Kubernetes API on while the rest of the pods follow. They are compared with pods of the
// trial's time: a restart of months ago excuses nothing.
func (m *machine) revertOnWaveHarm() bool {
	return m.revertIfHarmed(m.tuned(), m.pick(m.isFreshBaseline))
}

// revertOnWaveBreach keeps the objectives on, for all pods with the new baseline, against those that still have the old one.
func (m *machine) revertOnWaveBreach() bool {
	tuned := m.inTheirStride(m.tuned())
	m.blind = len(tuned) == 0 && len(m.tuned()) > 0
	if len(tuned) == 0 {
		return false // no pod to judge is not the same as no data of it: the waves wait for those that start, or begin with the first
	}
	judged := m.judgeObjectives(tuned, m.inTheirStride(m.untuned()))
	switch judged.Outcome {
	case v1alpha1.OutcomeFail:
		m.trial.Verdict = &judged
		return m.revert(judged.Reason, judged.Message)
	case v1alpha1.OutcomeInvalid:
		return !m.atRest() && m.revertWithoutData(judged)
	}
	if last := m.trial.LastDataAt; last == nil || m.Now.Sub(last.Time) >= m.waveInterval() { // not at every look: each would be a write
		m.sawData()
		m.changed()
		return m.revertOnWaveQuery(tuned)
	}
	return false
}

// revertOnWaveQuery holds pods with the new baseline against the policy's own queries, once an interval: the mean of a short window is but a
// hint, and three in a row above the bound are a breach.
func (m *machine) revertOnWaveQuery(tuned []Pod) bool {
	var bad []v1alpha1.BadWindows
	for _, slo := range m.Plan.SLOs {
		if !slo.Query {
			continue
		}
		check := verdict.OnPods(slo, m.Recent, m.members(tuned))
		if check.Outcome != v1alpha1.OutcomeFail {
			continue
		}
		before := slices.IndexFunc(m.trial.BadWindows, func(one v1alpha1.BadWindows) bool { return one.Check == slo.Name })
		counted := v1alpha1.BadWindows{Check: slo.Name, Count: 1}
		if before >= 0 {
			counted.Count += m.trial.BadWindows[before].Count
		}
		if counted.Count >= verdict.BadLooks {
			judged := verdict.Combine(m.Now, []v1alpha1.Check{check})
			m.trial.Verdict = &judged
			return m.revert(judged.Reason, judged.Message)
		}
		bad = append(bad, counted)
	}
	m.trial.BadWindows = bad
	return false
}

// nextWave replaces pods that do not have the new baseline yet, as many at a time as maxUnavailable allows. Pods that were born in the waves
// without it are left to the drift sweep, which knows to wait until admission works.
func (m *machine) nextWave() bool {
	born := m.bornUntuned()
	rest := slices.DeleteFunc(m.untuned(), func(pod Pod) bool {
		return pod.Revision != m.trial.Revision || pod.HandedOver || m.isStarting(pod) ||
			slices.ContainsFunc(born, func(other Pod) bool { return other.UID == pod.UID })
	})
	under := owned(m.Pods)
	if len(rest) == 0 && len(handedOver(m.Pods)) == 0 && len(under) >= m.Replicas && allReady(under) {
		return false
	}
	switch {
	case len(born) >= mostMisses:
		return m.endPromoted()
	case m.Now.Sub(m.latest(m.tuned())) >= ProgressDeadline+m.Plan.WarmUp+m.RecentLength:
		return m.endStuck()
	case !m.Hold && !m.Unsettled && !m.blind:
		m.decision.Actions = m.affordable(rest)
	}
	return m.wait()
}

// endStuck ends waves that do not get on. A pod with the new baseline that does not start is held against it. Else what is proven stays
// proven: an eviction is blocked, or the target does not come to rest, and the drift sweep goes on.
func (m *machine) endStuck() bool {
	for _, pod := range m.tuned() {
		if !pod.Ready {
			return m.revert(v1alpha1.ReasonProgressDeadlineExceeded, fmt.Sprintf("pod %s does not get ready with the new baseline", pod.Name))
		}
	}
	return m.endPromoted()
}

// bornUntuned are pods that started in the waves without the new baseline.
func (m *machine) bornUntuned() []Pod {
	return m.pick(func(pod Pod) bool {
		return !runs(pod, m.candidate) && pod.CreatedAt.After(m.trial.StepStartedAt.Time)
	})
}

// finishWaves looks at the last of the pods for a warm-up and a window more, and then ends the trial.
func (m *machine) finishWaves() bool {
	if m.trial.VerifiedAt == nil {
		now := m.now()
		m.trial.VerifiedAt = &now
		m.changed()
		return true
	}
	if m.Now.Sub(m.trial.VerifiedAt.Time) < m.Plan.WarmUp+m.RecentLength {
		return true
	}
	return m.endPromoted()
}

// endPromoted tells why the candidate is the baseline: its verdict, or, where no trial of its own came before, that a person wanted it.
func (m *machine) endPromoted() bool {
	message := "approved by a person"
	if m.trial.Verdict != nil {
		message = m.trial.Verdict.Message
	}
	return m.end(v1alpha1.TrialPromoted, v1alpha1.ReasonPromoted, message)
}

// giveReason fills in why the trial goes back, if the status does not say.
func (m *machine) giveReason() bool {
	if m.trial.End != nil {
		return false
	}
	return m.revert(v1alpha1.ReasonSuperseded, "the status says Reverting but not why")
}

// goesBack says that a revert replaces a pod. One that has a slot and runs the baseline, since that was what was measured, may stay.
func (m *machine) goesBack(pod Pod) bool {
	return m.runsCandidate(pod) || m.slotOf(pod) != nil && !runs(pod, m.baselineOf(pod))
}

// takeBack replaces the pods that run the candidate. Those that are down anyway go at once; so do the others, as maxUnavailable allows, where the
// candidate did harm. It waits for those that are going or handed over, but not for ever: a pod on a lost node may never be gone, and gets no
// request.
func (m *machine) takeBack() bool {
	var left []Pod
	going := false
	for _, pod := range m.Pods {
		switch {
		case !m.goesBack(pod):
			going = going || pod.HandedOver && !pod.Terminating
		case pod.Terminating:
			going = true
		default:
			left = append(left, pod)
			if pod.Pinned {
				m.decision.Pinned = append(m.decision.Pinned, pod)
			}
		}
	}
	m.replaceInRevert(left)
	m.decision.Force = true
	if len(left) > 0 || going && m.Now.Sub(m.trial.End.At.Time) < ProgressDeadline {
		return m.wait()
	}
	return false
}

// finishRevert ends the trial once a look at the API server itself, late enough that no admitted pod is still on its way, found no
// pod with the candidate.
func (m *machine) finishRevert() bool {
	if left := AdmissionBound - m.Now.Sub(m.trial.End.At.Time); left > 0 {
		m.decision.Wait = max(min(left, m.decision.Wait), shortestWait)
		return true
	}
	result := resultOf(m.trial.End.Reason)
	m.decision.Events = append(m.decision.Events, Event{Reason: v1alpha1.EventTrialReverted, Warning: result == v1alpha1.TrialReverted,
		Message: fmt.Sprintf("trial %d went back: every pod runs the baseline again", m.trial.Number)})
	return m.end(result, m.trial.End.Reason, m.trial.End.Message)
}

// resultOf a trial that went back.
func resultOf(reason string) v1alpha1.TrialResult {
	switch reason {
	case v1alpha1.ReasonMeasured:
		return v1alpha1.TrialMeasured
	case v1alpha1.ReasonRecommended:
		return v1alpha1.TrialRecommended
	}
	return v1alpha1.TrialReverted
}
