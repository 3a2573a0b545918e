package prometheus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	instrument "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/config"

	"github.com/gopacer/gopacer/internal/signal"
)

// TestObserveErrors goes through everything that an answer can be instead of an answer.
func TestObserveErrors(t *testing.T) {
	unavailable := func(err error) bool { target := new(UnavailableError); return errors.As(err, &target) }
	rejected := func(err error) bool { target := new(RejectedError); return errors.As(err, &target) }
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		is      func(error) bool
		outcome result
	}{
		"bad query":         {respond(400, `{"status":"error","errorType":"bad_data","error":"parse error"}`), rejected, resultRejected},
		"not executable":    {respond(422, `{"status":"error","errorType":"execution","error":"too many samples"}`), rejected, resultRejected},
		"refused with 200":  {respond(200, `{"status":"error","errorType":"bad_data","error":"no"}`), rejected, resultRejected},
		"no credentials":    {respond(401, "unauthorized"), rejected, resultRejected},
		"forbidden":         {respond(403, "forbidden"), rejected, resultRejected},
		"not found":         {respond(404, "<html>not found</html>"), rejected, resultRejected},
		"too many requests": {respond(429, "slow down"), unavailable, resultUnavailable},
		"server error":      {respond(500, "oops"), unavailable, resultUnavailable},
		"bad gateway":       {respond(502, "<html>"+strings.Repeat("bad gateway ", 1000)), unavailable, resultUnavailable},
		"query timed out":   {respond(503, `{"status":"error","errorType":"timeout","error":"query timed out"}`), unavailable, resultUnavailable},
		"timeout with 200":  {respond(200, `{"status":"error","errorType":"timeout","error":"query timed out"}`), unavailable, resultTimeout},
		"no body":           {respond(200, ""), unavailable, resultMalformed},
		"no JSON":           {respond(200, "{"), unavailable, resultMalformed},
		"HTML":              {respond(200, "<!DOCTYPE html><title>Sign in</title>"), unavailable, resultMalformed},
		"empty object":      {respond(200, "{}"), unavailable, resultMalformed},
		"null":              {respond(200, "null"), unavailable, resultMalformed},
		"no data":           {respond(200, `{"status":"success"}`), unavailable, resultMalformed},
		"unknown type":      {respond(200, answer(`{"resultType":"tensor","result":[]}`)), unavailable, resultMalformed},
		"scalar":            {respond(200, answer(`{"resultType":"scalar","result":[1790000000,"1"]}`)), unavailable, resultMalformed},
		"string":            {respond(200, answer(`{"resultType":"string","result":[1790000000,"x"]}`)), unavailable, resultMalformed},
		"matrix":            {respond(200, answer(`{"resultType":"matrix","result":[]}`)), unavailable, resultMalformed},
		"value no number":   {respond(200, vector(sample("checkout-a", "many"))), unavailable, resultMalformed},
		"null sample":       {respond(200, vector("null")), unavailable, resultMalformed},
		"no value":          {respond(200, vector(`{"metric":{"pod":"checkout-a"}}`)), unavailable, resultMalformed},
		"of yesterday":      {respond(200, vector(`{"metric":{"pod":"checkout-a"},"value":[1789913600,"1"]}`)), unavailable, resultMalformed},
		"partial": {respond(200, `{"status":"success","warnings":["store down"],"data":{"resultType":"vector","result":[]}}`),
			unavailable, resultPartial},
		"cut off":         {cutOff, unavailable, resultUnavailable},
		"connection ends": {hangUp, unavailable, resultUnavailable},
		"gigantic":        {gigantic, unavailable, resultUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			source := newTestSource(t, tc.handler, 10*time.Second)
			window, err := source.Observe(t.Context(), exampleRequest())
			if !tc.is(err) {
				t.Errorf("error %v (%T) is of another kind", err, err)
			}
			if diff := cmp.Diff(signal.Window{}, window); diff != "" {
				t.Errorf("a window beside an error (-want +got):\n%s", diff)
			}
			if len(fmt.Sprint(err)) > 800 {
				t.Errorf("error of %d characters", len(err.Error()))
			}
			if source.counted(tc.outcome) == 0 {
				t.Errorf("not counted as %s", tc.outcome)
			}
		})
	}
}

func TestObserveTooLarge(t *testing.T) {
	asked := askedPerQuery{first: gigantic, times: make(map[string]int)}
	source := newTestSource(t, &asked, 10*time.Second)
	if _, err := source.Observe(t.Context(), exampleRequest()); !errors.Is(err, ErrAnswerTooLarge) {
		t.Errorf("error %v, want %v", err, ErrAnswerTooLarge)
	}
	for query, times := range asked.times {
		if times > 1 {
			t.Errorf("asked %d times, though the answer was too large: %s", times, query)
		}
	}
	if len(asked.times) > 40 {
		t.Errorf("asked %d queries before giving up", len(asked.times))
	}
}

