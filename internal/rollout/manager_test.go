package rollout

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// manager is the caller of this package: it looks, writes the status, and only then acts. All that it knows is in the status.
type manager struct {
	*world
	candidate settings.Settings
	previous  v1alpha1.Baseline
	record    *v1alpha1.TrialRecord
	// measured is what the trial handed on, if it was there to measure.
	measured *Measured
	next     time.Time
	reported map[string]bool
	found    []violation
	// passed are the steps whose passing was written, shown the ids that ever were.
	passed  []int32
	slotIDs map[string]types.UID
	// slotNames are the names that slots were for, slots in the order in which they opened.
	slotNames []openedFor
	closed    map[string]time.Time
	looks     int
	// promoted says that the trial came to stage Promoting.
	promoted bool
	// evictions that were asked for.
	evictions, handOvers int
	trace                func(string, ...any)
}

// violation of an invariant.
type violation struct{ invariant, message string }

func newManager(w *world, candidate settings.Settings, promoted *settings.Settings) *manager {
	return newManagerFor(w, Opening{Candidate: candidate}, promoted)
}

// newManagerFor opens a trial for a purpose.
func newManagerFor(w *world, opening Opening, promoted *settings.Settings) *manager {
	footing := w.footings[w.revision]
	m := &manager{
		world: w, candidate: opening.Candidate, reported: map[string]bool{}, slotIDs: map[string]types.UID{}, closed: map[string]time.Time{},
		trace: func(string, ...any) {},
	}
	m.previous = v1alpha1.Baseline{Source: v1alpha1.BaselineDeclared, Settings: footing.Declared.API(), Footing: footing.API()}
	running := footing.Declared
	if promoted != nil {
		at := stamp(epoch.Add(-24 * time.Hour))
		m.previous = v1alpha1.Baseline{Source: v1alpha1.BaselinePromoted, Settings: promoted.API(), Footing: footing.API(), PromotedAt: &at}
		running = *promoted
	}
	w.populate(running)
	w.write(nil, m.previous)
	opening.Number, opening.Reason, opening.Previous = 1, "because the test says so", m.previous
	decision := Start(w.view(), opening)
	m.save(decision)
	m.next = w.now
	return m
}

// throughJSON is what becomes of a value on its way through the API server.
func throughJSON[T any](value T) T {
	var back T
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil {
		panic(err) // a status that is no JSON: the test is wrong
	}
	return back
}

func (m *manager) save(decision Decision) {
	baseline := m.status().baseline
	if decision.Baseline != nil {
		baseline = throughJSON(*decision.Baseline)
	}
	var trial *v1alpha1.Trial
	if decision.Trial != nil {
		copied := throughJSON(*decision.Trial)
		trial = &copied
		m.promoted = m.promoted || trial.Stage == v1alpha1.StagePromoting
	}
	if decision.Record != nil {
		m.record = decision.Record
	}
	if decision.Measured != nil {
		m.measured = decision.Measured
	}
	m.write(trial, baseline)
}

// runUntil lets the world and the manager go on until the trial ends, or the time is up.
func (m *manager) runUntil(limit time.Duration, incidents []incident) {
	for m.status().trial != nil && m.now.Sub(epoch) < limit {
		for len(incidents) > 0 && m.now.Sub(epoch) >= incidents[0].at {
			m.trace("%s: incident %s", m.clock(), incidents[0].name)
			incidents[0].strike(m)
			incidents = incidents[1:]
		}
		m.second()
	}
}

// second lets one second pass, and the manager look if its wait is over or a watch wakes it.
func (m *manager) second() {
	before := m.fingerprint()
	m.tick()
	m.checkWorld()
	woken := before != m.fingerprint() && m.chance(0.5)
	switch {
	case m.awayFor > 0:
		m.awayFor--
	case woken || !m.now.Before(m.next):
		m.lookAround()
	}
}

