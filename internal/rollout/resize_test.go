package rollout

import (
	"testing"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// TestResize: a canary pod of another size ends the trial, a control pod of another size is none any longer.
func TestResize(t *testing.T) {
	m := sceneAt(t, lastWarm)
	m.canary(0).MemoryLimitBytes = 1 << 30
	wantReverting(t, m.look(t, nil), v1alpha1.ReasonSuperseded)
	m.canary(0).MemoryLimitBytes = 0
	resized := m.control(0)
	resized.MemoryLimitBytes = 1 << 30
	decision := m.look(t, nil)
	if decision.Trial == nil || decision.Trial.Stage != v1alpha1.StageCanary || decision.Trial.VerifiedAt != nil {
		t.Fatalf("the step does not begin anew: %+v", decision.Trial)
	}
	for _, control := range decision.Trial.Controls {
		if control.PodUID == resized.UID {
			t.Error("a resized pod is still compared with")
		}
	}
}
