package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// stopClockOnHold keeps the deadlines of a trial that a person holds from running: released, it gets the better half of the time at least.
func (m *machine) stopClockOnHold() bool {
	if !m.Hold {
		return false
	}
	if m.trial.VerifiedAt == nil && m.Now.Sub(m.trial.StepStartedAt.Time) >= ProgressDeadline/2 {
		m.trial.StepStartedAt = m.now()
		m.changed()
	}
	if passed := m.trial.PassedAt; passed != nil && m.Now.Sub(passed.Time) >= PromotionDeadline/2 {
		now := m.now()
		m.trial.PassedAt = &now
		m.changed()
	}
	return false
}

// gatherControls keeps the control pods that live and adds fresh ones: as old as the canary pods, since a process that has run for
// days has other caches and another heap. A verified step takes no new ones.
func (m *machine) gatherControls() bool {
	want := m.wantedControls()
	fresh := m.pick(m.isFreshBaseline)
	var kept []v1alpha1.CohortPod
	for _, pod := range fresh {
		if m.isControl(pod) {
			kept = append(kept, v1alpha1.CohortPod{PodUID: pod.UID, PodName: pod.Name})
		}
	}
	lost := len(m.trial.Controls) - len(kept)
	if lost > 0 && len(kept) < want {
		m.trial.SlotsOpened += int64(lost)
		if m.tooManyLost() {
			return m.revertLost()
		}
		m.restartStep()
	}
	kept = kept[:min(len(kept), want)]
	for _, pod := range fresh {
		if len(kept) < want && pod.Ready && !m.isControl(pod) && m.openCount() == 0 && m.trial.VerifiedAt == nil {
			kept = append(kept, v1alpha1.CohortPod{PodUID: pod.UID, PodName: pod.Name})
		}
	}
	if !slices.Equal(kept, m.trial.Controls) {
		m.trial.Controls = kept
		m.changed()
	}
	return false
}

// gatherUnmeasured gathers pods without a question to Prometheus, as long as no canary pod of an earlier step needs to be watched.
func (m *machine) gatherUnmeasured() bool {
	return len(m.inTheirStride(m.canaries())) == 0 && m.gatherPods()
}

// gatherPods replaces pods until every slot is taken, and then until there are as many fresh control pods. It lets the look go on once all
// of them are ready. A pod of a verified step that lost its readiness is the guardrails' and the verdict's business.
func (m *machine) gatherPods() bool {
	if m.trial.VerifiedAt != nil || m.gathered() {
		return false
	}
	switch misses := len(m.misses()) + int(m.trial.Misses); {
	case m.Hold:
		return true
	case m.overdue() && m.Unsteady:
		return m.revert(v1alpha1.ReasonWaitingForStableReplicas,
			fmt.Sprintf("after %s the pods of step %d are not ready: the number of replicas keeps changing", ProgressDeadline, m.trial.Step+1))
	case m.overdue():
		return m.revert(v1alpha1.ReasonProgressDeadlineExceeded, fmt.Sprintf("after %s the pods of step %d are not ready", ProgressDeadline, m.trial.Step+1))
	case misses >= mostMisses:
		return m.revert(v1alpha1.ReasonNotAdmitted, fmt.Sprintf("%d new pods started without the settings that they should have: "+
			"the admission webhook is down, or its work is undone by another", misses))
	}
	if !m.Unsettled && len(m.strays) == 0 {
		m.decision.Actions = m.affordable(m.replaceable(m.needed()))
	}
	return m.wait()
}

func (m *machine) gathered() bool {
	return len(takenSlots(m.trial.Slots)) >= m.wantedCanaries() && len(m.trial.Controls) >= m.wantedControls() &&
		allReady(m.canaries()) && allReady(m.controls())
}

// overdue says that the step's pods do not get on.
func (m *machine) overdue() bool {
	return m.Now.Sub(m.latest(slices.Concat(m.canaries(), m.controls()))) >= ProgressDeadline
}

