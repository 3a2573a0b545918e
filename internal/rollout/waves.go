package rollout

import (
	"fmt"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/verdict"
)

// finishIfTargetMoved ends the waves where a new revision takes over: its pods are born with the new baseline, if they may have it.
func (m *machine) finishIfTargetMoved() bool {
	if m.Revision == m.trial.Revision {
		return false
	}
	return m.endPromoted()
}

// revertOnWaveHarm keeps the guards on while the rest of the pods follow: health and objectives of all pods with the new baseline,
// against those that still have the old one.
func (m *machine) revertOnWaveHarm() bool {
	tuned := m.members(m.pick(func(pod Pod) bool { return pod.Settings == m.candidate }))
	old := m.members(m.pick(func(pod Pod) bool { return pod.Settings != m.candidate }))
	checks := verdict.Guardrails(m.Now, tuned, old)
	for _, slo := range m.Plan.SLOs {
		check := verdict.OnPods(slo, m.Recent, tuned)
		if check.Outcome == v1alpha1.OutcomeFail && verdict.OnPods(slo, m.Recent, old).Outcome == v1alpha1.OutcomeFail {
			check.Reason = v1alpha1.ReasonSharedBreach
		}
		checks = append(checks, check)
	}
	judged := verdict.Combine(m.Now, checks)
	switch judged.Outcome {
	case v1alpha1.OutcomeFail:
		m.trial.Verdict = &judged
		return m.revert(judged.Reason, judged.Message)
	case v1alpha1.OutcomeInvalid:
		return m.revertWithoutData(judged.Message)
	}
	m.sawData()
	return false
}

// nextWave replaces pods that do not have the new baseline yet, as many at a time as maxUnavailable allows.
func (m *machine) nextWave() bool {
	rest := m.pick(func(pod Pod) bool { return pod.Settings != m.candidate })
	living := m.pick(func(Pod) bool { return true })
	if len(rest) == 0 && len(living) >= m.Replicas && allReady(living) {
		return false
	}
	if !m.Hold && !m.Unsettled {
		m.decision.Replace = m.affordable(rest)
	}
	return m.wait()
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

func (m *machine) endPromoted() bool {
	message := ""
	if m.trial.Verdict != nil {
		message = m.trial.Verdict.Message
	}
	return m.end(v1alpha1.TrialPromoted, v1alpha1.ReasonPromoted, message)
}

// takeBack replaces the pods that run the candidate. Those that are down anyway go at once; the others as maxUnavailable allows.
func (m *machine) takeBack() bool {
	var left []Pod
	gone := true
	for _, pod := range m.Pods {
		if !m.runsCandidate(pod) && m.slotOf(pod) == nil {
			continue
		}
		gone = false
		if !pod.Terminating {
			left = append(left, pod)
		}
	}
	m.decision.Replace = m.affordable(left)
	if gone {
		return false
	}
	return m.wait()
}

// finishRevert ends the trial once a look at the API server itself, late enough that no admitted pod is still on its way, found no
// pod with the candidate.
func (m *machine) finishRevert() bool {
	if m.trial.End == nil {
		return m.revert(v1alpha1.ReasonSuperseded, "the status says Reverting but not why")
	}
	if left := AdmissionBound - m.Now.Sub(m.trial.End.At.Time); left > 0 {
		m.decision.Wait = min(left, m.Plan.Interval)
		return true
	}
	m.decision.Events = append(m.decision.Events, Event{Reason: v1alpha1.EventTrialReverted, Warning: true,
		Message: fmt.Sprintf("trial %d went back: every pod runs the baseline again", m.trial.Number)})
	return m.end(v1alpha1.TrialReverted, m.trial.End.Reason, m.trial.End.Message)
}
