package rollout

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// quickLook is the wait while pods come and go; watches usually wake the loop before.
const quickLook = 2 * time.Second

// shortestWait keeps a look from following on itself at once, and from being the last: no wait means that nobody looks again.
const shortestWait = time.Second

// machine carries one look. Its steps are methods that say whether the look is over.
type machine struct {
	View
	trial     *v1alpha1.Trial
	candidate settings.Settings
	decision  Decision
	// over says that a step ended the look.
	over bool
	// strays are pods that run the candidate without a slot.
	strays []Pod
	// guarding says that this look comes between two verdicts, and asks for the absolute limits alone.
	guarding bool
	// blind says that no pod of the waves has run for long enough to be judged.
	blind bool
}

// Opening is what a trial begins with.
type Opening struct {
	Number    int64
	Purpose   v1alpha1.TrialPurpose
	Candidate settings.Settings
	// Reason says why this candidate, in one sentence.
	Reason   string
	Previous v1alpha1.Baseline
	// Margins that the trial is judged with, to its end.
	Margins []v1alpha1.Margin
}

// Start opens a trial. Its first slots come with the next look. A trial that only measures has one step, the last: what is learned on fewer
// pods is not worth another restart of them.
func Start(view View, opening Opening) Decision {
	trial := opening.trial(view)
	if !promotes(trial) {
		trial.Step = int32(max(0, len(view.Plan.Steps)-1))
	}
	return Decision{Trial: trial, Changed: true, Events: []Event{{Reason: v1alpha1.EventTrialStarted,
		Message: fmt.Sprintf("trial %d tries %s: %s", trial.Number, opening.Candidate.Canonical(), trial.Reason)}}}
}

// StartApproved promotes what a person approved, with the guards of the waves on: the trial has no canary steps.
func StartApproved(view View, opening Opening) Decision {
	m := &machine{View: view, trial: opening.trial(view), candidate: opening.Candidate}
	m.decision.Trial = m.trial
	m.trial.Verdict = nil
	m.makeBaseline()
	m.event(v1alpha1.EventTrialPromoted, "trial %d: %s is the new baseline, as approved", opening.Number, opening.Candidate.Canonical())
	m.changed()
	return m.decision
}

// promotes says that a trial is there for a promotion, not only to measure. A trial of an older version has no purpose.
func promotes(trial *v1alpha1.Trial) bool {
	return trial.Purpose == "" || trial.Purpose == v1alpha1.PurposePromote
}

func (o Opening) trial(view View) *v1alpha1.Trial {
	now := stamp(view.Now)
	return &v1alpha1.Trial{
		Number: o.Number, Purpose: o.Purpose, Candidate: o.Candidate.API(), Reason: Truncate(o.Reason), Footing: view.Footing.API(), Previous: o.Previous,
		Margins: o.Margins, Revision: view.Revision, Stage: v1alpha1.StageCanary, StartedAt: now, StepStartedAt: now,
	}
}

// Advance takes a trial one look further.
func Advance(trial v1alpha1.Trial, view View) (Decision, error) {
	m, err := newMachine(trial, view)
	if err != nil {
		return Decision{}, err
	}
	measured, unmeasured := m.steps()
	m.run(unmeasured)
	if !m.over {
		m.run(measured)
	}
	if m.decision.Changed {
		m.decision.Actions = Actions{} // written first, acted on with the next look
	} else {
		m.settle()
		m.relabel()
	}
	return m.decision, nil
}

// NeedsMeasurements says whether the look rests on Prometheus. What the Kubernetes API alone decides is acted on first, so that a
// Prometheus that answers slowly, or not at all, delays no revert.
func NeedsMeasurements(trial v1alpha1.Trial, view View) (bool, error) {
	m, err := newMachine(trial, view)
	if err != nil {
		return false, err
	}
	_, unmeasured := m.steps()
	m.run(unmeasured)
	return !m.over, nil
}

func newMachine(trial v1alpha1.Trial, view View) (*machine, error) {
	candidate, err := settings.FromAPI(trial.Candidate)
	if err != nil {
		return nil, fmt.Errorf("read the candidate of trial %d from the policy's status: %w", trial.Number, err)
	}
	m := &machine{View: view, trial: trial.DeepCopy(), candidate: candidate}
	m.Recent, m.Evidence = withoutPredecessors(m.Recent, m.Pods), withoutPredecessors(m.Evidence, m.Pods)
	m.decision.Wait = max(min(view.Plan.Interval, GuardInterval), shortestWait) // a spec that can't be read has no interval
	m.decision.Trial = m.trial
	return m, nil
}

