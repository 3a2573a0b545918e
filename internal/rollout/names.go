package rollout

import (
	"cmp"
	"slices"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// A StatefulSet's pod has its predecessor's name, so that no name is new, and none can be given at admission. There a slot is for one name, and
// remembers which pod has that name when it opens: `replaces`. What makes that as safe as a name that was never used:
//
//   - The name is the lock here too. Two pods can't have it at a time, so no more pods run the candidate than there are slots, however often
//     and by however many webhook replicas the slot is granted.
//   - A pod takes the slot only if it came after that one, which had no chance to get the candidate, and it shows the candidate.
//   - Once podUID is written the slot is never granted again; its pod gone, the slot goes too. A pod of the name that starts then, or while no
//     slot is open, gets the baseline.
//   - Until podUID is written, a pod that took the slot and went may be followed by another that takes it: one at a time, as before.

// named says that a slot is for a pod of a certain name.
func named(slot v1alpha1.Slot) bool { return slot.Replaces != "" }

// namedSlots are for up to count pods that live: the highest ordinals first, as with a partition. Those that are not up come later, for
// they may never be, and control pods last: to give one up would begin the step anew.
func (m *machine) namedSlots(count int) []v1alpha1.Slot {
	pods := m.pick(func(pod Pod) bool {
		return pod.Revision == m.trial.Revision && !pod.Pinned && m.slotOf(pod) == nil && !m.isAimedAt(pod)
	})
	slices.SortFunc(pods, func(a, b Pod) int {
		return cmp.Or(boolean(m.isControl(a))-boolean(m.isControl(b)), boolean(b.Ready)-boolean(a.Ready), compareOrdinals(b, a))
	})
	var slots []v1alpha1.Slot
	for _, pod := range pods[:min(count, len(pods))] {
		slots = append(slots, v1alpha1.Slot{PodName: pod.Name, Replaces: pod.UID})
	}
	return slots
}

func boolean(is bool) int {
	if is {
		return 1
	}
	return 0
}

// compareOrdinals goes by names that differ in the number at their end alone.
func compareOrdinals(a, b Pod) int {
	return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
}

// isAimedAt says that an open slot waits for the pod to make room.
func (m *machine) isAimedAt(pod Pod) bool {
	return slices.ContainsFunc(m.trial.Slots, func(slot v1alpha1.Slot) bool { return slot.PodUID == "" && slot.Replaces == pod.UID })
}

// makesRoom says that another pod can take an open slot once the pod is gone.
func (m *machine) makesRoom(pod Pod) bool {
	return !m.StableNames || m.openCount() == 0 || m.isAimedAt(pod)
}

// outOfReach says that a slot is for a name that no pod has or will get: the target was scaled down.
func (m *machine) outOfReach(slot v1alpha1.Slot) bool {
	return named(slot) && len(living(m.Pods)) >= m.Replicas &&
		!slices.ContainsFunc(m.Pods, func(pod Pod) bool { return pod.Name == slot.PodName })
}

// miss aims a slot at a pod that came up under its name without the candidate, and counts that, but for the second in which the slot opened:
// the webhook may not have heard of it yet. The pod itself is replaced, and so forgotten.
func (m *machine) miss(slot v1alpha1.Slot, pod Pod) v1alpha1.Slot {
	if pod.CreatedAt.After(m.trial.StepStartedAt.Time) {
		m.trial.Misses++
	}
	slot.Replaces = pod.UID
	m.changed()
	return slot
}
