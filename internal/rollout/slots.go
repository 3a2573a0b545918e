package rollout

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// slotAlphabet is that of Kubernetes' own name suffixes: no vowels, so no words (apimachinery, util/rand).
const slotAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// slotIDLength is fixed by the CRD.
const slotIDLength = 8

// slotID derives an id that is never used twice: from the policy, the trial, the moment it started, and the count of its slots. Being
// derived, it is the same when a manager that died before its write comes back.
func slotID(policy types.UID, trial *v1alpha1.Trial) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d/%d", policy, trial.Number, trial.StartedAt.Unix(), trial.SlotsOpened))
	id := make([]byte, slotIDLength)
	for i := range id {
		id[i] = slotAlphabet[int(sum[i])%len(slotAlphabet)]
	}
	return string(id)
}

func takenSlots(slots []v1alpha1.Slot) []v1alpha1.Slot {
	var taken []v1alpha1.Slot
	for _, slot := range slots {
		if slot.PodUID != "" {
			taken = append(taken, slot)
		}
	}
	return taken
}

func (m *machine) openCount() int { return len(m.trial.Slots) - len(takenSlots(m.trial.Slots)) }

// slotOf is the slot that a pod took; nil where it took none.
func (m *machine) slotOf(pod Pod) *v1alpha1.Slot {
	for i := range m.trial.Slots {
		if m.trial.Slots[i].PodUID == pod.UID {
			return &m.trial.Slots[i]
		}
	}
	return nil
}

// runs says that a pod was given the settings, as far as its environment tells.
func runs(pod Pod, wanted settings.Settings) bool {
	return pod.Unreadable == "" && pod.Settings == wanted
}

// baselineOf are the settings that a pod should run where the trial gives it none: the previous baseline, or, where that does not
// stand on the pod's template, what the template declares.
func (m *machine) baselineOf(pod Pod) settings.Settings {
	footing := m.Footing
	if started, err := settings.FootingFromAPI(m.trial.Footing); err == nil && pod.Revision == m.trial.Revision {
		footing = started
	}
	previous := m.trial.Previous
	if previous.Source != v1alpha1.BaselinePromoted {
		return footing.Declared
	}
	if onThis, ok := settings.FromAPIOn(previous.Settings, previous.Footing, footing); ok {
		return onThis
	}
	return footing.Declared
}

// runsCandidate says that a pod has the candidate from this trial. A pod has it by right where its template came to declare the same; and
// from elsewhere where it was created long after the slots closed. To evict those would go on for ever: their successors have it too.
func (m *machine) runsCandidate(pod Pod) bool {
	if !runs(pod, m.candidate) || m.candidate == m.baselineOf(pod) {
		return false
	}
	if m.trial.End != nil && pod.CreatedAt.After(m.trial.End.At.Add(2*AdmissionBound)) {
		return false
	}
	// What a revision between the trial's and the current one declares is not known, and its pods are on their way out.
	return pod.Revision == m.trial.Revision || pod.Revision == m.Revision && !pod.CreatedAt.Before(m.trial.StartedAt.Time)
}

// bindSlots records which pod took which slot, and gives up slots whose pod is gone: their id is spent. It never ends the look.
func (m *machine) bindSlots() bool {
	var kept []v1alpha1.Slot
	for _, slot := range m.trial.Slots {
		pod, found := m.podIn(slot)
		switch {
		case !found && slot.PodUID == "" && !m.outOfReach(slot):
			kept = append(kept, slot)
		case !found || pod.Terminating:
			m.restartStep()
			m.changed()
		case slot.PodUID == "" && named(slot) && !runs(pod, m.candidate):
			kept = append(kept, m.miss(slot, pod))
		case slot.PodUID == "":
			kept = append(kept, v1alpha1.Slot{ID: slot.ID, PodUID: pod.UID, PodName: pod.Name})
			m.changed()
		default:
			kept = append(kept, slot)
		}
	}
	m.trial.Slots = kept
	return false
}

// podIn is the pod that took a slot: known by its UID, or, before that is recorded, by its name, which only admission gives, or which the slot
// is for.
func (m *machine) podIn(slot v1alpha1.Slot) (Pod, bool) {
	for _, pod := range m.Pods {
		if slot.PodUID != "" && pod.UID == slot.PodUID || slot.PodUID == "" && pod.Revision == m.trial.Revision && mayHold(slot, pod) {
			return pod, true
		}
	}
	return Pod{}, false
}

