package schedule

import (
	"slices"
	"strings"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

const (
	dayForm = time.DateOnly
	// week is how long a day's replacements count, once the day is over: a rolling week, told in whole days of UTC.
	week = 7 * 24 * time.Hour
)

// Count adds replacements to those of the last days, newest first, and drops days that count no longer.
func Count(days []v1alpha1.DayReplacements, now time.Time, replaced int) []v1alpha1.DayReplacements {
	kept := counting(days, now)
	if replaced <= 0 {
		return kept
	}
	today := now.UTC().Format(dayForm)
	if i := slices.IndexFunc(kept, func(one v1alpha1.DayReplacements) bool { return one.Day == today }); i >= 0 {
		kept[i].Count += int32(replaced)
		return kept
	}
	kept = append(kept, v1alpha1.DayReplacements{Day: today, Count: int32(replaced)})
	slices.SortFunc(kept, func(a, b v1alpha1.DayReplacements) int { return strings.Compare(b.Day, a.Day) })
	return kept
}

// Used are the replacements of the last week.
func Used(days []v1alpha1.DayReplacements, now time.Time) int {
	used := 0
	for _, one := range counting(days, now) {
		used += int(one.Count)
	}
	return used
}

// Fits says when so many replacements more keep a week's budget: now, or later; never where they are more than the budget itself.
func Fits(days []v1alpha1.DayReplacements, now time.Time, cost, budget int) (at time.Time, ever bool) {
	at = now
	for cost <= budget {
		kept := counting(days, at)
		if Used(kept, at)+cost <= budget {
			return at, true
		}
		at = counted(kept[len(kept)-1])
	}
	return time.Time{}, false
}

// counting are the days that count at the moment, newest first. A day that can't be read counts for nothing.
func counting(days []v1alpha1.DayReplacements, now time.Time) []v1alpha1.DayReplacements {
	var kept []v1alpha1.DayReplacements
	for _, one := range days {
		if now.Before(counted(one)) {
			kept = append(kept, one)
		}
	}
	slices.SortFunc(kept, func(a, b v1alpha1.DayReplacements) int { return strings.Compare(b.Day, a.Day) })
	return kept[:min(len(kept), maxDays)]
}

// maxDays that count at once: seven, and the one that has begun.
const maxDays = 8

// counted is when a day no longer counts.
func counted(one v1alpha1.DayReplacements) time.Time {
	day, err := time.Parse(dayForm, one.Day)
	if err != nil {
		return time.Time{}
	}
	return day.Add(24*time.Hour + week)
}
