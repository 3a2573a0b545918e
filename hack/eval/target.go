package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
	"github.com/gopacer/gopacer/test/simulation"
)

const (
	revision  = types.UID("rs-1")
	policyUID = types.UID("5f0c7a52-0000-4000-8000-00000000e7a1")
	// tick is how finely pods come and go; guards look no more often.
	tick = 5 * time.Second
	// startsIn is how long a pod takes to get ready, goneIn how long one takes to go.
	startsIn, goneIn = 10 * time.Second, 5 * time.Second
	// mostTrial bounds a trial, so that a mistake ends the program and not the reader's patience.
	mostTrial = 24 * time.Hour
	// mostLooks at one moment, each of which writes.
	mostLooks = 10
)

// livePod is a pod as the API server shows it, and what is behind it.
type livePod struct {
	rollout.Pod
	readyAt, goneAt time.Time
}

// target is a Deployment under a policy: its ReplicaSet, its admission and its processes. The trial's state machine, the verdicts and the
// proposals are the product's own.
type target struct {
	service  simulation.Service
	fleet    *simulation.Fleet
	replicas int
	now      time.Time
	plan     rollout.Plan
	footing  settings.Footing
	// fault is what pods with the candidate have, whatever their settings do.
	fault simulation.Fault

	pods     []*livePod
	births   int
	trial    *v1alpha1.Trial
	baseline v1alpha1.Baseline
	trials   int64
	looks    int
}

func newTarget(service simulation.Service, noise simulation.Noise, replicas int, declared settings.Settings, seed uint64) *target {
	t := &target{
		service: service, fleet: simulation.NewFleet(service, noise, replicas, epoch, seed), replicas: replicas, now: epoch,
		footing: settings.Footing{Declared: declared, MemoryLimitBytes: int64(service.MemoryLimitBytes)},
	}
	t.baseline = v1alpha1.Baseline{Source: v1alpha1.BaselineDeclared, Settings: declared.API(), Footing: t.footing.API()}
	t.plan = rollout.Plan{
		Steps: standardSteps(), MaxUnavailable: intstr.FromInt32(1), Interval: interval, WarmUp: warmUp, NoDataTimeout: noDataTimeout,
		Gain: standardGain, Breaker: standardBreaker, GoodWindows: goodWindows,
	}
	for range replicas {
		t.create()
	}
	t.run(atRest)
	return t
}

func standardSteps() []rollout.Step {
	return []rollout.Step{{Canary: intstr.FromString("10%"), Hold: hold}, {Canary: intstr.FromString("25%"), Hold: hold}, {Canary: intstr.FromString("50%"), Hold: hold}}
}

// settings are those of the baseline.
func (t *target) settings() settings.Settings {
	proven, ok := settings.FromAPIOn(t.baseline.Settings, t.baseline.Footing, t.footing)
	if !ok {
		return t.footing.Declared
	}
	return proven
}

// create admits a pod: the candidate for the first open slot, else the baseline.
func (t *target) create() {
	t.births++
	name, set, fault := fmt.Sprintf("shop-1-r%05d", t.births), t.settings(), simulation.Fault{}
	if id, candidate, ok := t.openSlot(); ok {
		name, set, fault = rollout.PodName("shop-1-", id), candidate, t.fault
	}
	pod := &livePod{Pod: rollout.Pod{
		UID: types.UID(fmt.Sprintf("uid-%d", t.births)), Name: name, Revision: revision, CreatedAt: t.now, MemoryLimitBytes: t.footing.MemoryLimitBytes,
		Settings: set, Given: true, Health: verdict.Health{ReadyChangedAt: t.now},
	}, readyAt: t.now.Add(startsIn)}
	t.pods = append(t.pods, pod)
	t.fleet.Start(name, t.now, set, fault)
}

func (t *target) openSlot() (id string, candidate settings.Settings, ok bool) {
	if t.trial == nil || t.trial.Stage != v1alpha1.StageCanary {
		return "", candidate, false
	}
	candidate, err := settings.FromAPI(t.trial.Candidate)
	if err != nil {
		return "", candidate, false
	}
	for _, slot := range t.trial.Slots {
		taken := slices.ContainsFunc(t.pods, func(pod *livePod) bool { return pod.Name == rollout.PodName("shop-1-", slot.ID) })
		if slot.PodUID == "" && !taken {
			return slot.ID, candidate, true
		}
	}
	return "", candidate, false
}

// run lets the world go on.
func (t *target) run(d time.Duration) {
	for end := t.now.Add(d); t.now.Before(end); {
		if t.settled() { // nothing comes or goes: only the processes work
			t.now = end
			t.fleet.Advance(t.now)
			t.restartKilled()
			return
		}
		t.tick()
	}
}

func (t *target) settled() bool {
	return len(t.pods) == t.replicas && !slices.ContainsFunc(t.pods, func(pod *livePod) bool { return pod.Terminating || !pod.Ready })
}

// tick lets five seconds pass: pods get ready, go, and are replaced.
func (t *target) tick() {
	t.now = t.now.Add(tick)
	t.fleet.Advance(t.now)
	active := 0
	t.pods = slices.DeleteFunc(t.pods, func(pod *livePod) bool {
		gone := pod.Terminating && !pod.goneAt.After(t.now)
		if gone {
			t.fleet.Stop(pod.Name)
		}
		return gone
	})
	for _, pod := range t.pods {
		if !pod.Ready && !pod.Terminating && !pod.readyAt.After(t.now) {
			pod.Ready, pod.ReadyChangedAt = true, t.now
			if pod.FirstReadyAt.IsZero() && pod.Restarts == 0 {
				pod.FirstReadyAt = t.now
			}
		}
		if !pod.Terminating {
			active++
		}
	}
	t.restartKilled()
	for ; active < t.replicas; active++ {
		t.create()
	}
}

