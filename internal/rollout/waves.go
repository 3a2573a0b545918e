package rollout

import (
	"fmt"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
)

// finishIfTargetMoved ends the waves where the rest of the pods can't get the new baseline from gopacer's hand: a new revision takes
// over, whose pods are born with it if they may have it, or what it was proven on has changed.
func (m *machine) finishIfTargetMoved() bool {
	footing, err := settings.FootingFromAPI(m.trial.Footing)
	if err == nil && footing == m.Footing && m.Revision == m.trial.Revision {
		return false
	}
	return m.endPromoted()
}

// tuned are the pods with the new baseline, untuned those that still have the old one.
func (m *machine) tuned() []Pod {
	return m.pick(func(pod Pod) bool { return pod.Settings == m.candidate })
}

func (m *machine) untuned() []Pod {
	return m.pick(func(pod Pod) bool { return pod.Settings != m.candidate })
}

// inTheirStride leaves out pods whose start still lies in the window.
func (m *machine) inTheirStride(pods []Pod) []Pod {
	var grown []Pod
	for _, pod := range pods {
		if m.Now.Sub(pod.CreatedAt) >= m.Plan.WarmUp+m.RecentLength {
			grown = append(grown, pod)
		}
	}
	return grown
}

// revertOnWaveHarm keeps the guardrails of the Kubernetes API on while the rest of the pods follow.
func (m *machine) revertOnWaveHarm() bool {
	return m.revertIfHarmed(m.tuned(), m.untuned())
}

// revertOnWaveBreach keeps the objectives on, for all pods with the new baseline, against those that still have the old one.
func (m *machine) revertOnWaveBreach() bool {
	tuned, untuned := m.members(m.inTheirStride(m.tuned())), m.members(m.inTheirStride(m.untuned()))
	var checks []v1alpha1.Check
	for _, slo := range m.Plan.SLOs {
		check := verdict.OnPods(slo, m.Recent, tuned)
		if check.Reason == v1alpha1.ReasonTooFewRequests {
			check.Outcome = v1alpha1.OutcomeInconclusive // promoted on evidence already; a quiet minute is no reason to go back
		}
		if check.Outcome == v1alpha1.OutcomeFail && verdict.OnPods(slo, m.Recent, untuned).Outcome == v1alpha1.OutcomeFail {
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
		return m.revertWithoutData(judged)
	}
	m.sawData()
	return false
}

// nextWave replaces pods that do not have the new baseline yet, as many at a time as maxUnavailable allows.
func (m *machine) nextWave() bool {
	rest := m.untuned()
	living := m.pick(func(Pod) bool { return true })
	if len(rest) == 0 && len(living) >= m.Replicas && allReady(living) {
		return false
	}
	if len(m.bornUntuned()) >= maxMisses {
		return m.endPromoted() // admission does not work: the sweep goes on, with its backoff, when it does
	}
	if !m.Hold && !m.Unsettled {
		m.decision.Replace = m.affordable(rest)
	}
	return m.wait()
}

// bornUntuned are pods that started in the waves without the new baseline.
func (m *machine) bornUntuned() []Pod {
	return m.pick(func(pod Pod) bool {
		return pod.Settings != m.candidate && pod.CreatedAt.After(m.trial.StepStartedAt.Time)
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
