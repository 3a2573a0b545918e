package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
)

// newService returns a service with a small heap, built with these variables.
func newService(t *testing.T, environment map[string]string) *service {
	t.Helper()
	read, err := readSettings(lookupIn(environment))
	if err != nil {
		t.Fatal(err)
	}
	read.liveHeapBytes = 1000 * productBytes
	made := &service{settings: read}
	made.build()
	return made
}

func get(t *testing.T, handler http.Handler, path string) (int, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	handler.ServeHTTP(recorder, request)
	return recorder.Code, recorder.Body.String()
}

func TestNotReadyUntilTheHeapIsBuilt(t *testing.T) {
	unbuilt := &service{settings: settings{slow: new(share), failing: new(share), liveHeapBytes: 1 << 20}}
	handler := unbuilt.handler()
	for _, path := range []string{"/healthz", "/work"} {
		if code, _ := get(t, handler, path); code != http.StatusServiceUnavailable {
			t.Errorf("before the heap is built %s answers %d", path, code)
		}
	}
	unbuilt.build()
	if code, _ := get(t, handler, "/healthz"); code != http.StatusOK {
		t.Errorf("after it /healthz answers %d", code)
	}
}

func TestWorkIsMeasuredByCode(t *testing.T) {
	handler := newService(t, map[string]string{"ERROR_SHARE": "0.25"}).handler()
	for range 8 {
		get(t, handler, "/work")
	}
	get(t, handler, "/healthz")
	_, exposed := get(t, handler, "/metrics")
	for _, line := range []string{
		`http_request_duration_seconds_count{code="200",method="get"} 6`,
		`http_request_duration_seconds_count{code="500",method="get"} 2`,
		`http_request_duration_seconds_bucket{code="200",method="get",le="0.0025"}`,
		`go_gc_gogc_percent `,
		`go_cpu_classes_gc_total_cpu_seconds_total `,
		`go_gc_heap_live_bytes `,
		`process_start_time_seconds `,
	} {
		if !strings.Contains(exposed, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

func TestMetricsLevels(t *testing.T) {
	const gauge, class = "go_gc_gogc_percent ", "go_cpu_classes_gc_total_cpu_seconds_total "
	for _, test := range []struct {
		variable           string
		hasGauge, hasClass bool
	}{
		{"", true, true}, {"NO_RUNTIME_METRICS", true, false}, {"NO_GO_METRICS", false, false},
	} {
		_, exposed := get(t, newService(t, map[string]string{test.variable: "1"}).handler(), "/metrics")
		if got := strings.Contains(exposed, gauge); got != test.hasGauge {
			t.Errorf("with %s the gauge of GOGC is there: %v, want %v", test.variable, got, test.hasGauge)
		}
		if got := strings.Contains(exposed, class); got != test.hasClass {
			t.Errorf("with %s the CPU classes are there: %v, want %v", test.variable, got, test.hasClass)
		}
		if !strings.Contains(exposed, "process_start_time_seconds ") {
			t.Errorf("with %s the process metrics are gone", test.variable)
		}
	}
}

func TestSlowRequestsTakeTheirTime(t *testing.T) {
	const delay = 30 * time.Millisecond
	handler := newService(t, map[string]string{"SLOW_SHARE": "1", "SLOW_BY": delay.String()}).handler()
	start := time.Now()
	if code, _ := get(t, handler, "/work"); code != http.StatusOK {
		t.Errorf("a slow request answers %d", code)
	}
	if took := time.Since(start); took < delay {
		t.Errorf("it took %v, want at least %v", took, delay)
	}
}

func TestCrash(t *testing.T) {
	read, err := readSettings(lookupIn(map[string]string{
		"LISTEN": "127.0.0.1:0", "GOGC": "200", "CRASH_WHEN": "GOGC>100", "LIVE_HEAP_MB": "1",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), read); err == nil || !strings.Contains(err.Error(), "CRASH_WHEN=GOGC>100") {
		t.Errorf("run returns %v, want the crash", err)
	}
}

// TestDrainOrder holds a slow request open over the start of a drain.
func TestDrainOrder(t *testing.T) {
	drained := newService(t, map[string]string{"DRAIN": "300ms", "SLOW_SHARE": "1", "SLOW_BY": "600ms"})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: drained.handler(), ReadHeaderTimeout: headerTimeout}
	go func() { _ = server.Serve(listener) }()
	address := "http://" + listener.Addr().String()

	ended := make(chan error, 1)
	go func() { ended <- drained.drain(t.Context(), server) }()
	for !drained.draining.Load() {
		runtime.Gosched()
	}
	if code, err := fetch(t.Context(), address+"/healthz"); err != nil || code != http.StatusServiceUnavailable {
		t.Errorf("readiness answers %d, %v, want it to fail first", code, err)
	}
	if code, err := fetch(t.Context(), address+"/work"); err != nil || code != http.StatusOK {
		t.Errorf("a request in the drain that outlasts it gets %d, %v, want an answer", code, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the drain ends with %v", err)
	}
	if code, err := fetch(t.Context(), address+"/healthz"); err == nil {
		t.Errorf("after the drain the server answers %d", code)
	}
}

func fetch(ctx context.Context, address string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, fmt.Errorf("make a request: %w", err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("send a request: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}
