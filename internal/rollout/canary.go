package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
)

// stopIfTargetMoved ends the trial where what it rests on has changed: another revision, other declared settings, another limit.
func (m *machine) stopIfTargetMoved() bool {
	if m.Revision != m.trial.Revision {
		return m.revert(v1alpha1.ReasonSuperseded, "the target has a new revision")
	}
	footing, err := settings.FootingFromAPI(m.trial.Footing)
	if err != nil || footing != m.Footing {
		return m.revert(v1alpha1.ReasonSuperseded, "the target's declared settings or memory limit changed")
	}
	if reason := m.Plan.Feasible(m.Replicas); reason != "" {
		return m.revert(v1alpha1.ReasonSuperseded, "the target was scaled down: "+reason)
	}
	return false
}

// canaries are the pods that took a slot, controls those they are compared with. A pod of a verified step is known to have been ready.
func (m *machine) canaries() []Pod {
	return m.pick(func(pod Pod) bool { return m.slotOf(pod) != nil })
}

func (m *machine) controls() []Pod { return m.pick(m.isControl) }

func (m *machine) isControl(pod Pod) bool {
	return slices.ContainsFunc(m.trial.Controls, func(control v1alpha1.CohortPod) bool { return control.PodUID == pod.UID })
}

func (m *machine) pick(in func(Pod) bool) []Pod {
	var pods []Pod
	for _, pod := range m.Pods {
		if in(pod) && !pod.Terminating {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (m *machine) members(pods []Pod) []verdict.Member {
	members := make([]verdict.Member, 0, len(pods))
	for _, pod := range pods {
		member := verdict.Member{Name: pod.Name, Health: pod.Health}
		member.WasReady = member.Ready || m.trial.VerifiedAt != nil
		members = append(members, member)
	}
	return members
}

// revertOnHarm asks the guardrails of the Kubernetes API, from the first canary pod on, warm-up or not.
func (m *machine) revertOnHarm() bool {
	return m.revertIfHarmed(m.canaries(), m.controls())
}

func (m *machine) revertIfHarmed(tuned, compared []Pod) bool {
	health := verdict.JudgeHealth(m.Now, m.members(tuned), m.members(compared))
	if health.Outcome != v1alpha1.OutcomeFail {
		return false
	}
	m.trial.Verdict = &health
	return m.revert(health.Reason, health.Message)
}

// gatherPods replaces pods until every slot is taken and there are as many fresh control pods. It lets the look go on once all of
// them are ready.
func (m *machine) gatherPods() bool {
	m.gatherControls()
	missing := m.openCount() + m.Plan.ControlPods(int(m.trial.Step), m.Replicas) - len(m.trial.Controls)
	if missing <= 0 && allReady(m.canaries()) && allReady(m.controls()) {
		return false
	}
	switch {
	case m.Hold:
		return true
	case m.trial.VerifiedAt != nil:
		return false // a pod of a verified step that lost its readiness is the guardrails' and the verdict's business
	case m.overdue():
		return m.revert(v1alpha1.ReasonProgressDeadlineExceeded, fmt.Sprintf("after %s the pods of step %d are not ready", ProgressDeadline, m.trial.Step+1))
	case m.openCount() > 0 && len(m.misses()) >= maxMisses:
		return m.revert(v1alpha1.ReasonNotAdmitted, "new pods start without the candidate: the admission webhook is down, or its work is undone by another")
	}
	if !m.decision.Changed && !m.Unsettled {
		m.decision.Replace = m.affordable(m.replaceable(missing - m.onTheirWay()))
	}
	return m.wait()
}

func (m *machine) overdue() bool {
	return m.Now.Sub(m.trial.StepStartedAt.Time) >= ProgressDeadline
}

// gatherControls keeps the control pods that live and adds fresh ones: as old as the canary pods, since a process that has run for
// days has other caches and another heap.
func (m *machine) gatherControls() {
	want := m.Plan.ControlPods(int(m.trial.Step), m.Replicas)
	var kept []v1alpha1.CohortPod
	for _, pod := range m.pick(m.isFreshBaseline) {
		if (m.isControl(pod) || pod.Ready && m.openCount() == 0) && len(kept) < want {
			kept = append(kept, v1alpha1.CohortPod{PodUID: pod.UID, PodName: pod.Name})
		}
	}
	if !slices.Equal(kept, m.trial.Controls) {
		if lost(m.trial.Controls, kept) && m.trial.VerifiedAt != nil {
			m.restartStep()
		}
		m.trial.Controls = kept
		m.changed()
	}
}

func lost(before, after []v1alpha1.CohortPod) bool {
	return slices.ContainsFunc(before, func(pod v1alpha1.CohortPod) bool { return !slices.Contains(after, pod) })
}

// isFreshBaseline says that a pod started within the trial, of its revision, without the candidate.
func (m *machine) isFreshBaseline(pod Pod) bool {
	return pod.Revision == m.trial.Revision && !pod.CreatedAt.Before(m.trial.StartedAt.Time) && m.slotOf(pod) == nil && pod.Settings != m.candidate
}

// misses are pods that started without the candidate while the step had an open slot.
func (m *machine) misses() []Pod {
	return m.pick(func(pod Pod) bool {
		return m.isFreshBaseline(pod) && !m.isControl(pod) && !pod.CreatedAt.Before(m.trial.StepStartedAt.Time)
	})
}

// onTheirWay counts pods that will fill a slot or become control without another eviction: not created yet, or not ready yet.
func (m *machine) onTheirWay() int {
	living := m.pick(func(Pod) bool { return true })
	starting := m.pick(func(pod Pod) bool { return m.isFreshBaseline(pod) && !pod.Ready })
	return max(0, m.Replicas-len(living)) + len(starting)
}

// replaceable are up to n pods to give up for a canary or control pod: the oldest first, which are least like those to come.
func (m *machine) replaceable(n int) []Pod {
	pods := m.pick(func(pod Pod) bool {
		return pod.Revision == m.trial.Revision && m.slotOf(pod) == nil && !m.isControl(pod)
	})
	slices.SortFunc(pods, func(a, b Pod) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Name, b.Name))
	})
	return pods[:min(max(n, 0), len(pods))]
}

