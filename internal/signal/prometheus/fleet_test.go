package prometheus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/internal/signal"
)

// queriesPerSnapshot is how many queries one snapshot takes, whatever it shows.
var queriesPerSnapshot = float64(len(signal.Scope{Namespaces: []string{"shop"}}.Queries()))

// shop is a Prometheus with the pods checkout-1 and payment-1 in every namespace, which have used a second of processor time for every second
// since the example began.
type shop struct {
	mutex sync.Mutex
	asked []string
	// alter answers instead, if it says so.
	alter func(w http.ResponseWriter, query string) bool
}

var namespaceMatcher = regexp.MustCompile(`namespace=~?"([^"]*)"`)

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query, at := r.FormValue("query"), r.FormValue("time")
	s.mutex.Lock()
	s.asked = append(s.asked, at+" "+query)
	alter := s.alter
	s.mutex.Unlock()
	if alter != nil && alter(w, query) {
		return
	}
	now, err := strconv.ParseFloat(at, 64)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	metric, value := "process_cpu_seconds_total", now-at0
	if strings.HasPrefix(query, "timestamp(") {
		metric, value = "", now-1
	} else if !strings.Contains(query, metric) {
		metric = "other"
	}
	var samples []string
	for namespace := range strings.SplitSeq(namespaceMatcher.FindStringSubmatch(query)[1], "|") {
		for _, pod := range []string{"checkout-1", "payment-1"} {
			samples = append(samples, fmt.Sprintf(`{"metric":{"__name__":%q,"namespace":%q,"pod":%q},"value":[%s,"%f"]}`, metric, namespace, pod, at, value))
		}
	}
	_, _ = io.WriteString(w, vector(samples...))
}

// slot is that of a provider which scrapes every 15 s.
const slot = 5 * time.Second

const at0 = at - 24*3600

// take gives what was asked since it was last called.
func (s *shop) take() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func (s *shop) set(alter func(w http.ResponseWriter, query string) bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.alter = alter
}

func requestFor(policy int, end time.Time) signal.Request {
	request := exampleRequest()
	request.Namespace = "ns" + strconv.Itoa(policy%20)
	request.PodPrefix = []string{"checkout-", "payment-"}[policy/20%2]
	request.End = end
	request.Latency = signal.Latency{}
	return request
}

func observeAll(t *testing.T, source *Source, policies int, end time.Time) {
	t.Helper()
	var group sync.WaitGroup
	for policy := range policies {
		group.Go(func() {
			window, err := source.Observe(t.Context(), requestFor(policy, end))
			if err != nil || len(window.Pods) != 1 {
				t.Errorf("policy %d: %d pods, error %v", policy, len(window.Pods), err)
			}
		})
	}
	group.Wait()
}

// TestQueriesAreConstant holds that the queries of a slot are as many for 200 policies in 20 namespaces as for one.
func TestQueriesAreConstant(t *testing.T) {
	perSlot := func(policies int) []int {
		server := &shop{}
		source := newTestSource(t, server, 10*time.Second)
		observeAll(t, source, policies, time.Unix(at, 0))
		server.take()
		var counts []int
		for n := 1; n <= 6; n++ {
			// Looks come within the slot, not all at its start.
			observeAll(t, source, policies, time.Unix(at, 0).Add(time.Duration(n)*slot+time.Duration(1+n%4)*time.Second))
			counts = append(counts, len(server.take()))
		}
		return counts
	}
	one, many := perSlot(1), perSlot(200)
	if diff := cmp.Diff(one, many); diff != "" {
		t.Errorf("queries in each slot (-one policy +200 policies):\n%s", diff)
	}
	for n, count := range many {
		if count != int(queriesPerSnapshot) {
			t.Errorf("%d queries in slot %d, want %g", count, n+1, queriesPerSnapshot)
		}
	}
}

// TestLateNamespace holds that a namespace that comes within a slot is fetched alone, once.
func TestLateNamespace(t *testing.T) {
	server := &shop{}
	source := newTestSource(t, server, 10*time.Second)
	end := time.Unix(at, 0)
	for policy := range 2 {
		if _, err := source.Observe(t.Context(), requestFor(policy, end)); err != nil {
			t.Fatal(err)
		}
		for _, asked := range server.take() {
			if strings.Contains(asked, "ns0") != (policy == 0) || strings.Contains(asked, "ns1") != (policy == 1) {
				t.Errorf("asked for policy %d: %s", policy, asked)
			}
		}
		if _, err := source.Observe(t.Context(), requestFor(policy+20, end)); err != nil {
			t.Fatal(err)
		}
		if asked := server.take(); len(asked) != 0 {
			t.Errorf("asked again for another policy of the namespace: %q", asked)
		}
	}
}

