package main

import (
	"sync"
	"time"
)

// schedule says when each request is due. Due times follow from the start and the rate alone: what the service does, or
// how late the last request was, never moves them. That is what makes the loop open.
type schedule struct {
	mutex   sync.Mutex
	rate    float64 // requests a second; none at 0
	base    time.Time
	emitted int64         // since base
	changed chan struct{} // closed at the next change of the rate
}

func newSchedule(start time.Time, rate float64) *schedule {
	return &schedule{rate: rate, base: start, changed: make(chan struct{})}
}

// next returns when the next request is due, and a channel that closes when the answer no longer holds. Without a rate
// nothing is due.
func (s *schedule) next() (due time.Time, isDue bool, changed <-chan struct{}) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.rate == 0 {
		return time.Time{}, false, s.changed
	}
	// From the base, not from the request before: a sum of rounded gaps would drift.
	seconds := float64(s.emitted) / s.rate
	return s.base.Add(time.Duration(seconds * float64(time.Second))), true, s.changed
}

// advance goes on to the request after the one that next returned, unless the rate changed since.
func (s *schedule) advance(changed <-chan struct{}) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if changed == s.changed {
		s.emitted++
	}
}

// setRate changes the rate from now on.
func (s *schedule) setRate(now time.Time, rate float64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.rate, s.base, s.emitted = rate, now, 0
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *schedule) currentRate() float64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.rate
}
