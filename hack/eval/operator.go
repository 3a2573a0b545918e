package main

import (
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/tuning"
	"github.com/gopacer/gopacer/internal/verdict"
)

const (
	cooldown = time.Hour
	// mostHistory is what a policy's status keeps.
	mostHistory = 10
	goVersion   = "go1.26.8"
)

// operator is the loop of one policy: it measures its target at rest, proposes, and takes candidates through trials.
type operator struct {
	*target
	minimize v1alpha1.Minimize
	history  []v1alpha1.TrialRecord
	rejected []v1alpha1.Rejection
	streak   int
	cooled   time.Time
	// ended are all trials so far; shortages is how often the pods were too unlike each other to start one.
	ended     []v1alpha1.TrialRecord
	shortages int
}

// Why an operator did not start a trial.
const (
	stateTrial    = "trial"
	stateTuned    = "tuned"
	stateWaiting  = "waiting"
	stateShortage = "shortage"
	stateBreach   = "breach"
)

// step looks once at the target at rest, and runs a trial where one is due. It tells what it did.
func (o *operator) step() (string, error) {
	members := o.atRestFor(restLength)
	if len(members) == 0 {
		return stateWaiting, nil
	}
	window := o.fleet.Window(o.now, restLength)
	for _, slo := range o.plan.SLOs {
		if verdict.OnPods(slo, window, members).Outcome == v1alpha1.OutcomeFail {
			return stateBreach, nil
		}
	}
	proposal := o.propose(*window, members)
	o.streak = next(o.streak, proposal.OutsideDeadband)
	switch {
	case proposal.Candidate == nil && proposal.OutsideDeadband:
		return stateWaiting, nil
	case proposal.Candidate == nil:
		return stateTuned, nil
	case o.now.Before(o.cooled):
		return stateWaiting, nil
	}
	margins, shortage := o.marginsNow()
	if shortage != nil {
		o.shortages++
		return stateShortage, nil
	}
	record, err := o.try(*proposal.Candidate, margins)
	if err != nil {
		return "", err
	}
	o.remember(record)
	return stateTrial, nil
}

func next(streak int, outside bool) int {
	if outside {
		return streak + 1
	}
	return 0
}

func (o *operator) propose(window signal.Window, members []verdict.Member) tuning.Proposal {
	pods := make([]signal.Pod, 0, len(members))
	for _, member := range members {
		pods = append(pods, window.Pods[member.Name])
	}
	seen, _ := tuning.Observe(window, pods)
	return tuning.Propose(tuning.Input{
		Now: o.now, Baseline: o.settings(), Footing: o.footing, GoVersion: goVersion, Observed: seen, Streak: o.streak + 1, History: o.history, Rejected: o.rejected,
		Knobs:     tuning.Knobs{TuneGOGC: true, MinGOGC: 25, MaxGOGC: 200, TuneMemoryLimit: true, MemoryLimitShare: 0.9},
		Objective: tuning.Objective{Minimize: o.minimize, MinGain: standardGain.MinShare, MinCPUGain: standardGain.MinCPUShare},
		Rules:     tuning.Rules{LongPauseSeconds: 0.005, RunnablePerProcessor: 2, QuotaUse: 0.8},
		Strategy:  tuning.Strategy{Type: v1alpha1.StrategyFeedback},
	})
}

func (o *operator) remember(record v1alpha1.TrialRecord) {
	o.ended = append(o.ended, record)
	o.history = append([]v1alpha1.TrialRecord{record}, o.history...)
	o.history = o.history[:min(len(o.history), mostHistory)]
	if record.Result == v1alpha1.TrialReverted {
		o.rejected = tuning.Reject(o.rejected, record, goVersion, o.now)
	}
	o.cooled = o.now.Add(tuning.NextCooldown(cooldown, o.history))
	o.streak = 0
}

// converge lets the operator work until it has nothing to try, or the time is up. Between its looks it waits as long as nothing can happen.
func (o *operator) converge(limit time.Duration) error {
	for tuned := 0; o.now.Sub(epoch) < limit && tuned < tuning.DeadbandLooks; {
		state, err := o.step()
		if err != nil {
			return err
		}
		wait := interval
		switch state {
		case stateTuned, stateBreach:
			tuned++
		case stateTrial:
			tuned, wait = 0, max(interval, o.cooled.Sub(o.now))
		case stateShortage:
			tuned, wait = 0, shortageWait
		default:
			tuned = 0
		}
		o.run(wait)
	}
	return nil
}

// shortageWait is how long the evaluation lets pass before it asks again whether there are enough pods; the product asks at every look.
const shortageWait = 10 * time.Minute

// promotions are the settings that were promoted, in order.
func (o *operator) promotions() []settings.Settings {
	var promoted []settings.Settings
	for _, record := range o.ended {
		if record.Result != v1alpha1.TrialPromoted {
			continue
		}
		if set, err := settings.FromAPI(record.Candidate); err == nil {
			promoted = append(promoted, set)
		}
	}
	return promoted
}