func (m *machine) affordable(wanted []Pod) []Pod {
	return Affordable(m.Plan, m.Replicas, m.Pods, wanted)
}

// Affordable are the first of the wanted pods that may go down now: never more of the target's pods are down than maxUnavailable says,
// whatever brought the others down. A pod that is down already costs nothing.
func Affordable(plan Plan, replicas int, all, wanted []Pod) []Pod {
	budget := plan.Unavailable(replicas) - replicas
	for _, pod := range all {
		if pod.Ready && !pod.Terminating {
			budget++
		}
	}
	budget = min(budget, plan.Unavailable(replicas))
	var affordable []Pod
	for _, pod := range wanted {
		if !pod.Ready {
			affordable = append(affordable, pod)
		} else if budget > 0 {
			affordable = append(affordable, pod)
			budget--
		}
	}
	return affordable
}

func allReady(pods []Pod) bool {
	return !slices.ContainsFunc(pods, func(pod Pod) bool { return !pod.Ready })
}

// verify waits until the processes themselves show the candidate. The pod's environment is no proof: an app may override it in code.
func (m *machine) verify() bool {
	waiting := "Prometheus gave no answer"
	if m.Recent != nil {
		waiting = ""
		for _, pod := range m.canaries() {
			applied, message := verdict.SettingsOf(m.Recent.Pods[pod.Name], m.Recent.MaxSampleAge(), m.candidate, pod.CreatedAt)
			switch applied {
			case verdict.Overridden:
				return m.revert(v1alpha1.ReasonNotApplied, fmt.Sprintf("canary pod %s: %s", pod.Name, message))
			case verdict.Unseen:
				waiting = fmt.Sprintf("canary pod %s: %s", pod.Name, message)
			}
		}
	}
	switch {
	case m.trial.VerifiedAt != nil:
		return false
	case waiting == "":
		now := m.now()
		m.trial.VerifiedAt = &now
		m.changed()
		return true
	case m.overdue() && !m.Hold:
		return m.revert(v1alpha1.ReasonNoData, fmt.Sprintf("after %s the pods of step %d are not verified: %s", ProgressDeadline, m.trial.Step+1, waiting))
	}
	return m.wait()
}