// latest is when the last of the pods was created, or the step started, if that was later.
func (m *machine) latest(pods []Pod) time.Time {
	latest := m.trial.StepStartedAt.Time
	for _, pod := range pods {
		if pod.CreatedAt.After(latest) {
			latest = pod.CreatedAt
		}
	}
	return latest
}

// isFreshBaseline says that a pod started within the trial, of its revision, with the baseline.
func (m *machine) isFreshBaseline(pod Pod) bool {
	return pod.Revision == m.trial.Revision && !pod.HandedOver && !pod.CreatedAt.Before(m.trial.StartedAt.Time) && m.slotOf(pod) == nil &&
		!m.isAimedAt(pod) && runs(pod, m.baselineOf(pod)) && !m.resized(pod)
}

// misses are pods that started without the candidate while a slot was open, or with neither candidate nor baseline. Those of the second
// in which the slots opened are left out: the webhook may not have heard of them yet. Where a slot is for one name, trial.misses counts the
// pods of that name, and others had no slot to take.
func (m *machine) misses() []Pod {
	missed := m.openCount() > 0 && !m.StableNames
	return m.pick(func(pod Pod) bool {
		return pod.Revision == m.trial.Revision && pod.CreatedAt.After(m.trial.StepStartedAt.Time) && m.slotOf(pod) == nil && !m.isControl(pod) &&
			!m.isAimedAt(pod) && (missed || !runs(pod, m.baselineOf(pod)))
	})
}

// mostMisses is how many pods start without what they should have until admission counts as broken, however many may be down at once. One is
// let pass: a call of the webhook may time out.
const mostMisses = 2

// needed is how many pods to give up now. The slots come first: while one is open, a pod that starts without the candidate shows that
// admission does not work. Successors that are not created yet, and control pods that are not ready yet, need no other eviction.
func (m *machine) needed() int {
	unborn := max(0, m.Replicas-len(owned(m.Pods)))
	if open := m.openCount(); open > 0 || len(m.trial.Slots) < m.wantedCanaries() {
		return open - unborn
	}
	starting := m.pick(func(pod Pod) bool { return m.isFreshBaseline(pod) && !m.isControl(pod) && !pod.Ready })
	return m.wantedControls() - len(m.trial.Controls) - unborn - len(starting)
}

// isStarting says that a pod of the trial's time may still get ready. Evicting such pods, though they are down and cost nothing, would keep
// their successors from ever getting ready.
func (m *machine) isStarting(pod Pod) bool {
	return !pod.Ready && !pod.CreatedAt.Before(m.trial.StartedAt.Time) && m.Now.Sub(pod.CreatedAt) < ProgressDeadline
}

// replaceable are up to n pods to give up for a canary or control pod: the oldest first, which are least like those to come. A pod
// that is still starting is not given up.
func (m *machine) replaceable(n int) []Pod {
	pods := m.pick(func(pod Pod) bool {
		return pod.Revision == m.trial.Revision && !pod.HandedOver && m.slotOf(pod) == nil && !m.isControl(pod) && !m.isStarting(pod) &&
			m.makesRoom(pod)
	})
	slices.SortFunc(pods, func(a, b Pod) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Name, b.Name))
	})
	return pods[:min(max(n, 0), len(pods))]
}

// affordable are the pods that may be replaced for the trial to get on: none while more are down than may be, though those that are down
// would cost nothing. In an outage nothing is touched.
func (m *machine) affordable(wanted []Pod) Actions {
	ready := m.pick(func(pod Pod) bool { return pod.Ready })
	most := m.Plan.Unavailable(m.Replicas)
	if m.Replicas-len(ready) > most {
		return Actions{}
	}
	actions := paced(m.View, wanted)
	actions.Evict = actions.Evict[:min(most, len(actions.Evict))]
	actions.HandOver = actions.HandOver[:min(most-len(actions.Evict), len(actions.HandOver))]
	return actions
}

// Affordable are the first of the wanted pods that may go down now: never more of the target's pods are down than maxUnavailable says,
// whatever brought the others down. A pod that is down already costs nothing. A pinned pod never goes.
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
		if pod.Pinned {
			continue
		}
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