func TestObserveStates(t *testing.T) {
	for name, tc := range map[string]struct {
		body string
		want map[string]signal.State
	}{
		"empty":           {vector(), map[string]signal.State{}},
		"null for a list": {answer(`{"resultType":"vector","result":null}`), map[string]signal.State{}},
		"present":         {vector(sample("checkout-a", "1")), map[string]signal.State{"checkout-a": signal.Present}},
		"NaN":             {vector(sample("checkout-a", "NaN")), map[string]signal.State{"checkout-a": signal.NotFinite}},
		"infinite":        {vector(sample("checkout-a", "+Inf")), map[string]signal.State{"checkout-a": signal.NotFinite}},
		"several series": {vector(sample("checkout-a", "1"), sample("checkout-a", "2"), sample("checkout-b", "1")),
			map[string]signal.State{"checkout-a": signal.Ambiguous, "checkout-b": signal.Present}},
		"another's pods": {vector(sample("payment-a", "1"), `{"metric":{"namespace":"shop"},"value":[1790000000,"1"]}`), map[string]signal.State{}},
	} {
		t.Run(name, func(t *testing.T) {
			source := newTestSource(t, respond(200, tc.body), 10*time.Second)
			window, err := source.Observe(t.Context(), exampleRequest())
			if err != nil {
				t.Fatal(err)
			}
			got := make(map[string]signal.State)
			for name, pod := range window.Pods {
				got[name] = pod.ResidentBytes.State
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("states of the resident memory (-want +got):\n%s", diff)
			}
			if success := source.counted(resultSuccess); success != 5*queriesPerSnapshot {
				t.Errorf("%g queries counted as success, want those for both ends and three times between", success)
			}
		})
	}
}

func TestObserveUnknownProvider(t *testing.T) {
	source := newTestSource(t, respond(200, vector()), time.Second)
	request := exampleRequest()
	request.Provider = "other"
	if _, err := source.Observe(t.Context(), request); !errors.Is(err, ErrUnknownProvider) {
		t.Errorf("error %v, want %v", err, ErrUnknownProvider)
	}
	if _, err := source.ScrapeInterval("other"); !errors.Is(err, ErrUnknownProvider) {
		t.Errorf("error %v, want %v", err, ErrUnknownProvider)
	}
	if interval, err := source.ScrapeInterval("default"); interval != 15*time.Second || err != nil {
		t.Errorf("scrape interval %s, %v", interval, err)
	}
}

func TestObserveInvalidRequest(t *testing.T) {
	var asked atomic.Int32
	source := newTestSource(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }), time.Second)
	request := exampleRequest()
	request.Namespace = ""
	if _, err := source.Observe(t.Context(), request); err == nil || asked.Load() > 0 {
		t.Errorf("error %v, asked %d times: want an error before any query", err, asked.Load())
	}
}

func TestObserveTimeout(t *testing.T) {
	source := newTestSource(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}), 50*time.Millisecond)
	_, err := source.Observe(t.Context(), exampleRequest())
	if target := new(UnavailableError); !errors.As(err, &target) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want unavailable for want of time", err)
	}
	if source.counted(resultTimeout) == 0 {
		t.Error("no query counted as timed out")
	}
}

func TestObserveCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	source := newTestSource(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}), 10*time.Second)
	_, err := source.Observe(ctx, exampleRequest())
	if target := new(UnavailableError); !errors.Is(err, context.Canceled) || errors.As(err, &target) {
		t.Errorf("error %v, want one that does not blame Prometheus", err)
	}
	source.Close()
	if source.counted(resultCanceled) == 0 {
		t.Error("no query counted as canceled")
	}
}

// TestObserveRetry holds that a connection that broke is tried once more, and a server that answered is not.
func TestObserveRetry(t *testing.T) {
	for name, tc := range map[string]struct {
		first http.HandlerFunc
		asked int
	}{
		"connection ends": {hangUp, 2},
		"cut off":         {cutOff, 2},
		"server error":    {respond(500, "oops"), 1},
		"refused":         {respond(400, "no"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			asked := askedPerQuery{first: tc.first, times: make(map[string]int)}
			source := newTestSource(t, &asked, 10*time.Second)
			window, err := source.Observe(t.Context(), exampleRequest())
			if ok := tc.asked == 2; ok != (err == nil) || ok != (len(window.Pods) == 1) {
				t.Errorf("window %v, error %v", window, err)
			}
			for query, times := range asked.times {
				if times > tc.asked {
					t.Errorf("asked %d times, want %d at most: %s", times, tc.asked, query)
				}
			}
		})
	}
}

// TestObserveAsks shows what reaches Prometheus.
func TestObserveAsks(t *testing.T) {
	var running, most atomic.Int32
	source := newTestSource(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := running.Add(1)
		defer running.Add(-1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		for key, want := range map[string]string{"partial_response": "false", "deny_partial_response": "1"} {
			if got := r.FormValue(key); got != want {
				t.Errorf("%s=%q, want %q", key, got, want)
			}
		}
		if r.Method != http.MethodPost || r.URL.Path != "/api/v1/query" || !strings.Contains(r.FormValue("query"), `namespace=~"shop"`) {
			t.Errorf("%s %s with query %q", r.Method, r.URL.Path, r.FormValue("query"))
		}
		_, _ = io.WriteString(w, vector(sample("checkout-a", "1")))
	}), 10*time.Second)
	if _, err := source.Observe(t.Context(), exampleRequest()); err != nil {
		t.Fatal(err)
	}
	if most := most.Load(); most > concurrency {
		t.Errorf("%d queries at once, want %d at most", most, concurrency)
	}
}

func TestNewSourceRefuses(t *testing.T) {
	valid := Provider{Name: "default", Address: "http://prometheus:9090", HTTPConfig: config.DefaultHTTPClientConfig}
	missing := valid
	missing.HTTPConfig.TLSConfig = config.TLSConfig{CAFile: "/does/not/exist.pem"}
	if _, err := NewSource([]Provider{missing}, instrument.NewRegistry(), time.Now); err == nil {
		t.Error("a missing CA file was accepted")
	}
	registry := instrument.NewRegistry()
	if _, err := NewSource([]Provider{valid}, registry, time.Now); err != nil {
		t.Fatal(err)
	}
	if _, err := NewSource([]Provider{valid}, registry, time.Now); err == nil {
		t.Error("metrics were registered twice")
	}
}