// warmUp waits until the processes are in their stride. Caches and heap of a young process say nothing of the candidate.
func (m *machine) warmUp() bool {
	if m.trial.WarmAt != nil {
		return false
	}
	elapsed := m.Now.Sub(m.trial.VerifiedAt.Time)
	if elapsed < m.Plan.WarmUp || elapsed < MaxWarmUp && !m.haveCollected() {
		return true
	}
	now := m.now()
	m.trial.WarmAt, m.trial.LastDataAt = &now, &now
	m.changed()
	return true
}

func (m *machine) haveCollected() bool {
	if m.Recent == nil {
		return false
	}
	for _, pod := range slices.Concat(m.canaries(), m.controls()) {
		if cycles := m.Recent.Pods[pod.Name].GCCyclesTotal; !cycles.OK() || cycles.Number < WarmUpGCCycles {
			return false
		}
	}
	return true
}

// judge asks for the verdict once a whole window lies behind the warm-up, and acts on it.
func (m *machine) judge() bool {
	sinceWarm := m.Now.Sub(m.trial.WarmAt.Time)
	if sinceWarm < m.RecentLength {
		return true
	}
	step := m.Plan.Steps[min(int(m.trial.Step), len(m.Plan.Steps)-1)]
	held := sinceWarm >= step.Hold
	last := int(m.trial.Step) >= len(m.Plan.Steps)-1
	judged := verdict.Judge(verdict.Input{
		Now: m.Now, Canary: m.members(m.canaries()), Control: m.members(m.controls()), SLOs: m.Plan.SLOs, Gain: m.Plan.Gain,
		Recent: m.Recent, Evidence: m.Evidence, JudgeGain: held && last,
	})
	m.trial.Verdict = &judged
	m.changed()
	switch judged.Outcome {
	case v1alpha1.OutcomeFail:
		return m.revert(judged.Reason, judged.Message)
	case v1alpha1.OutcomePass:
		m.sawData()
		return held && !m.Hold && m.pass(last)
	case v1alpha1.OutcomeInconclusive:
		m.sawData()
		return m.inconclusive(judged, sinceWarm, step.Hold)
	default:
		return m.revertWithoutData(judged)
	}
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
	if m.Hold || sinceWarm < 3*hold+m.Plan.NoDataTimeout {
		return true
	}
	return m.revert(judged.Reason, fmt.Sprintf("undecided after %s: %s", sinceWarm.Round(time.Second), judged.Message))
}

// pass goes to the next step, or promotes after the last.
func (m *machine) pass(last bool) bool {
	m.event(v1alpha1.EventStepPassed, "trial %d passed step %d of %d: %s", m.trial.Number, m.trial.Step+1, len(m.Plan.Steps), m.trial.Verdict.Message)
	if last {
		return m.promote()
	}
	m.trial.Step++
	m.restartStep()
	return m.wait()
}

// promote makes the candidate the baseline. The status says so before any other pod is touched.
func (m *machine) promote() bool {
	promoted := metav1.NewTime(m.Now)
	m.decision.Baseline = &v1alpha1.Baseline{
		Source: v1alpha1.BaselinePromoted, Settings: m.trial.Candidate, Footing: m.trial.Footing, PromotedAt: &promoted,
	}
	m.trial.Stage = v1alpha1.StagePromoting
	m.trial.Controls = nil
	m.restartStep()
	m.event(v1alpha1.EventTrialPromoted, "trial %d: %s is the new baseline: %s", m.trial.Number, m.candidate.Canonical(), m.trial.Verdict.Message)
	return m.wait()
}
