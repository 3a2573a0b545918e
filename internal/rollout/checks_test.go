package rollout

import (
	"reflect"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/verdict"
)

// admissionLimit is how long after the slots closed the API server may store an admitted pod.
const admissionLimit = 34 * time.Second

// checkWorld holds what is so in the world against the status.
func (m *manager) checkWorld() {
	status := m.status()
	if status.trial == nil || m.promoted {
		return
	}
	open := map[string]bool{}
	for _, slot := range status.trial.Slots {
		open[slot.ID] = true
	}
	if status.trial.Purpose == v1alpha1.PurposeCalibrate {
		return // every pod runs the candidate: it is the baseline
	}
	for _, pod := range m.pods {
		if pod.Terminating || !runs(pod.Pod, m.candidate) || pod.CreatedAt.Before(epoch) || m.candidate == m.footings[pod.Revision].Declared {
			continue
		}
		id := pod.Name[max(0, len(pod.Name)-slotIDLength):]
		if m.stable {
			id = m.latestFor(pod.Name)
		}
		closedAt, closed := m.closed[id]
		switch holder, known := m.slotIDs[id]; {
		case !known:
			m.violate("I1", "pod %s runs the candidate and never had a slot", pod.Name)
		case holder != "" && holder != pod.UID && open[id]:
			m.violate("I1", "slot %s was taken by %s, and again by %s", id, holder, pod.UID)
		case closed && pod.CreatedAt.After(closedAt.Add(admissionLimit)):
			m.violate("I1", "pod %s came to life %s after its slot closed", pod.Name, pod.CreatedAt.Sub(closedAt))
		}
	}
}

// checkLook holds a decision against what led to it.
func (m *manager) checkLook(before v1alpha1.Trial, view View, decision Decision) {
	if decision.Wait < shortestWait || decision.Wait > max(m.plan.Interval, shortestWait) {
		m.violate("I9", "a wait of %s", decision.Wait)
	}
	if !decision.Changed && !reflect.DeepEqual(&before, decision.Trial) {
		m.violate("I9", "the status changed and the decision does not say so: %s", cmp.Diff(&before, decision.Trial))
	}
	if decision.Changed && (!decision.Actions.None() || len(decision.Relabel) > 0) {
		m.violate("I5", "pods are to be touched before the status is written")
	}
	m.checkFailFast(before, view, decision)
	m.checkEvidence(before, view, decision)
	m.checkAvailability(before, view, decision)
	m.checkScope(before, view, decision)
}

func reverting(decision Decision) bool {
	return decision.Trial != nil && decision.Trial.Stage == v1alpha1.StageReverting
}

// checkFailFast: what shows a breach reverts in the same look, and closes every open slot.
func (m *manager) checkFailFast(before v1alpha1.Trial, view View, decision Decision) {
	if before.Stage == v1alpha1.StageReverting {
		if !reverting(decision) && (decision.Record == nil || decision.Record.Result == v1alpha1.TrialPromoted) {
			m.violate("I3", "a revert was taken back")
		}
		return
	}
	harmed := slices.ContainsFunc(view.Pods, func(pod Pod) bool {
		return !pod.Terminating && (pod.Restarts > 0 || pod.OOMKilled) && slices.ContainsFunc(before.Slots, func(slot v1alpha1.Slot) bool { return slot.PodUID == pod.UID })
	})
	if before.Stage == v1alpha1.StageCanary && (harmed || view.Stop != nil) && !reverting(decision) {
		m.violate("I3", "harm, or a stop, did not revert: %+v", view.Stop)
	}
	if decision.Trial == nil {
		return
	}
	judged := decision.Trial.Verdict
	if judged != nil && judged.At.Time.Equal(view.Now) && judged.Outcome == v1alpha1.OutcomeFail && !reverting(decision) {
		m.violate("I3", "a verdict of Fail did not revert: %s", judged.Message)
	}
	if reverting(decision) && slices.ContainsFunc(decision.Trial.Slots, func(slot v1alpha1.Slot) bool { return slot.PodUID == "" }) {
		m.violate("I3", "a slot stays open in a revert")
	}
}

