package rollout

import (
	"fmt"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// awaitPerson leaves a trial that has passed every step where it is, with its guards and verdicts, for a person to promote.
func (m *machine) awaitPerson() bool {
	if m.trial.PassedAt != nil {
		return true
	}
	now := m.now()
	m.trial.PassedAt = &now
	m.changed()
	m.event(v1alpha1.EventAwaitingPromotion, "trial %d waits until %s for a person to promote %s: annotate the policy with %s", m.trial.Number,
		now.Add(PromotionDeadline).UTC().Format("2006-01-02 15:04 MST"), m.candidate.Canonical(), v1alpha1.AnnotationPromote)
	return true
}

// promoteInTime takes a candidate back that nobody has promoted.
func (m *machine) promoteInTime() bool {
	passed := m.trial.PassedAt
	if passed == nil || m.Hold || m.Now.Sub(passed.Time) < PromotionDeadline {
		return false
	}
	return m.revert(v1alpha1.ReasonPromotionTimedOut, fmt.Sprintf("nobody promoted it within %s of its last step", PromotionDeadline))
}

// promoteIfAsked promotes on the latest verdict where that is of this interval and all that are asked for in a row were good. An older one is
// judged anew first.
func (m *machine) promoteIfAsked() bool {
	passed := m.trial.PassedAt != nil && int(m.trial.Step) >= len(m.Plan.Steps)-1 && m.judged() && m.trial.Verdict.Outcome == v1alpha1.OutcomePass
	if !m.Promote || m.Hold || !passed || !m.hasGoodWindows() || m.unprovable() != "" {
		return false
	}
	since := m.Now.Sub(m.trial.Verdict.At.Time)
	return since >= 0 && since < m.Plan.Interval && m.promote()
}

// looks is how many verdicts share the chance of a false alarm. Those that come while the trial waits for a person are many more: they get as much
// of it together as the steps had.
func (m *machine) looks() int {
	looks := m.Plan.looks()
	if m.trial.PassedAt != nil && m.Plan.Interval > 0 {
		looks += int(PromotionDeadline / m.Plan.Interval)
	}
	return looks
}

// WaitsForRollout says that no pod is to be replaced until the next deploy brings pods that are born with the new baseline.
func (p Plan) WaitsForRollout(trial *v1alpha1.Trial) bool {
	return p.AtNextRollout && trial != nil && trial.Stage == v1alpha1.StagePromoting
}

// awaitRollout keeps the guards on, and replaces no pod, until a deploy has given every pod the new baseline. Where none comes, what is proven
// stays proven.
func (m *machine) awaitRollout() bool {
	if !m.Plan.WaitsForRollout(m.trial) {
		return false
	}
	switch under := owned(m.Pods); {
	case m.Now.Sub(m.trial.StepStartedAt.Time) >= NextRolloutDeadline, len(m.bornUntuned()) >= mostMisses:
		return m.endPromoted()
	case !m.Unsettled && !m.blind && len(under) >= m.Replicas && len(m.untuned()) == 0 && allReady(under):
		return false // finishWaves looks a while longer
	}
	return true
}

// atRest says that the pods of the new baseline wait for a deploy that has not begun: nothing rests on data meanwhile, so that the lack of
// it changes nothing. The clock of such a lack starts with the deploy.
func (m *machine) atRest() bool {
	if !m.Plan.WaitsForRollout(m.trial) || m.Revision != m.trial.Revision {
		return false
	}
	if last := m.trial.LastDataAt; last != nil && m.Now.Sub(last.Time) >= m.Plan.NoDataTimeout {
		m.trial.LastDataAt = nil
		m.changed()
	}
	return true
}

// waveInterval is how often it is written down that there is data of the waves: seldom where they may last for weeks.
func (m *machine) waveInterval() time.Duration {
	if m.Plan.WaitsForRollout(m.trial) {
		return max(m.Plan.Interval, m.Plan.NoDataTimeout/2)
	}
	return m.Plan.Interval
}
