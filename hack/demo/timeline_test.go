package main

import (
	"strings"
	"testing"
	"time"
)

// stopwatch is a clock that a test moves.
type stopwatch struct{ time time.Time }

func (s *stopwatch) now() time.Time           { return s.time }
func (s *stopwatch) pass(after time.Duration) { s.time = s.time.Add(after) }

func TestTimelineOnATerminal(t *testing.T) {
	var out strings.Builder
	watch := &stopwatch{noon}
	told := newTimeline(&out, true, watch.now)
	told.say("cluster", "runs")
	watch.pass(83 * time.Second)
	told.waiting("a pod")
	told.waiting("%s", strings.Repeat("x", 200))
	told.say("policy", "applied")
	want := "  0:00  cluster   runs\n" + clearLine + "  1:23  …         a pod" +
		clearLine + "  1:23  …         " + strings.Repeat("x", terminalWidth-19) + "…" + clearLine + "  1:23  policy    applied\n"
	if got := out.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if len(told.entries) != 2 || told.entries[1].Seconds != 83 {
		t.Errorf("%+v", told.entries)
	}
}

func TestTimelineInALog(t *testing.T) {
	var out strings.Builder
	watch := &stopwatch{noon}
	told := newTimeline(&out, false, watch.now)
	for range 50 { // looks, a second apart
		told.waiting("a pod")
		watch.pass(time.Second)
	}
	if got := strings.Count(out.String(), "a pod\n"); got != 2 || strings.Contains(out.String(), "\r") {
		t.Errorf("%q", out.String())
	}
}

func TestRestartSetsTheClockToZero(t *testing.T) {
	var out strings.Builder
	watch := &stopwatch{noon}
	told := newTimeline(&out, false, watch.now)
	watch.pass(time.Hour)
	told.restart()
	watch.pass(time.Second)
	told.say("cluster", "runs")
	if got := out.String(); got != "  0:01  cluster   runs\n" {
		t.Errorf("%q", got)
	}
}

func TestWriteLeavesNothingOfWhatWasWaitedFor(t *testing.T) {
	var out strings.Builder
	told := newTimeline(&out, true, time.Now)
	told.waiting("a pod")
	if _, err := told.Write([]byte("etcd runs\n")); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), clearLine+"etcd runs\n") {
		t.Errorf("%q", out.String())
	}
}
