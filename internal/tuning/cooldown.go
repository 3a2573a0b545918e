package tuning

import (
	"slices"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

const (
	// minReversedCooldown is what a reversal doubles at least, maxReversedCooldown where doubling ends, and how long reversals count.
	minReversedCooldown = 10 * time.Minute
	maxReversedCooldown = 24 * time.Hour
)

// NextCooldown is how long to wait after the newest trial of a history, which is newest first: the policy's own cooldown, doubled for each trial
// of the last 24 hours that turned back from the promotion before it, up to a day. So a load that swings with the day can't swing the settings.
func NextCooldown(base time.Duration, history []v1alpha1.TrialRecord) time.Duration {
	if len(history) == 0 {
		return base
	}
	cooldown := base
	newest := history[0].EndedAt.Time
	for i, record := range history {
		if newest.Sub(record.EndedAt.Time) >= maxReversedCooldown || !reverses(record, history[i+1:]) {
			continue
		}
		cooldown = min(2*max(cooldown, minReversedCooldown), maxReversedCooldown)
	}
	return max(base, cooldown)
}

// reverses says that a trial went against the direction of the last promotion before it.
func reverses(record v1alpha1.TrialRecord, before []v1alpha1.TrialRecord) bool {
	to := recordDirection(record)
	on, err := settings.FootingFromAPI(record.Footing)
	return err == nil && to != 0 && to == -promotedDirection(before, on)
}

// lastPromoted is the direction of the last promotion on this footing; 0 where there is none.
func lastPromoted(in Input) direction { return promotedDirection(in.History, in.Footing) }

func promotedDirection(history []v1alpha1.TrialRecord, on settings.Footing) direction {
	i := slices.IndexFunc(history, func(record v1alpha1.TrialRecord) bool {
		footing, err := settings.FootingFromAPI(record.Footing)
		return err == nil && footing == on && record.Result == v1alpha1.TrialPromoted && recordDirection(record) != 0
	})
	if i < 0 {
		return 0
	}
	return recordDirection(history[i])
}

// recordDirection is where a trial for promotion moved GOGC; 0 where it did not, or that can't be told: off has no place among the numbers.
func recordDirection(record v1alpha1.TrialRecord) direction {
	if record.Previous == nil || (record.Purpose != "" && record.Purpose != v1alpha1.PurposePromote) {
		return 0
	}
	previous, err := settings.FromAPI(record.Previous.Settings)
	if err != nil {
		return 0
	}
	candidate, err := settings.FromAPI(record.Candidate)
	if err != nil || previous.GOGC == settings.Off || candidate.GOGC == settings.Off {
		return 0
	}
	switch from, to := previous.EffectiveGOGC(), candidate.EffectiveGOGC(); {
	case to > from:
		return up
	case to < from:
		return down
	}
	return 0
}
