package rollout

import (
	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/verdict"
)

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

// revertOnEarlyBreach looks while the step's pods come and warm up, until the first verdict: that may take many minutes, and nobody else looks.
// The objectives are on for canary pods of earlier steps, the limits that no warm-up excuses for all.
func (m *machine) revertOnEarlyBreach() bool {
	if m.judged() || m.Recent == nil {
		return false
	}
	limits := m.input(m.canaries(), m.controls())
	limits.SLOs = nil
	judged := verdict.Guard(limits)
	early := m.trial.WarmAt == nil || m.trial.Step > 0 // the first verdict of the first step sees what there is to compare with
	if tuned := m.inTheirStride(m.canaries()); early && judged.Outcome != v1alpha1.OutcomeFail && len(tuned) > 0 {
		judged = m.judgeObjectives(tuned, m.inTheirStride(m.pick(m.isFreshBaseline)))
	}
	if judged.Outcome != v1alpha1.OutcomeFail {
		return false
	}
	m.trial.Verdict = &judged
	return m.revert(judged.Reason, judged.Message)
}

// judgeObjectives holds pods against the objectives and the absolute limits alone. A breach that the untuned pods show too is a shared one.
func (m *machine) judgeObjectives(tuned, untuned []Pod) v1alpha1.Verdict {
	if m.Recent == nil {
		return verdict.Combine(m.Now, []v1alpha1.Check{{
			Name: "data", Outcome: v1alpha1.OutcomeInvalid, Reason: v1alpha1.ReasonNoData, Message: "Prometheus gave no answer",
		}})
	}
	canary, control := m.members(tuned), m.members(untuned)
	limits := verdict.Guard(m.input(tuned, untuned))
	if limits.Outcome == v1alpha1.OutcomeFail {
		return limits
	}
	var checks []v1alpha1.Check
	for _, slo := range m.Plan.SLOs {
		if slo.Query {
			continue // one look says little of it
		}
		check := verdict.OnPods(slo, m.Recent, canary)
		if check.Reason == v1alpha1.ReasonTooFewRequests {
			check.Outcome = v1alpha1.OutcomeInconclusive // promoted on evidence already; a quiet minute is no reason to go back
		}
		if check.Outcome == v1alpha1.OutcomeFail && verdict.OnPods(slo, m.Recent, control).Outcome == v1alpha1.OutcomeFail {
			check.Reason = v1alpha1.ReasonSharedBreach
		}
		checks = append(checks, check)
	}
	return verdict.Combine(m.Now, checks)
}
