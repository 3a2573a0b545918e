package rollout

import (
	"testing"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// sceneAt is a trial of bold on six pods that run promoted, at the moment.
func sceneAt(t *testing.T, when moment) *manager {
	t.Helper()
	return newWorld(1, 6).sceneAt(t, when)
}

// look takes the trial one look further, after an edit, and writes nothing. Windows are those of the edited trial's time.
func (m *manager) look(t *testing.T, edit func(*v1alpha1.Trial, *View)) Decision {
	t.Helper()
	trial, view := throughJSON(*m.status().trial), m.view()
	if edit != nil {
		edit(&trial, &view)
	}
	m.now = view.Now
	view.Recent, view.Evidence = m.window(recentLength, m.candidate), nil
	if length := EvidenceLength(&trial, view.Now, recentLength); length > 0 {
		view.Evidence = m.window(length, m.candidate)
	}
	decision, err := Advance(trial, view)
	if err != nil {
		t.Fatal(err)
	}
	return decision
}

// pod is the world's pod that takes the trial's i-th slot.
func (m *manager) canary(i int) *worldPod {
	return m.find(func(pod *worldPod) bool { return pod.UID == m.status().trial.Slots[i].PodUID })[0]
}

func (m *manager) control(i int) *worldPod {
	return m.find(func(pod *worldPod) bool { return pod.UID == m.status().trial.Controls[i].PodUID })[0]
}

// add puts one more pod of the current revision into the world, ready since its creation.
func (m *manager) add(name string, running settings.Settings, createdAt time.Time) *worldPod {
	pod := m.store(creation{name: name, revision: m.revision, settings: running})
	pod.CreatedAt, pod.Ready, pod.ReadyChangedAt = createdAt, true, createdAt
	return pod
}

func names(pods []Pod) []string {
	var list []string
	for _, pod := range pods {
		list = append(list, pod.Name)
	}
	return list
}

func wantReverting(t *testing.T, decision Decision, reason string) {
	t.Helper()
	switch {
	case decision.Trial == nil || decision.Trial.Stage != v1alpha1.StageReverting || decision.Trial.End == nil:
		t.Errorf("the trial does not go back, want %s", reason)
	case decision.Trial.End.Reason != reason:
		t.Errorf("the trial goes back for %s, want %s: %s", decision.Trial.End.Reason, reason, decision.Trial.End.Message)
	}
}
