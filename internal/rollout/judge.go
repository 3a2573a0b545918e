package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/verdict"
)

// waitForInterval leaves a look that comes sooner after the last verdict than the policy asks for to the guard, where the interval is
// longer than the guard's own, and ends it otherwise: pods that come and go, and every write of the status, make for looks.
func (m *machine) waitForInterval() bool {
	if !m.judged() {
		return false
	}
	since := m.Now.Sub(m.trial.Verdict.At.Time)
	if since < 0 || since >= m.Plan.Interval {
		return false
	}
	m.decision.Wait = max(min(m.Plan.Interval-since, GuardInterval), shortestWait)
	if m.guarding = m.Plan.Interval > GuardInterval; !m.guarding && len(m.strays) > 0 {
		return m.wait()
	}
	return !m.guarding
}

// judged says that the step has had a verdict since its warm-up.
func (m *machine) judged() bool {
	return m.trial.WarmAt != nil && m.trial.Verdict != nil && !m.trial.Verdict.At.Before(m.trial.WarmAt)
}

// guard holds the canary pods against the absolute limits, between two verdicts. It writes nothing but a revert.
func (m *machine) guard() bool {
	if !m.guarding {
		return false
	}
	if m.Recent != nil {
		judged := verdict.Guard(m.input(m.canaries(), m.controls()))
		if judged.Outcome == v1alpha1.OutcomeFail {
			m.trial.Verdict = &judged
			return m.revert(judged.Reason, judged.Message)
		}
	}
	if len(m.strays) > 0 {
		return m.wait()
	}
	return true
}

// input is what a verdict on two cohorts rests on.
func (m *machine) input(canary, control []Pod) verdict.Input {
	return verdict.Input{
		Now: m.Now, Canary: m.members(canary), Control: m.members(control), SLOs: m.Plan.SLOs, Gain: m.Plan.Gain, Recent: m.Recent,
		Evidence: m.Evidence, Margins: verdict.ParseMargins(m.trial.Margins), Breaker: m.Plan.Breaker, Looks: m.looks(), BadWindows: m.trial.BadWindows,
	}
}

// judge asks for the verdict once a whole window lies behind the warm-up, and acts on it.
func (m *machine) judge() bool {
	sinceWarm := m.Now.Sub(m.trial.WarmAt.Time)
	if sinceWarm < m.RecentLength || len(m.Plan.Steps) == 0 {
		return true
	}
	step := m.Plan.Steps[min(int(m.trial.Step), len(m.Plan.Steps)-1)] // the policy may have fewer steps than when the trial began
	due := sinceWarm >= step.Hold && !m.Hold
	last := int(m.trial.Step) >= len(m.Plan.Steps)-1 || !promotes(m.trial)                                       // the plan may have more steps than when the trial began
	judged := m.takeVerdict(due && last && m.trial.Purpose != v1alpha1.PurposeMeasure && m.wantedControls() > 0) // a single pod has none to gain on
	switch judged.Outcome {
	case v1alpha1.OutcomeFail:
		m.keepMeasured(judged.Reason)
		return m.revert(judged.Reason, judged.Message)
	case v1alpha1.OutcomePass:
		m.sawData()
		return due && m.hasGoodWindows() && m.pass(last)
	case v1alpha1.OutcomeInconclusive:
		m.sawData()
		return due && last && m.finishUnproven() || m.inconclusive(judged, sinceWarm, step.Hold)
	}
	return m.revertWithoutData(judged)
}

func (m *machine) hasGoodWindows() bool { return int(m.trial.GoodWindows) >= m.Plan.GoodWindows }

// takeVerdict judges the step's pods, and keeps what the next look must know.
func (m *machine) takeVerdict(gain bool) v1alpha1.Verdict {
	in := m.input(m.canaries(), m.controls())
	in.JudgeGain = gain
	judged := verdict.Judge(in)
	m.trial.Verdict, m.trial.BadWindows, m.trial.Harm = &judged.Verdict, judged.BadWindows, judged.Harm
	m.changed()
	m.countGoodWindows(judged.Verdict, gain)
	return judged.Verdict
}

// countGoodWindows counts looks that pass. Where too few pods are there for a proof, its lack alone makes no look a bad one.
func (m *machine) countGoodWindows(judged v1alpha1.Verdict, gain bool) {
	good := judged.Outcome == v1alpha1.OutcomePass || gain && m.unproven(judged)
	switch {
	case !good:
		m.trial.GoodWindows = 0
	case int(m.trial.GoodWindows) < m.Plan.GoodWindows:
		m.trial.GoodWindows++
	}
}

// unprovable says why the step's pods can prove nothing; empty where they can. Pods that the target got since are none of them.
func (m *machine) unprovable() string { return unprovable(len(m.canaries()), len(m.controls())) }