// fingerprint changes whenever a watch would wake the manager.
func (w *world) fingerprint() [4]int {
	ready, terminating, restarts := 0, 0, 0
	for _, pod := range w.pods {
		ready += boolean(pod.Ready)
		terminating += boolean(pod.Terminating)
		restarts += int(pod.Restarts)
	}
	return [4]int{w.births, ready, terminating, restarts}
}

func (m *manager) clock() string { return fmt.Sprintf("+%s", m.now.Sub(epoch)) }

// mostLooks at one moment: whoever needs more never comes to rest.
const mostLooks = 8

// lookAround looks, and looks again at once after each write, as the reconciler does.
func (m *manager) lookAround() {
	for range mostLooks {
		done := m.lookOnce()
		if m.status().trial == nil || done {
			return
		}
	}
	m.violate("I9", "%d looks at one moment each wrote the status", mostLooks)
}

// lookOnce says whether the manager has come to rest.
func (m *manager) lookOnce() bool {
	before := *m.status().trial
	view, decision := m.decide(before)
	m.checkLook(before, view, decision)
	m.next = m.now.Add(decision.Wait)
	if m.looksTwice {
		m.checkRepeated(before, view, decision)
	}
	if decision.Changed {
		if m.dropWrites > 0 {
			m.dropWrites--
			m.trace("%s: the manager dies before it writes", m.clock())
			return true
		}
		m.checkWritten(before, decision)
		m.save(decision)
		m.tell(decision)
		return false
	}
	if m.dropActions > 0 {
		m.dropActions--
		return true
	}
	m.act(decision)
	return true
}

// decide is controllers.advance.
func (m *manager) decide(trial v1alpha1.Trial) (View, Decision) {
	view := m.view()
	needed, err := NeedsMeasurements(trial, view)
	if err != nil {
		panic(err)
	}
	if needed {
		view.Recent = m.window(recentLength, m.candidate)
		if length := EvidenceLength(&trial, m.now, recentLength); length > 0 {
			view.Evidence = m.window(length, m.candidate)
		}
	}
	decision, err := Advance(trial, view)
	if err != nil {
		panic(err)
	}
	m.looks++
	return view, decision
}

func (m *manager) act(decision Decision) {
	m.actOn(decision.Actions)
	for _, change := range decision.Relabel {
		for _, pod := range m.find(func(pod *worldPod) bool { return pod.UID == change.Pod.UID }) {
			pod.Cohort = change.Cohort
		}
	}
}

func (m *manager) actOn(actions Actions) {
	for _, pod := range actions.HandOver {
		m.trace("%s: hand over %s (%s)", m.clock(), pod.Name, pod.Settings.Canonical())
		m.handOver(pod)
		m.handOvers++
	}
	for _, back := range actions.GiveBack {
		m.trace("%s: give back %s (%s) for %s", m.clock(), back.Pod.Name, back.Pod.Settings.Canonical(), back.Drop.Name)
		m.giveBack(back)
	}
	for _, pod := range actions.Evict {
		m.trace("%s: evict %s (%s)", m.clock(), pod.Name, pod.Settings.Canonical())
		m.evict(pod.UID)
		m.evictions++
	}
	for _, pod := range actions.Spare {
		for _, pod := range m.find(func(other *worldPod) bool { return other.UID == pod.UID }) {
			pod.DropFirst = false
		}
	}
}

func (m *manager) tell(decision Decision) {
	for _, event := range decision.Events {
		m.trace("%s: %s: %s", m.clock(), event.Reason, event.Message)
	}
	if decision.Record != nil {
		m.trace("%s: %s: %s: %s", m.clock(), decision.Record.Result, decision.Record.Reason, decision.Record.Message)
	}
}

func (m *manager) violate(invariant, format string, args ...any) {
	if m.reported[invariant] {
		return // the first says it
	}
	m.reported[invariant] = true
	m.found = append(m.found, violation{invariant, m.clock() + ": " + fmt.Sprintf(format, args...)})
	m.trace("%s: VIOLATED %s: %s", m.clock(), invariant, fmt.Sprintf(format, args...))
}
