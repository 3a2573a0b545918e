package main

import (
	"fmt"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
	"github.com/gopacer/gopacer/test/simulation"
)

// The schedule of a trial with the policy's defaults and a scrape interval of 15 seconds, as the manager keeps it.
const (
	interval      = 30 * time.Second
	recentLength  = 60 * time.Second
	warmUp        = 2 * time.Minute
	mostWarmUp    = 10 * time.Minute
	warmUpCycles  = 10
	hold          = 5 * time.Minute
	noDataTimeout = 10 * time.Minute
	goodWindows   = 3
	// restLength is the window in which the target is measured before a trial, atRest how long its pods have run by then.
	restLength, atRest = 5 * time.Minute, 20 * time.Minute
	// startup is how long a pod takes to get ready, verified how long until a scrape has shown its settings.
	startup, verified = 5 * time.Second, 30 * time.Second
)

// epoch is when every simulation begins.
var epoch = time.Date(2026, time.October, 1, 0, 0, 0, 0, time.UTC)

// cohorts are the canary and control pods of one step.
type cohorts struct {
	Canary  int `json:"canary"`
	Control int `json:"control"`
}

func (c cohorts) String() string { return fmt.Sprintf("%dv%d", c.Canary, c.Control) }

// layouts are the steps of the trials that are evaluated: those that rollout takes for as many replicas by default, 10, 25 and 50 % of them
// with as many control pods, and others that it could take.
var layouts = map[string][]cohorts{
	"3v3": {{1, 1}, {2, 2}, {3, 3}},
	"4v8": {{2, 4}, {4, 8}},
	"5v5": {{1, 1}, {3, 3}, {5, 5}},
	"8v8": {{2, 2}, {4, 4}, {8, 8}},
}

// bench is one trial of which the verdicts are real, while pods come and go as if by themselves.
type bench struct {
	service   simulation.Service
	noise     simulation.Noise
	steps     []cohorts
	baseline  settings.Settings
	candidate settings.Settings
	// fault is what the canary pods have, whatever their settings do.
	fault simulation.Fault
	slos  []verdict.SLO
	tier  tier
	seed  uint64

	fleet           *simulation.Fleet
	members         map[string]verdict.Member
	canary, control []string
	margins         map[v1alpha1.SignalName]verdict.Margin
	started         int
	now             time.Time
}

// ending is how a trial came out.
type ending struct {
	result v1alpha1.TrialResult
	reason string
	looks  int
	took   time.Duration
}

// notStarted is the reason of a trial for which the product finds the pods too unlike each other.
const notStarted = v1alpha1.ReasonTooFewPods

// run takes the trial to its end.
func (b *bench) run() ending {
	last := b.steps[len(b.steps)-1]
	pods := last.Canary + last.Control
	b.fleet = simulation.NewFleet(b.service, b.noise, pods, epoch, b.seed)
	b.members, b.now = map[string]verdict.Member{}, epoch
	var old []string
	for range pods {
		old = append(old, b.start(b.baseline, simulation.Fault{}))
	}
	b.advance(atRest)
	if !b.settleMargins(old, last) {
		return ending{result: v1alpha1.TrialReverted, reason: notStarted}
	}
	total := 0
	for i, step := range b.steps {
		old = b.replace(old, step)
		b.advance(verified)
		reason, looks := b.step(i == len(b.steps)-1)
		total += looks
		if reason != v1alpha1.ReasonPassed {
			return ending{v1alpha1.TrialReverted, reason, total, b.now.Sub(epoch) - atRest}
		}
	}
	return ending{v1alpha1.TrialPromoted, v1alpha1.ReasonPromoted, total, b.now.Sub(epoch) - atRest}
}

func (b *bench) start(set settings.Settings, fault simulation.Fault) string {
	b.started++
	name := fmt.Sprintf("pod-%d", b.started)
	b.fleet.Start(name, b.now, set, fault)
	b.members[name] = verdict.Member{
		Name: name, CreatedAt: b.now, FirstReadyAt: b.now.Add(startup), MemoryLimitBytes: int64(b.service.MemoryLimitBytes),
		Health: verdict.Health{Ready: true, WasReady: true, ReadyChangedAt: b.now.Add(startup)},
	}
	return name
}

func (b *bench) advance(d time.Duration) {
	b.now = b.now.Add(d)
	b.fleet.Advance(b.now)
}