// checkEvidence: a step passes only where all its pods are there, verified and warm, and all of them are measured and good.
func (m *manager) checkEvidence(before v1alpha1.Trial, view View, decision Decision) {
	passed := slices.ContainsFunc(decision.Events, func(event Event) bool { return event.Reason == v1alpha1.EventStepPassed })
	promoted := decision.Baseline != nil && before.Stage == v1alpha1.StageCanary
	if promoted && !passed {
		m.violate("I2", "promoted without a pass")
	}
	if !passed {
		return
	}
	var cohort []string
	canaries := 0
	for _, pod := range view.Pods {
		slot := slices.ContainsFunc(before.Slots, func(slot v1alpha1.Slot) bool { return slot.PodUID == pod.UID })
		control := slices.ContainsFunc(before.Controls, func(control v1alpha1.CohortPod) bool { return control.PodUID == pod.UID })
		if !pod.Terminating && (slot || control) {
			cohort = append(cohort, pod.Name)
		}
		if slot && !pod.Terminating {
			canaries++
		}
	}
	step := m.plan.Steps[min(int(before.Step), len(m.plan.Steps)-1)]
	switch {
	case before.VerifiedAt == nil || before.WarmAt == nil || view.Now.Sub(before.WarmAt.Time) < step.Hold || view.Now.Sub(before.VerifiedAt.Time) < m.plan.WarmUp:
		m.violate("I2", "step %d passed before its time", before.Step)
	case canaries == 0 || canaries > m.plan.CanaryPods(int(before.Step), view.Replicas) || canaries != len(before.Slots):
		m.violate("I2", "step %d passed with %d canary pods, %d slots", before.Step, canaries, len(before.Slots))
	case m.data.overridden:
		m.violate("I2", "step %d passed though the processes run something else", before.Step)
	case view.Hold:
		m.violate("I2", "step %d passed while on hold", before.Step)
	}
	if judged := decision.Trial.Verdict; judged == nil || judged.Outcome != v1alpha1.OutcomePass || !judged.At.Time.Equal(view.Now) {
		m.violate("I4", "step %d passed with the verdict %+v", before.Step, judged)
	}
	for _, window := range []*signal.Window{view.Recent, view.Evidence} {
		if name := unmeasured(window, cohort); name != "" {
			m.violate("I4", "step %d passed without data of %s", before.Step, name)
		}
	}
}

// unmeasured names a pod of which a window does not tell enough.
func unmeasured(window *signal.Window, cohort []string) string {
	if window == nil {
		return "any pod"
	}
	for _, name := range cohort {
		pod := window.Pods[name]
		if !pod.Requests.OK() || pod.LatencyState != signal.Present || !pod.Fresh(window.MaxSampleAge(), verdict.MinCoverage) {
			return name
		}
	}
	return ""
}

// checkAvailability: a ready pod is given up only while no more than maxUnavailable are down then; with surge only where there is one too many,
// but for bad pods in a revert.
func (m *manager) checkAvailability(before v1alpha1.Trial, view View, decision Decision) {
	m.checkSurge(before, view, decision)
	ready, givenUp := 0, 0
	for _, pod := range view.Pods {
		if pod.Ready && !pod.Terminating {
			ready++
		}
	}
	for _, pod := range decision.Evict {
		if pod.Ready && !pod.Terminating {
			givenUp++
		}
	}
	if givenUp > 0 && view.Replicas-(ready-givenUp) > m.plan.Unavailable(view.Replicas) {
		m.violate("I6", "%d of %d pods are ready, and %d are given up", ready, view.Replicas, givenUp)
	}
}

