package rollout

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
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

// runsCandidate says that a pod has the candidate's settings and not, by chance, those to go back to.
func (m *machine) runsCandidate(pod Pod) bool {
	return pod.Settings == m.candidate && (m.slotOf(pod) != nil || !pod.CreatedAt.Before(m.trial.StartedAt.Time))
}

// bindSlots records which pod took which slot, and gives up slots whose pod is gone: their id is spent. It never ends the look.
func (m *machine) bindSlots() bool {
	alive := map[types.UID]bool{}
	for _, pod := range m.Pods {
		alive[pod.UID] = !pod.Terminating
	}
	var kept []v1alpha1.Slot
	for _, slot := range m.trial.Slots {
		switch {
		case slot.PodUID == "":
			kept = append(kept, m.bind(slot))
		case alive[slot.PodUID]:
			kept = append(kept, slot)
		default:
			m.changed()
			m.restartStep()
		}
	}
	m.trial.Slots = kept
	return false
}

func (m *machine) bind(slot v1alpha1.Slot) v1alpha1.Slot {
	for _, pod := range m.Pods {
		if strings.HasSuffix(pod.Name, slot.ID) && pod.Revision == m.trial.Revision && !pod.Terminating && pod.Settings == m.candidate {
			slot.PodUID, slot.PodName = pod.UID, pod.Name
			m.changed()
		}
	}
	return slot
}

// restartStep begins the step anew after it lost a pod: its successor must be verified and warmed up like the others.
func (m *machine) restartStep() {
	m.trial.StepStartedAt = m.now()
	m.trial.VerifiedAt, m.trial.WarmAt, m.trial.LastDataAt = nil, nil, nil
}

// openSlots opens as many slots as the step still allows. It ends the look where it opened one: a slot counts once it is written.
func (m *machine) openSlots() bool {
	want := m.Plan.CanaryPods(int(m.trial.Step), m.Replicas)
	if len(m.trial.Slots) >= want || m.Hold || m.Unsettled {
		return false
	}
	if m.trial.SlotsOpened >= int64(3*want+3) {
		return m.revert(v1alpha1.ReasonCanariesLost, "canary pods keep disappearing: see who deletes or evicts them")
	}
	for len(m.trial.Slots) < want {
		m.trial.SlotsOpened++
		m.trial.Slots = append(m.trial.Slots, v1alpha1.Slot{ID: slotID(m.PolicyUID, m.trial)})
	}
	m.changed()
	m.event(v1alpha1.EventStepStarted, "trial %d, step %d of %d: %d canary pods", m.trial.Number, m.trial.Step+1, len(m.Plan.Steps), want)
	return m.wait()
}

// evictStrays takes down pods that run the candidate without a slot: one that was admitted when its slot was given up, or one too
// many after the target was scaled down.
func (m *machine) evictStrays() bool {
	want := m.Plan.CanaryPods(int(m.trial.Step), m.Replicas)
	if surplus := len(m.trial.Slots) - want; surplus > 0 {
		m.trial.Slots = m.trial.Slots[:want]
		m.changed()
		return m.wait()
	}
	var strays []Pod
	for _, pod := range m.Pods {
		if m.runsCandidate(pod) && m.slotOf(pod) == nil && !pod.Terminating {
			strays = append(strays, pod)
		}
	}
	if len(strays) == 0 || m.decision.Changed {
		return false
	}
	m.decision.Replace = m.affordable(strays)
	return m.wait()
}