// TestLateHistogram holds that a histogram that nobody asked for before is asked for within the slot.
func TestLateHistogram(t *testing.T) {
	server := &shop{}
	source := newTestSource(t, server, 10*time.Second)
	request := requestFor(0, time.Unix(at, 0))
	if _, err := source.Observe(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	server.take()
	request.Latency = signal.Latency{Histogram: "fiber_seconds", CodeLabel: "code"}
	for range 2 {
		if _, err := source.Observe(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	if asked := server.take(); !slices.ContainsFunc(asked, func(q string) bool { return strings.Contains(q, "fiber_seconds_bucket") }) ||
		len(asked) != 5*int(queriesPerSnapshot) {
		t.Errorf("asked %d queries: %q", len(asked), asked)
	}
}

func namespaces(query string) int {
	return strings.Count(namespaceMatcher.FindStringSubmatch(query)[1], "|") + 1
}

// TestShards holds that too large an answer is asked for in parts, and that the next slot knows.
func TestShards(t *testing.T) {
	t.Run("cut off", func(t *testing.T) { checkShards(t, gigantic) })
	t.Run("refused by Prometheus", func(t *testing.T) {
		checkShards(t, respond(422, `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}`))
	})
}

func checkShards(t *testing.T, answer http.HandlerFunc) {
	t.Helper()
	server := &shop{}
	source := newTestSource(t, server, 10*time.Second)
	observeAll(t, source, 20, time.Unix(at, 0))
	server.take()
	tooLarge := 0
	server.set(func(w http.ResponseWriter, query string) bool {
		if !strings.Contains(query, "process_cpu") || namespaces(query) <= 5 {
			return false
		}
		tooLarge++
		answer(w, nil)
		return true
	})
	observeAll(t, source, 20, time.Unix(at+5, 0))
	if asked := len(server.take()); tooLarge != 3 || asked != int(queriesPerSnapshot)+6 {
		t.Errorf("asked %d queries of which %d were too large, want six more than %g, and three", asked, tooLarge, queriesPerSnapshot)
	}
	observeAll(t, source, 20, time.Unix(at+10, 0))
	if asked := len(server.take()); tooLarge != 3 || asked != int(queriesPerSnapshot)+3 {
		t.Errorf("then asked %d queries of which %d were too large, want three more than %g, and none", asked, tooLarge-3, queriesPerSnapshot)
	}
}

// TestTooLargeNamespace holds that a namespace of which one metric alone is too much fails, and no other does.
func TestTooLargeNamespace(t *testing.T) {
	server := &shop{alter: func(w http.ResponseWriter, query string) bool {
		if !strings.Contains(query, "process_cpu") || !regexp.MustCompile(`ns0\b`).MatchString(query) {
			return false
		}
		gigantic(w, nil)
		return true
	}}
	source := newTestSource(t, server, 10*time.Second)
	end := time.Unix(at, 0)
	if _, err := source.Observe(t.Context(), requestFor(0, end)); !errors.Is(err, ErrAnswerTooLarge) {
		t.Errorf("error %v, want %v", err, ErrAnswerTooLarge)
	}
	if _, err := source.Observe(t.Context(), requestFor(1, end.Add(slot))); err != nil {
		t.Errorf("another namespace: %v", err)
	}
}

// TestFailureIsShared holds that a failing Prometheus is asked once in a slot, not by every policy, and again in the next.
func TestFailureIsShared(t *testing.T) {
	server := &shop{alter: func(w http.ResponseWriter, _ string) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}}
	source := newTestSource(t, server, 10*time.Second)
	for policy := range 50 {
		var unavailable *UnavailableError
		if _, err := source.Observe(t.Context(), requestFor(policy, time.Unix(at, 0))); !errors.As(err, &unavailable) {
			t.Errorf("error %v, want unavailable", err)
		}
	}
	if asked := len(server.take()); asked > int(queriesPerSnapshot) {
		t.Errorf("asked %d queries, want %g at most", asked, queriesPerSnapshot)
	}
	server.set(nil)
	if _, err := source.Observe(t.Context(), requestFor(0, time.Unix(at+5, 0))); err != nil {
		t.Errorf("in the next slot: %v", err)
	}
}

// TestOneGivesUp holds that others get what one no longer waits for.
func TestOneGivesUp(t *testing.T) {
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	server := &shop{alter: func(http.ResponseWriter, string) bool {
		select {
		case begun <- struct{}{}:
		default:
		}
		<-goOn
		return false
	}}
	source := newTestSource(t, server, 10*time.Second)
	impatient, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := source.Observe(impatient, requestFor(0, time.Unix(at, 0)))
		first <- err
	}()
	<-begun
	go func() {
		_, err := source.Observe(t.Context(), requestFor(0, time.Unix(at, 0)))
		second <- err
	}()
	waitFor(t, source, func(running *flight) bool { return running.waiting == 2 })
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of the one that gave up", err)
	}
	close(goOn)
	if err := <-second; err != nil {
		t.Errorf("error %v of the one that waited", err)
	}
	if got := source.counted(resultCanceled); got != 0 {
		t.Errorf("%g queries canceled, want none", got)
	}
}

// waitFor looks until every flight is as wanted.
func waitFor(t *testing.T, source *Source, as func(*flight) bool) {
	t.Helper()
	fleet := source.endpoints["default"].fleet
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		fleet.mutex.Lock()
		good := len(fleet.flights) > 0
		for _, running := range fleet.flights {
			good = good && as(running)
		}
		fleet.mutex.Unlock()
		if good {
			return
		}
	}
	t.Fatal("the flight never came to be as it should")
}

func TestClosed(t *testing.T) {
	server := &shop{}
	source := newTestSource(t, server, 10*time.Second)
	source.Close()
	if _, err := source.Observe(t.Context(), exampleRequest()); !errors.Is(err, errClosed) {
		t.Errorf("error %v, want %v", err, errClosed)
	}
}