// checkSurge: what is handed over is ready and bounded, and no pod that is available goes unless there is one too many.
func (m *manager) checkSurge(before v1alpha1.Trial, view View, decision Decision) {
	handed := len(handedOver(view.Pods)) + len(decision.HandOver)
	if len(decision.HandOver) > 0 && handed > m.surge {
		m.violate("I6", "%d pods are handed over, %d may be", handed, m.surge)
	}
	available := 0
	for _, pod := range view.Pods {
		available += boolean(view.available(pod) && !pod.Terminating)
	}
	for _, pod := range decision.HandOver {
		if !pod.Ready || pod.Terminating || pod.HandedOver {
			m.violate("I6", "pod %s is handed over, which serves nobody, or is already", pod.Name)
		}
	}
	for _, pod := range decision.Evict {
		if m.surge == 0 || !view.available(pod) || view.Replicas == 0 {
			continue
		}
		atOnce := before.Stage == v1alpha1.StageReverting && !slices.Contains(harmless, before.End.Reason)
		if available--; available < view.Replicas && !atOnce || available == 0 {
			m.violate("I6", "pod %s is evicted, and %d of %d are available", pod.Name, available, view.Replicas)
		}
	}
}

// checkScope: only pods that the stage calls for are replaced or labelled.
func (m *manager) checkScope(before v1alpha1.Trial, view View, decision Decision) {
	has := func(pods []Pod, uid types.UID) bool {
		return slices.ContainsFunc(pods, func(pod Pod) bool { return pod.UID == uid && !pod.Terminating })
	}
	for _, pod := range slices.Concat(decision.Evict, decision.HandOver) {
		slot := slices.ContainsFunc(before.Slots, func(slot v1alpha1.Slot) bool { return slot.PodUID == pod.UID })
		control := slices.ContainsFunc(before.Controls, func(control v1alpha1.CohortPod) bool { return control.PodUID == pod.UID })
		candidate := runs(pod, m.candidate)
		switch {
		case pod.HandedOver && has(view.Pods, pod.UID): // checkSurge looks at those
		case !has(view.Pods, pod.UID):
			m.violate("I7", "pod %s is not the target's, or is going already", pod.Name)
		case before.Stage == v1alpha1.StageCanary && (slot || control || pod.Revision != before.Revision):
			m.violate("I7", "pod %s of a cohort, or of another revision, is replaced in the canary stage", pod.Name)
		case before.Stage == v1alpha1.StagePromoting && (candidate || pod.Revision != before.Revision || pod.Unreadable != ""):
			m.violate("I7", "pod %s has the new baseline and is replaced", pod.Name)
		case before.Stage == v1alpha1.StageReverting && !slot && (!candidate || candidate && m.footings[pod.Revision].Declared == m.candidate):
			m.violate("I7", "pod %s does not run the candidate and is replaced in a revert", pod.Name)
		case before.Stage != v1alpha1.StageReverting && !candidate && !pod.Ready && !pod.CreatedAt.Before(epoch) && pod.CreatedAt.Equal(pod.ReadyChangedAt) &&
			view.Now.Sub(pod.CreatedAt) < ProgressDeadline:
			m.violate("I7", "pod %s is replaced while it starts", pod.Name)
		case m.hold && before.Stage != v1alpha1.StageReverting && !candidate:
			m.violate("I7", "pod %s is replaced while on hold", pod.Name)
		}
	}
	for _, change := range decision.Relabel {
		if !has(view.Pods, change.Pod.UID) || !slices.Contains([]string{"", v1alpha1.CohortCanary, v1alpha1.CohortControl}, change.Cohort) {
			m.violate("I7", "pod %s is labelled %q", change.Pod.Name, change.Cohort)
		}
	}
}

// checkRepeated: the same look leads to the same decision; after it was written, the next look at the same moment writes no more.
func (m *manager) checkRepeated(before v1alpha1.Trial, view View, decision Decision) {
	again, err := Advance(before, view)
	if err != nil {
		panic(err)
	}
	if !reflect.DeepEqual(decision, again) {
		m.violate("I5", "the same look decides something else the second time: %s", cmp.Diff(decision, again))
	}
}