// unproven says that nothing is wrong with the candidate but that so few pods can prove nothing.
func (m *machine) unproven(judged v1alpha1.Verdict) bool {
	return judged.Outcome == v1alpha1.OutcomeInconclusive && m.unprovable() != "" &&
		(judged.Reason == v1alpha1.ReasonGainUnproven || judged.Reason == v1alpha1.ReasonNotProvenHarmless)
}

// finishUnproven ends a trial that needs no proof: one that only measures, unless it may be about to fail, and one on too few pods, whose
// result a person decides on.
func (m *machine) finishUnproven() bool {
	switch {
	case !promotes(m.trial):
		return len(m.trial.BadWindows) == 0 && allReady(m.canaries()) && m.measured()
	case m.unproven(*m.trial.Verdict) && m.hasGoodWindows():
		return m.recommend()
	}
	return false
}

// measured ends a trial that was there to measure.
func (m *machine) measured() bool {
	m.keepMeasured(v1alpha1.ReasonMeasured)
	return m.revert(v1alpha1.ReasonMeasured, m.trial.Verdict.Message)
}

// keepMeasured hands on what a trial that is there to measure has measured, whatever it ends for.
func (m *machine) keepMeasured(reason string) {
	if promotes(m.trial) || m.Evidence == nil {
		return
	}
	m.decision.Measured = &Measured{Reason: reason, Window: *m.Evidence}
	for _, pod := range m.canaries() {
		m.decision.Measured.Canary = append(m.decision.Measured.Canary, pod.Name)
	}
	for _, pod := range m.controls() {
		m.decision.Measured.Control = append(m.decision.Measured.Control, pod.Name)
	}
}

// recommend takes a candidate back that did well on too few pods for a proof. What it gained comes first, and what may be cut off last.
func (m *machine) recommend() bool {
	gain, besides := verdict.GainFirst(*m.trial.Verdict)
	told := slices.DeleteFunc([]string{gain, m.unprovable(), "approve it in spec.approved to promote it", besides}, func(part string) bool { return part == "" })
	return m.revert(v1alpha1.ReasonRecommended, strings.Join(told, "; "))
}

func (m *machine) sawData() {
	now := m.now()
	m.trial.LastDataAt = &now
}

// revertWithoutData holds, and reverts after noDataTimeout: nothing is promoted blindly, nothing waits for ever.
func (m *machine) revertWithoutData(judged v1alpha1.Verdict) bool {
	if m.trial.LastDataAt == nil {
		m.sawData()
		m.changed()
		return true
	}
	if m.Now.Sub(m.trial.LastDataAt.Time) < m.Plan.NoDataTimeout {
		return true
	}
	return m.revert(judged.Reason, fmt.Sprintf("no usable data for %s: %s", m.Plan.NoDataTimeout, judged.Message))
}

// inconclusive gives the question more time, and then goes back.
func (m *machine) inconclusive(judged v1alpha1.Verdict, sinceWarm, hold time.Duration) bool {
	if m.Hold || m.trial.PassedAt != nil || sinceWarm < m.Plan.patience(hold) {
		return true
	}
	return m.revert(judged.Reason, fmt.Sprintf("undecided after %s: %s", sinceWarm.Round(time.Second), judged.Message))
}

// pass goes to the next step, or ends the last: with a promotion, where the trial is there for one.
func (m *machine) pass(last bool) bool {
	if last && !promotes(m.trial) {
		return m.measured()
	}
	if m.trial.PassedAt == nil || !last {
		m.event(v1alpha1.EventStepPassed, "trial %d passed step %d of %d: %s", m.trial.Number, m.trial.Step+1, len(m.Plan.Steps), m.trial.Verdict.Message)
	}
	switch {
	case !last:
		m.trial.Step++
		m.restartStep()
		return m.wait()
	case m.unprovable() != "":
		return m.recommend()
	case m.Plan.ByHand && !m.Promote:
		return m.awaitPerson()
	}
	return m.promote()
}

// promote makes the candidate the baseline. The status says so before any other pod is touched.
func (m *machine) promote() bool {
	m.makeBaseline()
	m.event(v1alpha1.EventTrialPromoted, "trial %d: %s is the new baseline: %s", m.trial.Number, m.candidate.Canonical(), m.trial.Verdict.Message)
	return m.wait()
}

func (m *machine) makeBaseline() {
	promoted := m.now()
	m.decision.Baseline = &v1alpha1.Baseline{
		Source: v1alpha1.BaselinePromoted, Settings: m.trial.Candidate, Footing: m.trial.Footing, PromotedAt: &promoted,
	}
	m.trial.Stage = v1alpha1.StagePromoting
	m.trial.Controls = nil
	m.restartStep()
}