// settleMargins measures the target at rest, as before every trial; false where its pods are too few for what they differ by.
func (b *bench) settleMargins(pods []string, last cohorts) bool {
	spreads := verdict.Spreads(b.fleet.Window(b.now, restLength), b.of(pods))
	margins, shortage := verdict.SettleMargins(verdict.MarginInput{
		Defaults: b.tier.margins, Max: b.tier.most, Spreads: spreads, Canary: last.Canary, Control: last.Control,
	})
	b.margins = verdict.ParseMargins(margins)
	return shortage == nil
}

// replace lets pods of the baseline go for as many new ones as the step has more, of both cohorts at the same time.
func (b *bench) replace(old []string, step cohorts) []string {
	for len(b.canary) < step.Canary || len(b.control) < step.Control {
		if len(b.canary) < step.Canary {
			b.fleet.Stop(old[0])
			old, b.canary = old[1:], append(b.canary, b.start(b.candidate, b.fault))
		}
		if len(b.control) < step.Control {
			b.fleet.Stop(old[0])
			old, b.control = old[1:], append(b.control, b.start(b.baseline, simulation.Fault{}))
		}
	}
	return old
}

func (b *bench) of(names []string) []verdict.Member {
	members := make([]verdict.Member, 0, len(names))
	for _, name := range names {
		member := b.members[name]
		if b.fleet.Killed(name) {
			member.OOMKilled, member.Restarts = true, 1
		}
		members = append(members, member)
	}
	return members
}

// step warms the pods up and judges them until the step has passed, or failed for the reason that is returned.
func (b *bench) step(last bool) (reason string, looks int) {
	b.warmUp()
	warmAt, lastData, good := b.now, b.now, 0
	var bad []v1alpha1.BadWindows
	b.advance(recentLength)
	for ; ; b.advance(simulation.ScrapeInterval) {
		since := b.now.Sub(warmAt)
		in := b.input(since, bad)
		if since%interval != 0 {
			if guarded := verdict.Guard(in); guarded.Outcome == v1alpha1.OutcomeFail {
				return guarded.Reason, looks
			}
			continue
		}
		in.JudgeGain = last && since >= hold
		judged := verdict.Judge(in)
		looks++
		bad = judged.BadWindows
		if judged.Outcome == v1alpha1.OutcomePass {
			good++
		} else {
			good = 0
		}
		if judged.Outcome != v1alpha1.OutcomeInvalid {
			lastData = b.now
		}
		switch {
		case judged.Outcome == v1alpha1.OutcomeFail:
			return judged.Reason, looks
		case good >= goodWindows && since >= hold:
			return v1alpha1.ReasonPassed, looks
		case judged.Outcome == v1alpha1.OutcomeInvalid && b.now.Sub(lastData) >= noDataTimeout,
			judged.Outcome == v1alpha1.OutcomeInconclusive && since >= 3*hold+noDataTimeout:
			return judged.Reason, looks
		}
	}
}

func (b *bench) warmUp() {
	for waited := warmUp; ; waited = interval {
		b.advance(waited)
		if b.now.Sub(b.members[b.canary[len(b.canary)-1]].CreatedAt) >= mostWarmUp || b.haveCollected() {
			return
		}
	}
}

func (b *bench) haveCollected() bool {
	window := b.fleet.Window(b.now, recentLength)
	for _, names := range [][]string{b.canary, b.control} {
		for _, name := range names {
			if cycles := window.Pods[name].GCCyclesTotal; !cycles.OK() || cycles.Number < warmUpCycles {
				return false
			}
		}
	}
	return true
}

func (b *bench) input(sinceWarm time.Duration, bad []v1alpha1.BadWindows) verdict.Input {
	return verdict.Input{
		Now: b.now, Canary: b.of(b.canary), Control: b.of(b.control), SLOs: b.slos, Gain: standardGain,
		Recent: b.fleet.Window(b.now, recentLength), Evidence: b.fleet.Window(b.now, sinceWarm), Margins: b.margins, Breaker: standardBreaker,
		Looks: looksOf(len(b.steps)), BadWindows: bad,
	}
}

// looksOf is how many verdicts a trial takes at the most, as rollout counts them.
func looksOf(steps int) int {
	patience := 3*hold + noDataTimeout
	return int((patience+time.Duration(steps-1)*hold)/interval) + steps*goodWindows
}
