//go:build e2e

package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/stage"
)

const (
	// leakInterval gives a target at rest a window of 150 s: long enough for a leak to show.
	leakInterval = 15 * time.Second
	// leakAge is how old a process must be for a level that rises to be a leak: five minutes when the window begins.
	leakAge = 5*time.Minute + 10*leakInterval + 10*time.Second
)

// leak has services that keep what they should let go: one goroutines, one memory. No setting cures that, so none is tried.
func leak(t *testing.T) {
	scenes := playAll(t,
		part{"leak-goroutines", stage.Workload{Rate: 90, Env: map[string]string{"LEAK_GOROUTINES_PER_SECOND": "5"}}},
		part{"leak-heap", stage.Workload{Rate: 90, MemoryLimit: "256Mi", Env: map[string]string{"LEAK_BYTES_PER_SECOND": "131072"}}},
	)
	for i, word := range []string{"goroutines grow", "live heap grows"} {
		s := scenes[i]
		s.watched.protect()
		s.awaitAge(leakAge)
		wanted := spec()
		wanted.Analysis.Interval = after(leakInterval)
		s.create(wanted)
		s.awaitDiagnosis(v1alpha1.ReasonLeakSuspected, word)
		s.checkUntried()
	}
}

// throttled has a service that its CPU limit stops again and again. It is told so; a setting would be tried in vain.
func throttled(t *testing.T) {
	// A request and the collections that it brings take more than the 5 ms that the limit leaves of each 100 ms.
	s := play(t, "throttled", stage.Workload{Rate: 30, CPULimit: "50m", Env: map[string]string{"DOCUMENT_LINES": "100"}})
	s.watched.protect()
	s.create(spec())
	s.awaitDiagnosis(v1alpha1.ReasonCPUThrottled, "raise the CPU limit")
	s.checkUntried()
}

// awaitDiagnosis waits until Ready says what is wrong, in words that name it.
func (s *scene) awaitDiagnosis(reason, words string) {
	s.t.Helper()
	s.awaitReason(reason, startLimit)
	ready := readyOf(s.policy())
	s.t.Logf("%s: %s: %s", s.namespace, ready.Reason, ready.Message)
	if ready.Reason != reason || !strings.Contains(ready.Message, words) {
		s.t.Errorf("ready says %s: %q, want %s with %q", ready.Reason, ready.Message, reason, words)
	}
}