// restartKilled starts processes again that ran out of memory.
func (t *target) restartKilled() {
	for _, pod := range t.pods {
		if !pod.Terminating && t.fleet.Killed(pod.Name) {
			pod.Restarts++
			pod.OOMKilled, pod.Ready, pod.ReadyChangedAt, pod.FirstReadyAt = true, false, t.now, time.Time{}
			pod.readyAt = t.now.Add(startsIn)
			t.fleet.Start(pod.Name, t.now, pod.Settings, t.fault)
		}
	}
}

func (t *target) view() rollout.View {
	view := rollout.View{
		Now: t.now, PolicyUID: policyUID, Plan: t.plan, Replicas: t.replicas, Revision: revision, Footing: t.footing, RecentLength: recentLength,
		Unsettled: len(t.pods) != t.replicas || slices.ContainsFunc(t.pods, func(pod *livePod) bool { return pod.Terminating }),
	}
	for _, pod := range t.pods {
		view.Pods = append(view.Pods, pod.Pod)
	}
	slices.SortFunc(view.Pods, func(a, b rollout.Pod) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Name, b.Name))
	})
	return view
}

// try takes a candidate through a trial to its end.
func (t *target) try(candidate settings.Settings, margins []v1alpha1.Margin) (v1alpha1.TrialRecord, error) {
	t.trials++
	decision := rollout.Start(t.view(), rollout.Opening{
		Number: t.trials, Purpose: v1alpha1.PurposePromote, Candidate: candidate, Reason: "evaluation", Previous: t.baseline, Margins: margins,
	})
	t.trial = decision.Trial
	for began := t.now; t.now.Sub(began) < mostTrial; {
		wait, record, err := t.look()
		if err != nil {
			return v1alpha1.TrialRecord{}, err
		}
		if record != nil {
			t.trial = nil
			return *record, nil
		}
		t.run(wait)
	}
	return v1alpha1.TrialRecord{}, fmt.Errorf("trial %d of %s did not end within %s", t.trials, candidate.Canonical(), mostTrial)
}

// look looks, again after each write, and carries out what is decided, as the reconciler does.
func (t *target) look() (time.Duration, *v1alpha1.TrialRecord, error) {
	for range mostLooks {
		decision, err := t.decide()
		if err != nil {
			return 0, nil, err
		}
		if decision.Baseline != nil {
			t.baseline = *decision.Baseline
		}
		if decision.Record != nil {
			return 0, decision.Record, nil
		}
		if decision.Changed {
			t.trial = decision.Trial
			continue
		}
		for _, pod := range decision.Evict {
			t.evict(pod.UID)
		}
		for _, change := range decision.Relabel {
			t.relabel(change)
		}
		return (decision.Wait + tick - 1) / tick * tick, nil, nil
	}
	return 0, nil, fmt.Errorf("trial %d wrote its status %d times at one moment", t.trials, mostLooks)
}

func (t *target) decide() (rollout.Decision, error) {
	t.looks++
	view := t.view()
	needed, err := rollout.NeedsMeasurements(*t.trial, view)
	if err != nil {
		return rollout.Decision{}, err
	}
	if needed {
		view.Recent = t.fleet.Window(t.now, recentLength)
		if length := rollout.EvidenceLength(t.trial, t.now, recentLength); length > 0 {
			view.Evidence = t.fleet.Window(t.now, length)
		}
	}
	return rollout.Advance(*t.trial, view)
}

func (t *target) evict(uid types.UID) {
	for _, pod := range t.pods {
		if pod.UID == uid && !pod.Terminating {
			pod.Terminating, pod.Ready, pod.goneAt = true, false, t.now.Add(goneIn)
		}
	}
}

func (t *target) relabel(change rollout.Relabel) {
	for _, pod := range t.pods {
		if pod.UID == change.Pod.UID {
			pod.Cohort = change.Cohort
		}
	}
}

// atRestFor are the pods that have been ready for so long.
func (t *target) atRestFor(length time.Duration) []verdict.Member {
	var members []verdict.Member
	for _, pod := range t.pods {
		if pod.Ready && !pod.Terminating && t.now.Sub(pod.ReadyChangedAt) >= length {
			members = append(members, verdict.Member{
				Name: pod.Name, CreatedAt: pod.CreatedAt, FirstReadyAt: pod.FirstReadyAt, MemoryLimitBytes: pod.MemoryLimitBytes, Health: pod.Health,
			})
		}
	}
	return members
}

// marginsNow settles the margins from how unlike each other the pods are now; nil with what is short where they are too few.
func (t *target) marginsNow() ([]v1alpha1.Margin, *verdict.Shortage) {
	last := len(t.plan.Steps) - 1
	return verdict.SettleMargins(verdict.MarginInput{
		Defaults: standardTier.margins, Max: standardTier.most, Spreads: verdict.Spreads(t.fleet.Window(t.now, restLength), t.atRestFor(restLength)),
		Canary: t.plan.CanaryPods(last, t.replicas), Control: t.plan.ControlPods(last, t.replicas),
	})
}
