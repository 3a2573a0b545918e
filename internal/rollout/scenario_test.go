package rollout

import (
	"testing"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

var (
	bold     = settings.Settings{GOGC: 200}
	promoted = settings.Settings{GOGC: 150}
)

// moment is when something happens to a trial.
type moment func(*v1alpha1.Trial) bool

func atOnce(*v1alpha1.Trial) bool { return true }

func gathering(trial *v1alpha1.Trial) bool { return len(trial.Slots) > 0 && trial.Step == 0 }
func verified(trial *v1alpha1.Trial) bool  { return trial.VerifiedAt != nil && trial.Step == 1 }
func warm(trial *v1alpha1.Trial) bool      { return trial.WarmAt != nil && trial.Step == 1 }
func nextGathers(trial *v1alpha1.Trial) bool {
	return trial.Step == 1 && trial.VerifiedAt == nil && len(trial.Slots) == 2
}
func lastWarm(trial *v1alpha1.Trial) bool { return trial.WarmAt != nil && trial.Step == 2 }
func inWaves(trial *v1alpha1.Trial) bool  { return trial.Stage == v1alpha1.StagePromoting }
func wavesDone(trial *v1alpha1.Trial) bool {
	return trial.Stage == v1alpha1.StagePromoting && trial.VerifiedAt != nil
}

// scenario is one thing that happens to a trial at one moment.
type scenario struct {
	name string
	when moment
	do   func(*manager)
	// each is done every second from then on.
	each   func(*manager)
	result v1alpha1.TrialResult
	reason string
	// within is how long after that the trial may last, most how many pods may be evicted from then on.
	within time.Duration
	most   int
	// unlikeStable says that a StatefulSet goes another way: it starts no other pod in the place of one that does not end.
	unlikeStable bool
}

const (
	goesBack = v1alpha1.TrialReverted
	stays    = v1alpha1.TrialPromoted
	minute   = time.Minute
)

var scenarios = []scenario{
	{name: "nothing", when: atOnce, result: stays, reason: v1alpha1.ReasonPromoted, within: 10 * minute, most: 9},
	{name: "no gain", when: atOnce, do: kinds["no gain"], result: goesBack, reason: v1alpha1.ReasonNoGain, within: 8 * minute, most: 9},
	{name: "slow", when: warm, do: kinds["candidate slow"], result: goesBack, reason: v1alpha1.ReasonLatencyBreached, within: 90 * time.Second, most: 2},
	{name: "slow while the next step's pods don't come", when: nextGathers, do: both("never ready", "candidate slow"), each: onlyOneNeverReady, result: goesBack, reason: v1alpha1.ReasonLatencyBreached, within: 70 * time.Second, most: 2},
	{name: "slow on hold", when: nextGathers, do: both("hold", "candidate slow"), result: goesBack, reason: v1alpha1.ReasonLatencyBreached, within: 70 * time.Second, most: 2},
	{name: "all slow while the next step's pods don't come", when: nextGathers, do: both("never ready", "all slow"), each: onlyOneNeverReady, result: goesBack, reason: v1alpha1.ReasonSharedBreach, within: 70 * time.Second, most: 2},
	{name: "all slow", when: warm, do: kinds["all slow"], result: goesBack, reason: v1alpha1.ReasonSharedBreach, within: 90 * time.Second, most: 2},
	{name: "overridden in code", when: atOnce, do: kinds["override"], result: goesBack, reason: v1alpha1.ReasonNotApplied, within: 2 * minute, most: 3},
	{name: "a pod never starts", when: gathering, do: kinds["never ready"], result: goesBack, reason: v1alpha1.ReasonProgressDeadlineExceeded, within: 12 * minute, most: 2},
	{name: "webhook down", when: atOnce, do: kinds["webhook down"], result: goesBack, reason: v1alpha1.ReasonNotAdmitted, within: 2 * minute, most: 3},
	{name: "webhook undone", when: atOnce, do: kinds["webhook undone"], result: goesBack, reason: v1alpha1.ReasonNotAdmitted, within: 2 * minute, most: 2},
	{name: "webhook garbled", when: atOnce, do: kinds["webhook garbled"], result: goesBack, reason: v1alpha1.ReasonNotAdmitted, within: 2 * minute, most: 2},
	{name: "never any data", when: atOnce, do: dataFault("no answer"), result: goesBack, reason: v1alpha1.ReasonNoData, within: 13 * minute, most: 3},
	{name: "data ends", when: warm, do: dataFault("no answer"), result: goesBack, reason: v1alpha1.ReasonNoData, within: 3 * minute, most: 2},
	{name: "data is no number", when: warm, do: dataFault("NaN"), result: goesBack, reason: v1alpha1.ReasonNoData, within: 3 * minute, most: 2},
	{name: "data is partial", when: warm, do: dataFault("partial"), result: goesBack, reason: v1alpha1.ReasonNoData, within: 3 * minute, most: 2},
	{name: "hardly a collection", when: atOnce, do: kinds["few cycles"], result: goesBack, reason: v1alpha1.ReasonTooFewGCCycles, within: 45 * minute, most: 9},
	{name: "undecided", when: warm, do: func(m *manager) { m.data.slow = 0.0091 }, result: goesBack, reason: v1alpha1.ReasonInconclusive, within: 5 * minute, most: 2},
	{name: "canary restarts", when: gathering, each: kinds["restart of canary"], result: goesBack, reason: v1alpha1.ReasonRestarted, within: 2 * minute, most: 3},
	{name: "canary out of memory", when: verified, do: kinds["OOM of canary"], result: goesBack, reason: v1alpha1.ReasonOOMKilled, within: 90 * time.Second, most: 2},
	{name: "canary not ready", when: verified, do: kinds["canary unready"], result: goesBack, reason: v1alpha1.ReasonNotReady, within: 2 * minute, most: 2},
	{name: "canary wavers", when: verified, do: kinds["canary wavers"], result: stays, reason: v1alpha1.ReasonPromoted, within: 10 * minute, most: 9},
	{name: "canary lost once", when: verified, do: kinds["canary lost"], result: stays, reason: v1alpha1.ReasonPromoted, within: 12 * minute, most: 12},
	{name: "canaries lost for ever", when: gathering, each: kinds["canary lost"], result: goesBack, reason: v1alpha1.ReasonCanariesLost, within: 15 * minute, most: 30},
	{name: "controls lost for ever", when: verified, each: loseControl, result: goesBack, reason: v1alpha1.ReasonCanariesLost, within: 30 * minute, most: 40},
	{name: "new revision", when: warm, do: kinds["new revision"], result: goesBack, reason: v1alpha1.ReasonSuperseded, within: 2 * minute, most: 3},
	{name: "Git declares the candidate", when: warm, do: kinds["Git declares candidate"], result: goesBack, reason: v1alpha1.ReasonSuperseded, within: 2 * minute, most: 3},
	{name: "scaled below what proves a gain", when: warm, do: scaleTo(4), result: v1alpha1.TrialRecommended, reason: v1alpha1.ReasonRecommended, within: 10 * minute, most: 9},
	{name: "scaled to zero", when: warm, do: scaleTo(0), result: goesBack, reason: v1alpha1.ReasonSuperseded, within: 2 * minute, most: 3},
	{name: "scaled up in a verified step", when: lastWarm, do: scaleTo(12), result: stays, reason: v1alpha1.ReasonPromoted, within: 10 * minute, most: 9},
	{name: "paused rollout", when: gathering, do: kinds["paused rollout"], result: goesBack, reason: v1alpha1.ReasonProgressDeadlineExceeded, within: 12 * minute, most: 2},
	{name: "suspended", when: warm, do: kinds["suspend"], result: goesBack, reason: v1alpha1.ReasonSuspended, within: 2 * minute, most: 3},
	{name: "evictions denied", when: atOnce, do: kinds["evictions denied"], result: goesBack, reason: v1alpha1.ReasonProgressDeadlineExceeded, within: 12 * minute, most: 600},
	{name: "node lost in a revert", when: warm, do: both("stuck node", "suspend"), result: goesBack, reason: v1alpha1.ReasonSuspended, within: 11 * minute, most: 3, unlikeStable: true},

	{name: "waves: restart", when: inWaves, do: kinds["restart of canary"], result: goesBack, reason: v1alpha1.ReasonRestarted, within: 3 * minute, most: 5},
	{name: "waves: slow", when: inWaves, do: kinds["candidate slow"], result: goesBack, reason: v1alpha1.ReasonLatencyBreached, within: 3 * minute, most: 8},
	{name: "waves: data ends", when: inWaves, do: dataFault("no answer"), result: goesBack, reason: v1alpha1.ReasonNoData, within: 5 * minute, most: 8},
	{name: "waves: a pod never starts", when: inWaves, do: kinds["never ready"], each: onlyOneNeverReady, result: goesBack, reason: v1alpha1.ReasonProgressDeadlineExceeded, within: 14 * minute, most: 6},
	{name: "waves: canary not ready", when: inWaves, do: kinds["canary unready"], result: goesBack, reason: v1alpha1.ReasonNotReady, within: 3 * minute, most: 5},
	{name: "waves: webhook down", when: inWaves, do: kinds["webhook down"], result: stays, reason: v1alpha1.ReasonPromoted, within: 5 * minute, most: 3},
	{name: "waves: evictions denied", when: inWaves, do: kinds["evictions denied"], result: stays, reason: v1alpha1.ReasonPromoted, within: 12 * minute, most: 600},
	{name: "waves: paused rollout", when: inWaves, do: kinds["paused rollout"], result: stays, reason: v1alpha1.ReasonPromoted, within: 12 * minute, most: 1},
	{name: "waves: scaled to zero", when: inWaves, do: scaleTo(0), result: stays, reason: v1alpha1.ReasonPromoted, within: 20 * time.Second, most: 1},
	{name: "waves: scaled up at the end", when: wavesDone, do: both("slow start", "scale up"), result: stays, reason: v1alpha1.ReasonPromoted, within: 3 * minute},
	{name: "waves: pod wavers at the end", when: wavesDone, do: kinds["canary wavers"], result: stays, reason: v1alpha1.ReasonPromoted, within: 3 * minute},
	{name: "waves: new revision", when: inWaves, do: kinds["new revision"], result: stays, reason: v1alpha1.ReasonPromoted, within: minute, most: 1},
	{name: "waves: policy deleted", when: inWaves, do: kinds["policy deleted"], result: stays, reason: v1alpha1.ReasonPromoted, within: minute, most: 1},
	{name: "waves: suspended", when: inWaves, do: kinds["suspend"], result: goesBack, reason: v1alpha1.ReasonSuspended, within: 3 * minute, most: 5},
	{name: "waves: mode changed at the end", when: wavesDone, do: kinds["mode changed"], result: goesBack, reason: v1alpha1.ReasonModeChanged, within: 3 * minute, most: 6},
}

func dataFault(fault string) func(*manager) { return func(m *manager) { m.data.fault = fault } }
func scaleTo(replicas int) func(*manager)   { return func(m *manager) { m.replicas = replicas } }

func both(first, second string) func(*manager) {
	return func(m *manager) {
		if first == "slow start" {
			m.startup = [2]int{40, 40}
		} else {
			kinds[first](m)
		}
		kinds[second](m)
	}
}

func loseControl(m *manager) {
	for _, control := range m.status().trial.Controls {
		for _, pod := range m.find(func(pod *worldPod) bool { return pod.UID == control.PodUID }) {
			m.terminate(pod)
		}
	}
}

func onlyOneNeverReady(m *manager) {
	m.neverReady = m.neverReady && len(m.find(func(pod *worldPod) bool { return pod.readyAt.IsZero() })) == 0
}

func TestScenarios(t *testing.T) {
	for _, test := range scenarios {
		t.Run(test.name, func(t *testing.T) { test.play(t, false) })
		if !test.unlikeStable {
			t.Run("StatefulSet: "+test.name, func(t *testing.T) { test.play(t, true) })
		}
	}
}

// play lets a trial go on until the moment, then does what is done, and looks at how it ends.
func (s scenario) play(t *testing.T, stable bool) {
	w := newWorld(1, 6)
	w.stable = stable
	m := newManager(w, bold, &promoted)
	m.trace = t.Logf
	if !m.reach(s.when, 20*time.Minute) {
		t.Fatal("the trial never came to the moment")
	}
	struck, evictions := m.now, m.evictions
	if s.do != nil {
		s.do(m)
	}
	for m.status().trial != nil && m.now.Sub(struck) < s.within {
		if s.each != nil {
			s.each(m)
		}
		m.second()
	}
	switch {
	case m.record == nil:
		t.Fatalf("after %s the trial is in stage %s", s.within, m.status().trial.Stage)
	case m.record.Result != s.result || m.record.Reason != s.reason:
		t.Errorf("%s: %s (%s), want %s: %s", m.record.Result, m.record.Reason, m.record.Message, s.result, s.reason)
	case m.evictions-evictions > s.most:
		t.Errorf("%d pods were evicted, want %d at most", m.evictions-evictions, s.most)
	}
	schedule{m, []incident{{}}}.settle(nil)
	for _, found := range m.found {
		t.Errorf("%s: %s", found.invariant, found.message)
	}
}

// reach lets world and manager go on until the moment.
func (m *manager) reach(when moment, limit time.Duration) bool {
	for m.now.Sub(epoch) < limit {
		if m.status().trial == nil {
			return false
		}
		if when(m.status().trial) {
			return true
		}
		m.second()
	}
	return false
}