// steps are those of the trial's stage, in order: first what the Kubernetes API decides, then what rests on measurements.
func (m *machine) steps() (measured, unmeasured []func() bool) {
	switch m.trial.Stage {
	case v1alpha1.StageCanary:
		unmeasured = []func() bool{
			m.stopIfAsked, m.stopIfTargetMoved, m.bindSlots, m.revertIfUndone, m.revertIfResized, m.revertOnHarm, m.stopClockOnHold, m.evictStrays, m.openSlots,
			m.gatherControls, m.promoteInTime, m.gatherUnmeasured, m.promoteIfAsked, m.waitForInterval,
		}
		measured = []func() bool{m.guard, m.revertOnEarlyBreach, m.gatherPods, m.verify, m.warmUp, m.judge}
	case v1alpha1.StagePromoting:
		unmeasured = []func() bool{m.finishIfTargetMoved, m.stopIfAsked, m.revertOnWaveHarm, m.stopClockOnHold}
		measured = []func() bool{m.revertOnWaveBreach, m.awaitRollout, m.nextWave, m.finishWaves}
	case v1alpha1.StageReverting:
		unmeasured = []func() bool{m.giveReason, m.takeBack, m.finishRevert}
	default:
		unmeasured = []func() bool{m.revertUnknownStage}
	}
	return measured, unmeasured
}

// revertUnknownStage: a stage that a newer version wrote. Going back is the one thing that is always right.
func (m *machine) revertUnknownStage() bool {
	return m.revert(v1alpha1.ReasonSuperseded, fmt.Sprintf("the status names stage %q, which this version does not know", m.trial.Stage))
}

// run takes the steps in order until one says that the look is over.
func (m *machine) run(steps []func() bool) {
	for _, step := range steps {
		if step() {
			m.over = true
			return
		}
	}
}

func (m *machine) changed()         { m.decision.Changed = true }
func (m *machine) now() metav1.Time { return stamp(m.Now) }

// stamp cuts a time to what survives in a status.
func stamp(at time.Time) metav1.Time { return metav1.NewTime(at.Truncate(time.Second)) }

func (m *machine) event(reason, format string, args ...any) {
	m.decision.Events = append(m.decision.Events, Event{Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// wait ends the look; the next comes soon.
func (m *machine) wait() bool {
	m.decision.Wait = min(quickLook, m.decision.Wait)
	return true
}

// stopIfAsked reverts for a reason outside of the trial.
func (m *machine) stopIfAsked() bool {
	if m.Stop == nil {
		return false
	}
	if m.trial.Stage == v1alpha1.StagePromoting && m.Stop.Reason == v1alpha1.ReasonPolicyDeleted {
		return m.endPromoted() // proven already: what its pods keep is for the deletion policy to say
	}
	return m.revert(m.Stop.Reason, m.Stop.Message)
}

// revert closes the slots. Pods are taken back from the next look on, when the status is written: until then a webhook may still
// grant an open slot.
func (m *machine) revert(reason, message string) bool {
	if m.trial.Stage != v1alpha1.StageCanary { // a stage that this version does not know may have promoted as well
		m.decision.Baseline = m.trial.Previous.DeepCopy()
	}
	m.trial.Stage = v1alpha1.StageReverting
	m.trial.End = &v1alpha1.TrialEnd{Reason: reason, Message: Truncate(message), At: m.now()}
	m.trial.Slots = takenSlots(m.trial.Slots)
	m.changed()
	m.decision.Events = append(m.decision.Events, Event{Reason: v1alpha1.EventTrialReverting, Warning: resultOf(reason) == v1alpha1.TrialReverted,
		Message: fmt.Sprintf("trial %d goes back: %s: %s", m.trial.Number, reason, message)})
	return true
}

// end closes the trial and records it with its evidence.
func (m *machine) end(result v1alpha1.TrialResult, reason, message string) bool {
	m.decision.Record = &v1alpha1.TrialRecord{
		Number: m.trial.Number, Purpose: m.trial.Purpose, Candidate: m.trial.Candidate, Footing: m.trial.Footing, Result: result,
		Reason: reason, Message: Truncate(message), Previous: m.trial.Previous.DeepCopy(), Verdict: m.trial.Verdict,
		StartedAt: m.trial.StartedAt, EndedAt: m.now(),
	}
	m.decision.Trial = nil
	m.changed()
	return true
}

// relabel lists the pods whose cohort label does not say what the status says. The label is for people; nothing reads it.
func (m *machine) relabel() {
	for _, pod := range m.Pods {
		if want := m.cohort(pod); pod.Cohort != want && !pod.Terminating {
			m.decision.Relabel = append(m.decision.Relabel, Relabel{Pod: pod, Cohort: want})
		}
	}
}

func (m *machine) cohort(pod Pod) string {
	switch {
	case m.trial.Stage == v1alpha1.StagePromoting:
		return ""
	case m.trial.Stage == v1alpha1.StageReverting && m.goesBack(pod), m.trial.Stage != v1alpha1.StageReverting && m.slotOf(pod) != nil:
		return v1alpha1.CohortCanary
	case m.trial.Stage == v1alpha1.StageCanary && m.isControl(pod):
		return v1alpha1.CohortControl
	}
	return ""
}

// maxMessage is what the CRD admits.
const maxMessage = 512

// Truncate cuts a message to what a status admits.
func Truncate(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	runes := []rune(message)
	for len(string(runes)) > maxMessage-3 {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "..."
}
