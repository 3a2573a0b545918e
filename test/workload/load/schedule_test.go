package main

import (
	"testing"
	"time"
)

var start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// due takes the next request from the schedule.
func due(t *testing.T, requests *schedule) time.Time {
	t.Helper()
	next, isDue, changed := requests.next()
	if !isDue {
		t.Fatal("nothing is due")
	}
	requests.advance(changed)
	return next
}

func TestScheduleDoesNotDrift(t *testing.T) {
	const rate = 3 // a gap that is no whole number of nanoseconds
	requests := newSchedule(start, rate)
	for count := range 3 * 3600 * rate {
		got := due(t, requests)
		want := start.Add(time.Duration(count/rate)*time.Second + time.Duration(count%rate)*time.Second/rate)
		if off := got.Sub(want).Abs(); off > time.Microsecond {
			t.Fatalf("request %d is due at %v, want %v", count, got, want)
		}
	}
}

func TestScheduleAnswersTheSameUntilAdvanced(t *testing.T) {
	requests := newSchedule(start, 10)
	first, _, _ := requests.next()
	second, _, _ := requests.next()
	if !first.Equal(second) || !first.Equal(start) {
		t.Errorf("asked twice, it says %v and %v, want %v", first, second, start)
	}
}

func TestScheduleChangesRate(t *testing.T) {
	requests := newSchedule(start, 10)
	due(t, requests)
	_, _, changed := requests.next()
	later := start.Add(time.Minute)
	requests.setRate(later, 4)
	select {
	case <-changed:
	default:
		t.Error("a change wakes nobody up")
	}
	requests.advance(changed) // of an answer that no longer holds
	for count := range 8 {
		if got, want := due(t, requests), later.Add(time.Duration(count)*250*time.Millisecond); !got.Equal(want) {
			t.Errorf("request %d after the change is due at %v, want %v", count, got, want)
		}
	}
	requests.setRate(later, 0)
	if _, isDue, _ := requests.next(); isDue {
		t.Error("a request is due at rate 0")
	}
}
