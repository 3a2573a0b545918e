package rollout

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// written is the part of a policy's status that the webhook reads, from when on it held.
type written struct {
	at       time.Time
	trial    *v1alpha1.Trial
	baseline v1alpha1.Baseline
	deleted  bool
}

func (w *world) status() written { return w.statuses[len(w.statuses)-1] }

func (w *world) write(trial *v1alpha1.Trial, baseline v1alpha1.Baseline) {
	w.statuses = append(w.statuses, written{w.now, trial, baseline, w.gone})
}

// asOf is the status as a cache that lags has it.
func (w *world) asOf(at time.Time) written {
	for i := len(w.statuses) - 1; i > 0; i-- {
		if !w.statuses[i].at.After(at) {
			return w.statuses[i]
		}
	}
	return w.statuses[0]
}

// admit models the API server and the webhook: it grants an open slot by what it knows of the status, which may be old, and else gives the
// baseline. The pod is stored within 34 s after the status said so.
func (w *world) admit(revision types.UID, name string) creation {
	w.births++
	c := creation{at: w.now, name: name, revision: revision, settings: w.footings[revision].Declared}
	if name == "" {
		c.name = fmt.Sprintf("shop-%s-r%04d", revision, w.births)
	}
	if w.webhookDown {
		return c
	}
	stale := time.Duration(0)
	if w.chance(w.stale) {
		stale = w.seconds([2]int{1, 3})
	}
	if w.chance(w.late) {
		c.at = w.now.Add(w.seconds([2]int{1, 34}) - stale)
	}
	status := w.asOf(w.now.Add(-stale))
	c.settings = w.baselineFor(status, revision)
	if id, candidate, ok := w.grant(status, revision, name); ok {
		c.settings = candidate
		if name == "" {
			c.name = PodName(fmt.Sprintf("shop-%s-", revision), id)
		}
		switch w.undone {
		case "settings":
			c.settings = settings.Settings{GOGC: 33}
		case "unreadable":
			c.settings, c.unreadable = settings.Settings{}, "GOGC is set twice"
		}
	}
	return c
}

func (w *world) baselineFor(status written, revision types.UID) settings.Settings {
	declared := w.footings[revision].Declared
	if status.baseline.Source != v1alpha1.BaselinePromoted || status.deleted || w.gone {
		return declared
	}
	proven, err := settings.FromAPI(status.baseline.Settings)
	if err != nil {
		return declared
	}
	footing, err := settings.FootingFromAPI(status.baseline.Footing)
	if err != nil {
		return declared
	}
	if onThis, ok := footing.On(w.footings[revision], proven); ok {
		return onThis
	}
	return declared
}

func (w *world) grant(status written, revision types.UID, name string) (id string, candidate settings.Settings, granted bool) {
	trial := status.trial
	if trial == nil || trial.Stage != v1alpha1.StageCanary || trial.Revision != revision || w.gone {
		return "", settings.Settings{}, false
	}
	footing, err := settings.FootingFromAPI(trial.Footing)
	if err != nil || footing != w.footings[revision] {
		return "", settings.Settings{}, false
	}
	candidate, err = settings.FromAPI(trial.Candidate)
	if err != nil {
		return "", settings.Settings{}, false
	}
	for _, slot := range trial.Slots {
		claimed := w.now.Before(w.claims[slot.ID]) && !w.chance(w.doubleGrant)
		switch {
		case slot.PodUID == "" && slot.PodName != "" && slot.PodName == name:
			return slot.ID, candidate, true
		case slot.PodUID == "" && slot.PodName == "" && !claimed:
			w.claims[slot.ID] = w.now.Add(5 * time.Second)
			return slot.ID, candidate, true
		}
	}
	return "", settings.Settings{}, false
}
