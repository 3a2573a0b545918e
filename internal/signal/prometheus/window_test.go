package prometheus

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gopacer/gopacer/internal/signal"
)

// TestBackfill holds that a source that has just started asks for the start of the window, and for some times in it, once.
func TestBackfill(t *testing.T) {
	server := &shop{}
	source := newTestSource(t, server, 10*time.Second)
	request := requestFor(0, time.Unix(at, 0))
	request.Length = 10 * time.Minute
	window, err := source.Observe(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if window.Length < 9*time.Minute || window.Length > 10*time.Minute {
		t.Errorf("window of %s, want ten minutes but for a tenth", window.Length)
	}
	if got := window.Pods["checkout-1"].CPUSeconds; got != (signal.Value{Number: window.Length.Seconds(), State: signal.Present}) {
		t.Errorf("%v of processor time in %s", got, window.Length)
	}
	times := map[string]int{}
	for _, asked := range server.take() {
		time, _, _ := strings.Cut(asked, " ")
		times[time]++
	}
	if len(times) < 4 || len(times) > 2+maxBackfill {
		t.Errorf("asked for %d times, want the ends and up to %d between", len(times), maxBackfill)
	}
	for time, count := range times {
		if count != int(queriesPerSnapshot) {
			t.Errorf("asked %d queries for %s, want %g", count, time, queriesPerSnapshot)
		}
	}
	for i := 1; i <= 3; i++ {
		request.End = request.End.Add(slot)
		if _, err := source.Observe(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		if asked := len(server.take()); asked != int(queriesPerSnapshot) {
			t.Errorf("asked %d queries in a later slot, want %g", asked, queriesPerSnapshot)
		}
	}
}

// TestThin holds that snapshots get few with age, and that a window of any length still finds one near its start.
func TestThin(t *testing.T) {
	source := newTestSource(t, &shop{}, time.Second)
	f := source.endpoints["default"].fleet
	scope := signal.Scope{Namespaces: []string{"ns0"}}
	wanted := target{namespace: "ns0", prefix: "checkout-"}
	end := time.Unix(at, 0)
	for range 7 * 3600 / 5 {
		end = end.Add(slot)
		f.note(wanted, end)
		f.mutex.Lock()
		f.keep(&fetch{at: end, reader: scope.NewReader(end)}, scope, end)
		f.mutex.Unlock()
	}
	if held := len(f.held); held > 150 {
		t.Errorf("%d snapshots are held", held)
	}
	for _, length := range []time.Duration{10 * time.Second, 45 * time.Second, time.Minute, 133 * time.Second, 10 * time.Minute, 47 * time.Minute,
		2 * time.Hour, 6 * time.Hour} {
		first, ok := f.startHeld(wanted, end.Add(-length), end)
		if off := end.Sub(first.At) - length; !ok || off > slot || -off > max(length/tolerance, slot) {
			t.Errorf("a window of %s is off by %s, found %t", length, off, ok)
		}
	}
}

// TestTrim holds that old snapshots keep the pods of targets only, and that a policy that comes later gets its own nevertheless.
func TestTrim(t *testing.T) {
	server := &shop{}
	source := newTestSource(t, server, 10*time.Second)
	end := time.Unix(at, 0)
	for n := range 40 {
		if _, err := source.Observe(t.Context(), requestFor(0, end.Add(time.Duration(n)*slot))); err != nil {
			t.Fatal(err)
		}
	}
	end = end.Add(39 * slot)
	targets, others := 0, 0
	for _, held := range source.endpoints["default"].fleet.held {
		moments := []signal.Moment{{At: held.at}, {At: held.at.Add(slot), Part: held.parts["ns0"].pods}}
		targets += len(signal.Assemble(requestFor(0, end), slot, moments, nil).Pods)
		others += len(signal.Assemble(requestFor(20, end), slot, moments, nil).Pods)
	}
	if held := len(source.endpoints["default"].fleet.held); targets != held || others == 0 || others > 14 {
		t.Errorf("of %d snapshots %d hold the target's pod, %d another's: want all, and the newest", held, targets, others)
	}
	request := requestFor(20, end)
	request.Length = 150 * time.Second
	window, err := source.Observe(t.Context(), request)
	if err != nil || window.Pods["payment-1"].CPUSeconds.Number < 130 {
		t.Errorf("pods %v, error %v", window.Pods, err)
	}
}

func TestForgets(t *testing.T) {
	server := &shop{}
	source := newTestSource(t, server, 10*time.Second)
	observeAll(t, source, 2, time.Unix(at, 0))
	server.take()
	if _, err := source.Observe(t.Context(), requestFor(0, time.Unix(at, 0).Add(askedFor+slot))); err != nil {
		t.Fatal(err)
	}
	for _, asked := range server.take() {
		if strings.Contains(asked, "ns1") {
			t.Errorf("asked for a target that nobody asked for in a while: %s", asked)
		}
	}
}

// TestSlotBefore holds that a window's end never lies so far back that a fresh sample would count as stale.
func TestSlotBefore(t *testing.T) {
	for _, interval := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second, 15 * time.Second, time.Minute} {
		f := newFleet(&endpoint{scrapeInterval: interval})
		for ms := range 12000 {
			end := time.Unix(at, 0).Add(time.Duration(ms) * time.Millisecond)
			age := end.Sub(f.slotBefore(end))
			window := signal.Window{ScrapeInterval: interval}
			if age <= 0 || age+interval*3/2 > window.MaxSampleAge() {
				t.Fatalf("scraped every %s: a window of %s before", interval, age)
			}
		}
		f.close()
	}
}

// TestBackfillFails holds that there is no window where its start can't be had, and that another slot tries again.
func TestBackfillFails(t *testing.T) {
	server := &shop{}
	source := newTestSource(t, server, 10*time.Second)
	request := requestFor(0, time.Unix(at, 0))
	var asked atomic.Int32
	server.set(func(w http.ResponseWriter, query string) bool {
		if !strings.HasPrefix(query, "timestamp(") || asked.Add(1) == 1 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	var unavailable *UnavailableError
	if window, err := source.Observe(t.Context(), request); !errors.As(err, &unavailable) || len(window.Pods) > 0 {
		t.Errorf("pods %v, error %v: want none, for want of the start", window.Pods, err)
	}
	server.set(nil)
	request.End = request.End.Add(slot)
	if window, err := source.Observe(t.Context(), request); err != nil || len(window.Pods) != 1 {
		t.Errorf("in the next slot: pods %v, error %v", window.Pods, err)
	}
}

// TestGathering holds that a first window which takes longer than there is time is told from a Prometheus that does not answer, that what was
// answered is kept, and that a later window which is late is no first one.
func TestGathering(t *testing.T) {
	server := &shop{}
	source := newTestSource(t, server, 10*time.Second)
	request := requestFor(0, time.Unix(at, 0))
	request.Length = 10 * time.Minute
	observe := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err := source.Observe(ctx, request)
		return err
	}
	stuck := func(after int32) {
		var asked atomic.Int32
		done := t.Context().Done()
		server.set(func(_ http.ResponseWriter, _ string) bool {
			if asked.Add(1) > after {
				<-done
				return true
			}
			return false
		})
	}
	late := func(what string, err error, gathering bool) {
		t.Helper()
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrGathering) != gathering {
			t.Errorf("%s: %v", what, err)
		}
	}
	stuck(0)
	late("nothing is answered", observe(100*time.Millisecond), false)
	stuck(int32(queriesPerSnapshot))
	late("the end is answered", observe(500*time.Millisecond), true)
	server.set(nil)
	server.take()
	if err := observe(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	questions := map[string]bool{} // one of the call before, which was given up, may reach the server only now
	for _, question := range server.take() {
		questions[question] = true
	}
	if asked := len(questions); asked == 0 || asked > maxBackfill*int(queriesPerSnapshot)+int(queriesPerSnapshot) {
		t.Errorf("%d questions for the rest of the window", asked)
	}
	request.End = request.End.Add(slot)
	stuck(int32(queriesPerSnapshot) - 1)
	late("a later window", observe(500*time.Millisecond), false)
}

// TestTwoHistograms holds that histograms of several policies are asked for in the same queries, in an order that does not change.
func TestTwoHistograms(t *testing.T) {
	server := &shop{}
	source := newTestSource(t, server, 10*time.Second)
	for n := range 3 {
		server.take()
		for policy, histogram := range []string{"fiber_seconds", "chi_seconds"} {
			request := requestFor(policy, time.Unix(at, 0).Add(time.Duration(n)*slot))
			request.Latency = signal.Latency{Histogram: histogram, CodeLabel: "code"}
			if _, err := source.Observe(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
	}
	asked := server.take()
	both := slices.ContainsFunc(asked, func(query string) bool {
		return strings.Contains(query, "chi_seconds_bucket|") && strings.Contains(query, "fiber_seconds_bucket|")
	})
	if len(asked) != int(queriesPerSnapshot) || !both {
		t.Errorf("asked %d queries: %q", len(asked), asked)
	}
}