func mayHold(slot v1alpha1.Slot, pod Pod) bool {
	if named(slot) {
		return pod.Name == slot.PodName && pod.UID != slot.Replaces
	}
	return strings.HasSuffix(pod.Name, slot.ID)
}

// revertIfUndone: a pod with a slot was given the candidate. Where it does not have it, another webhook has undone that, or the policy now
// names another container.
func (m *machine) revertIfUndone() bool {
	for _, pod := range m.canaries() {
		if runs(pod, m.candidate) {
			continue
		}
		found := fmt.Sprintf("%q", pod.Settings.Canonical())
		if pod.Unreadable != "" {
			found = pod.Unreadable
		}
		return m.revert(v1alpha1.ReasonNotAdmitted, fmt.Sprintf("canary pod %s was given %s and has not got it: %s", pod.Name, m.candidate.Canonical(), found))
	}
	return false
}

// restartStep begins the step anew after it lost a pod: its successor must be verified and warmed up like the others.
func (m *machine) restartStep() {
	m.trial.StepStartedAt = m.now()
	m.trial.VerifiedAt, m.trial.WarmAt, m.trial.LastDataAt = nil, nil, nil
	m.trial.PassedAt = nil // what takes the place of a lost pod has passed nothing
	m.trial.GoodWindows, m.trial.BadWindows, m.trial.Misses = 0, nil, 0
}

func (m *machine) wantedCanaries() int { return m.Plan.CanaryPods(int(m.trial.Step), m.Replicas) }
func (m *machine) wantedControls() int { return m.Plan.ControlPods(int(m.trial.Step), m.Replicas) }

// openSlots opens as many slots as the step still allows. It ends the look where it opened one: a slot counts once it is written. A
// step that is verified does not grow with the target, the next one does: with every pod that an autoscaler adds it would begin anew.
func (m *machine) openSlots() bool {
	want := m.wantedCanaries()
	if len(m.trial.Slots) >= want || m.Hold || m.Unsettled || m.trial.VerifiedAt != nil || len(m.strays) > 0 {
		return false
	}
	if m.tooManyLost() {
		return m.revertLost()
	}
	opened := m.newSlots(want - len(m.trial.Slots))
	if len(opened) == 0 {
		return false
	}
	m.trial.Slots = append(m.trial.Slots, opened...)
	m.restartStep() // pods that were born before could not take a slot, and are no sign that admission fails
	m.changed()
	m.event(v1alpha1.EventStepStarted, "trial %d, step %d of %d: %d canary pods", m.trial.Number, m.trial.Step+1, len(m.Plan.Steps), want)
	return m.wait()
}

// newSlots spends as many ids.
func (m *machine) newSlots(count int) []v1alpha1.Slot {
	opened := make([]v1alpha1.Slot, count)
	if m.StableNames {
		opened = m.namedSlots(count)
	}
	for i := range opened {
		m.trial.SlotsOpened++
		opened[i].ID = slotID(m.PolicyUID, m.trial)
	}
	return opened
}

// tooManyLost bounds how often a trial begins a step anew. Every slot that was given up has spent an id, and so has every lost control pod.
func (m *machine) tooManyLost() bool { return m.trial.SlotsOpened >= int64(3*m.wantedCanaries()+3) }

func (m *machine) revertLost() bool {
	return m.revert(v1alpha1.ReasonCanariesLost, "pods of the trial keep disappearing: see who deletes, evicts or scales them")
}

// evictStrays takes down pods that run the candidate without a slot: one that was admitted when its slot was given up, or one too
// many after the target was scaled down. It lets the look go on: a stray that can't be evicted must not keep the guards from acting.
func (m *machine) evictStrays() bool {
	if want := m.wantedCanaries(); len(m.trial.Slots) > want {
		open := slices.DeleteFunc(slices.Clone(m.trial.Slots), func(slot v1alpha1.Slot) bool { return slot.PodUID != "" })
		m.trial.Slots = append(takenSlots(m.trial.Slots), open...)[:want]
		m.changed()
		return m.wait()
	}
	m.strays = m.pick(func(pod Pod) bool { return m.runsCandidate(pod) && m.slotOf(pod) == nil })
	m.decision.Actions = paced(m.View, m.strays)
	return false
}
