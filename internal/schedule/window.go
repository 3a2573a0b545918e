// Package schedule says when trials may replace pods: maintenance windows, a budget of replacements, and rests after too many deploys. It is pure.
package schedule

import "time"

// MaxLength of a window, so that those of three days are enough to tell whether one is open.
const MaxLength = 24 * time.Hour

// Window opens at a time of day on some days of the week, and is open for a length of time.
type Window struct {
	Location *time.Location
	// Days of the week on which it opens; none means all.
	Days []time.Weekday
	// Start is the time of day, by the clock on the wall.
	Start time.Duration
	// Length in elapsed time: a night in which clocks are set makes it neither longer nor shorter.
	Length time.Duration
}

// Open says whether one of the windows is open, and if none is, when the next opens. Without any window it is always open.
func Open(windows []Window, now time.Time) (open bool, next time.Time) {
	for _, window := range windows {
		for _, opening := range window.openings(now, -2, 8) {
			switch {
			case opening.After(now):
				if next.IsZero() || opening.Before(next) {
					next = opening
				}
			case now.Before(opening.Add(window.Length)):
				return true, time.Time{}
			}
		}
	}
	return len(windows) == 0, next
}

// openings on the days around a moment, in order.
func (w Window) openings(now time.Time, from, to int) []time.Time {
	year, month, day := now.In(w.Location).Date()
	var found []time.Time
	for offset := from; offset <= to; offset++ {
		if date := time.Date(year, month, day+offset, 0, 0, 0, 0, time.UTC); w.on(date.Weekday()) {
			found = append(found, instant(date.Add(w.Start), w.Location))
		}
	}
	return found
}

func (w Window) on(day time.Weekday) bool {
	for _, one := range w.Days {
		if one == day {
			return true
		}
	}
	return len(w.Days) == 0
}

// instant at which the clocks of a place show what is given as if it were UTC. A time that the clocks show twice is the first of the two; one
// that they skip is as much later as they skip. time.Date does not say which it takes (https://pkg.go.dev/time#Date).
func instant(shown time.Time, place *time.Location) time.Time {
	before := shown.Add(-offset(shown.Add(-24*time.Hour), place))
	after := shown.Add(-offset(shown.Add(24*time.Hour), place))
	if after.Before(before) {
		// Clocks were set forward in between: the new offset holds where the clocks show the time by it.
		if offset(after, place) == shown.Sub(after) {
			return after
		}
		return before
	}
	if offset(before, place) == shown.Sub(before) {
		return before
	}
	return after
}

func offset(at time.Time, place *time.Location) time.Duration {
	_, seconds := at.In(place).Zone()
	return time.Duration(seconds) * time.Second
}
