package rollout

import (
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// checkWritten looks at a status on its way to the API server.
func (m *manager) checkWritten(before v1alpha1.Trial, decision Decision) {
	if before.Stage != v1alpha1.StageCanary && reverting(decision) && before.Stage != v1alpha1.StageReverting {
		if decision.Baseline == nil || cmp.Diff(throughJSON(*decision.Baseline), throughJSON(m.previous)) != "" {
			m.violate("I8", "the revert of a promotion does not restore the previous baseline")
		}
	}
	if decision.Trial == nil {
		if decision.Record.Result == v1alpha1.TrialReverted && m.now.Sub(before.End.At.Time) < admissionLimit {
			m.violate("I1", "the revert ended while pods may still be admitted")
		}
		m.checkBounds(before, decision.Record.Message, decision.Record.Reason)
		return
	}
	trial := *decision.Trial
	if !reflect.DeepEqual(trial.Previous, before.Previous) || cmp.Diff(before.Previous, m.previous) != "" && before.SlotsOpened == 0 {
		m.violate("I8", "the previous baseline changed")
	}
	m.checkSteps(before, decision)
	m.checkSlots(before, trial)
	m.checkVerified(before, trial)
	end := v1alpha1.TrialEnd{}
	if trial.End != nil {
		end = *trial.End
	}
	m.checkBounds(trial, end.Message, end.Reason)
}

// checkSteps: every step passes once, and none is left out.
func (m *manager) checkSteps(before v1alpha1.Trial, decision Decision) {
	if !slices.ContainsFunc(decision.Events, func(event Event) bool { return event.Reason == v1alpha1.EventStepPassed }) {
		if decision.Trial.Step != before.Step {
			m.violate("I5", "step %d became %d without a pass", before.Step, decision.Trial.Step)
		}
		return
	}
	if int(before.Step) != len(m.passed) {
		m.violate("I5", "step %d passed after %v", before.Step, m.passed)
	}
	m.passed = append(m.passed, before.Step)
	if decision.Trial.Stage == v1alpha1.StagePromoting && len(m.passed) < len(m.plan.Steps) {
		m.violate("I2", "promoted after %d of %d steps", len(m.passed), len(m.plan.Steps))
	}
}

func (m *manager) checkSlots(before, after v1alpha1.Trial) {
	ids := map[string]bool{}
	for _, slot := range after.Slots {
		_, known := m.slotIDs[slot.ID]
		wasThere := slices.ContainsFunc(before.Slots, func(old v1alpha1.Slot) bool {
			return old.ID == slot.ID && (old.PodUID == "" || old.PodUID == slot.PodUID)
		})
		if ids[slot.ID] || known && !wasThere || len(slot.ID) != slotIDLength {
			m.violate("I1", "slot id %q was used before", slot.ID)
		}
		ids[slot.ID] = true
		if !known {
			m.slotNames = append(m.slotNames, openedFor{slot.PodName, slot.ID})
		}
		m.slotIDs[slot.ID] = slot.PodUID
	}
	for _, slot := range before.Slots {
		if !ids[slot.ID] || after.Stage != v1alpha1.StageCanary {
			if _, done := m.closed[slot.ID]; !done {
				m.closed[slot.ID] = m.now
			}
		}
	}
	want := m.plan.CanaryPods(int(after.Step), m.replicas)
	if after.Stage == v1alpha1.StageCanary && len(after.Slots) > max(want, len(before.Slots)) {
		m.violate("I1", "%d slots in a step of %d", len(after.Slots), want)
	}
}

// checkVerified: a step is verified with all its pods, each seen in Prometheus, and anew once it lost or got one.
func (m *manager) checkVerified(before, after v1alpha1.Trial) {
	if after.Stage != v1alpha1.StageCanary || after.VerifiedAt == nil {
		return
	}
	if before.VerifiedAt.Equal(after.VerifiedAt) {
		gone := slices.ContainsFunc(before.Slots, func(slot v1alpha1.Slot) bool {
			return !slices.ContainsFunc(m.pods, func(pod *worldPod) bool { return pod.UID == slot.PodUID && !pod.Terminating })
		})
		if gone || len(after.Slots) > len(before.Slots) {
			m.violate("I2", "step %d stays verified with other pods", after.Step)
		}
		return
	}
	recent := m.window(recentLength, m.candidate)
	for _, slot := range after.Slots {
		if recent == nil || !recent.Pods[slot.PodName].Sampled || m.data.overridden {
			m.violate("I2", "step %d is verified and nobody saw what pod %q runs", after.Step, slot.PodName)
		}
	}
	if len(after.Slots) != m.plan.CanaryPods(int(after.Step), m.replicas) || len(after.Controls) != m.plan.ControlPods(int(after.Step), m.replicas) {
		m.violate("I2", "step %d is verified with %d canary and %d control pods of %d", after.Step, len(after.Slots), len(after.Controls), m.replicas)
	}
}

func (m *manager) checkBounds(trial v1alpha1.Trial, message, reason string) {
	long := len(message) > 512 || len(trial.Reason) > 512 || len(reason) > 63 || strings.ContainsAny(reason, " :")
	if long || len(trial.Slots) > 500 || len(trial.Controls) > 500 || trial.Step < 0 {
		m.violate("bounds", "the CRD refuses the status: %+v", trial)
	}
	if trial.Verdict != nil && (len(trial.Verdict.Checks) > 24 || len(trial.Verdict.Message) > 512) {
		m.violate("bounds", "the CRD refuses the verdict: %+v", trial.Verdict)
	}
}
