package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// roundTrip answers requests without a network, so that a test may fake the time.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func newGenerator(rate float64, slots int, transport http.RoundTripper) (*generator, *prometheus.Registry) {
	registry, endpoints := prometheus.NewRegistry(), new(ring)
	endpoints.set([]string{"a:1", "b:1"})
	requests := newSchedule(time.Now(), rate)
	return &generator{
		schedule: requests, endpoints: endpoints, metrics: newMetrics(registry, endpoints, requests),
		client: &http.Client{Transport: transport}, path: "/work", timeout: time.Second,
		slots: make(chan struct{}, slots), now: time.Now,
	}, registry
}

func answer(status int) (*http.Response, error) {
	return &http.Response{StatusCode: status, Body: http.NoBody}, nil
}

// TestOpenLoop: a service that hangs must not slow the arrivals down.
func TestOpenLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var arrivals []time.Duration
		var mutex sync.Mutex
		began := time.Now()
		sender, _ := newGenerator(10, 100, roundTrip(func(request *http.Request) (*http.Response, error) {
			mutex.Lock()
			arrivals = append(arrivals, time.Since(began))
			mutex.Unlock()
			<-request.Context().Done()
			return nil, request.Context().Err()
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 1950*time.Millisecond)
		defer cancel()
		sender.run(ctx)
		if len(arrivals) != 20 {
			t.Fatalf("%d requests in 1.95 s, want 20", len(arrivals))
		}
		for index, arrived := range arrivals {
			if want := time.Duration(index) * 100 * time.Millisecond; arrived != want {
				t.Errorf("request %d came at %v, want %v", index, arrived, want)
			}
		}
		if got := testutil.ToFloat64(sender.metrics.failed.WithLabelValues(reasonTimeout)); got != 20 {
			t.Errorf("%v requests timed out, want 20", got)
		}
	})
}

// TestLatencyCountsFromDue: a generator that wakes up late owns up to it.
func TestLatencyCountsFromDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sender, registry := newGenerator(10, 100, roundTrip(func(*http.Request) (*http.Response, error) {
			return answer(http.StatusOK)
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		sender.request(ctx, time.Now().Add(-200*time.Millisecond))
		for _, name := range []string{"load_request_duration_seconds", "load_request_lateness_seconds"} {
			if sum := histogramSum(t, registry, name); sum != 0.2 {
				t.Errorf("%s is %v s, want 0.2", name, sum)
			}
		}
	})
}

func histogramSum(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetHistogram().GetSampleSum()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func TestTooManyUnderWayAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sender, _ := newGenerator(10, 3, roundTrip(func(request *http.Request) (*http.Response, error) {
			<-request.Context().Done()
			return nil, request.Context().Err()
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 950*time.Millisecond) // less than the timeout of a request
		defer cancel()
		sender.run(ctx)
		if sent, dropped := testutil.ToFloat64(sender.metrics.sent), testutil.ToFloat64(sender.metrics.dropped); sent != 3 || dropped != 7 {
			t.Errorf("sent %v and dropped %v, want 3 and 7", sent, dropped)
		}
	})
}

func TestRateChangesWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sender, registry := newGenerator(0, 100, roundTrip(func(*http.Request) (*http.Response, error) {
			return answer(http.StatusOK)
		}))
		control := controlHandler(registry, sender.schedule, time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			sender.run(ctx)
			close(ended)
		}()
		for _, step := range []struct {
			rate string
			want float64
		}{{"50", 50}, {"5", 55}, {"0", 55}} {
			recorder := httptest.NewRecorder()
			control.ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodPost, "/rate?value="+step.rate, nil))
			if recorder.Code != http.StatusOK || strings.TrimSpace(recorder.Body.String()) != step.rate {
				t.Errorf("rate %s answers %d %s", step.rate, recorder.Code, recorder.Body)
			}
			wait(t, 990*time.Millisecond)
			if got := testutil.ToFloat64(sender.metrics.succeeded); got != step.want {
				t.Errorf("a second after rate %s %v requests succeeded, want %v", step.rate, got, step.want)
			}
		}
		cancel()
		<-ended
	})
}

// wait lets fake time pass.
func wait(t *testing.T, duration time.Duration) {
	t.Helper()
	timer := time.NewTimer(duration)
	defer timer.Stop()
	<-timer.C
	synctest.Wait()
}

func TestFailuresByReason(t *testing.T) {
	for _, test := range []struct {
		status int
		err    error
		reason string
	}{
		{http.StatusNotFound, nil, reasonClientSide},
		{http.StatusInternalServerError, nil, reasonServerSide},
		{http.StatusFound, nil, reasonOther},
		{0, context.DeadlineExceeded, reasonTimeout},
		{0, fmt.Errorf("refused"), reasonConnection},
	} {
		sender, _ := newGenerator(1, 1, roundTrip(func(*http.Request) (*http.Response, error) {
			if test.err != nil {
				return nil, test.err
			}
			return answer(test.status)
		}))
		sender.client.CheckRedirect = newClient(1).CheckRedirect
		sender.request(t.Context(), time.Now())
		if got := testutil.ToFloat64(sender.metrics.failed.WithLabelValues(test.reason)); got != 1 {
			t.Errorf("status %d, error %v: %v failures for %s, want 1", test.status, test.err, got, test.reason)
		}
	}
	alone, _ := newGenerator(1, 1, nil)
	alone.endpoints.set(nil)
	alone.request(t.Context(), time.Now())
	if got := testutil.ToFloat64(alone.metrics.failed.WithLabelValues(reasonNoEndpoint)); got != 1 {
		t.Errorf("%v failures without an endpoint, want 1", got)
	}
}

func TestControlRefusesBadRates(t *testing.T) {
	requests := newSchedule(start, 10)
	control := controlHandler(prometheus.NewRegistry(), requests, time.Now)
	for _, value := range []string{"", "fast", "-1", "NaN", "Inf", "1e9"} {
		recorder := httptest.NewRecorder()
		control.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/rate?value="+value, nil))
		if recorder.Code != http.StatusBadRequest || !strings.Contains(recorder.Body.String(), "write requests a second") {
			t.Errorf("rate %q answers %d %s", value, recorder.Code, recorder.Body)
		}
	}
	if requests.currentRate() != 10 {
		t.Errorf("the rate is now %v", requests.currentRate())
	}
}

func TestParseOptions(t *testing.T) {
	var output strings.Builder
	read, err := parseOptions([]string{"-rate", "240", "-targets", "a:1,b:2"}, &output)
	if err != nil || read.rate != 240 || len(read.targets) != 2 {
		t.Errorf("reads as %+v, %v", read, err)
	}
	for _, arguments := range []string{
		"", "-service s -targets a:1", "-targets a", "-targets a:1 -rate -1", "-targets a:1 -timeout 0s",
		"-targets a:1 -duration -1s", "-targets a:1 -max-in-flight 0", "-targets a:1 -path work", "-targets a:1 more", "-bogus",
	} {
		if read, err := parseOptions(strings.Fields(arguments), &output); err == nil {
			t.Errorf("%q reads as %+v, want an error", arguments, read)
		}
	}
}
