package signal

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// clientGolang is what a service with client_golang's collectors and its runtime metrics exposes after so many units of work.
func clientGolang(work float64) string {
	line := func(metric string, each float64) string { return fmt.Sprintf("%s %g\n", metric, work*each) }
	return line(metricGCCPU, 3) + line(metricGCIdleCPU, 1) + line(metricGCAssistCPU, 0.5) + line(metricCPU, 20) +
		line(metricGCCycles, 50) + line(metricGCPause, 0.01) + line("go_gc_heap_allocs_bytes_total", 1e9) +
		line(`http_request_duration_seconds_count{code="200",method="get"}`, 900) +
		line(`http_request_duration_seconds_count{code="404",method="get"}`, 80) +
		line(`http_request_duration_seconds_count{code="500",method="get"}`, 15) +
		line(`http_request_duration_seconds_count{code="503",method="post"}`, 5) +
		line(`http_request_duration_seconds_sum{code="200",method="get"}`, 45) +
		line(`http_request_duration_seconds_sum{code="500",method="get"}`, 5) +
		line(`http_request_duration_seconds_bucket{code="200",method="get",le="0.1"}`, 690) +
		line(`http_request_duration_seconds_bucket{code="200",method="get",le="0.25"}`, 890) +
		line(`http_request_duration_seconds_bucket{code="200",method="get",le="+Inf"}`, 900) +
		line(`http_request_duration_seconds_bucket{code="500",method="get",le="0.1"}`, 10) +
		line(`http_request_duration_seconds_bucket{code="500",method="get",le="0.25"}`, 100) +
		line(`http_request_duration_seconds_bucket{code="500",method="get",le="+Inf"}`, 100) +
		line(`go_sched_pauses_total_gc_seconds_bucket{le="0.000917504"}`, 99) +
		line(`go_sched_pauses_total_gc_seconds_bucket{le="+Inf"}`, 100) +
		line(`go_sched_latencies_seconds_bucket{le="0.000917504"}`, 900) +
		line(`go_sched_latencies_seconds_bucket{le="+Inf"}`, 1000) +
		fmt.Sprintf("process_start_time_seconds %d\n", exampleEnd.Unix()-600) + `
			process_resident_memory_bytes 3e8
			process_open_fds 40
			process_max_fds 1024
			go_gc_heap_live_bytes 6.4e7
			go_gc_heap_goal_bytes 1.28e8
			go_memstats_heap_alloc_bytes 9e7
			go_gc_scan_stack_bytes 2e6
			go_gc_scan_globals_bytes 1e6
			go_memory_classes_total_bytes 2.8e8
			go_memory_classes_heap_released_bytes 3e7
			go_gc_gogc_percent 1.8446744073709552e+19
			go_gc_gomemlimit_bytes 9.223372036854776e+18
			go_sched_gomaxprocs_threads 2
			go_goroutines 31
			go_info{version="go1.26.8"} 1
			go_gc_limiter_last_enabled_gc_cycle 0
			go_gc_duration_seconds{quantile="0"} 1e-05
			go_gc_duration_seconds{quantile="1.0"} 0.004`
}

func cadvisor(periods, throttled float64) scrape {
	return scrape{job: "cadvisor", container: "app", text: fmt.Sprintf(`
		container_cpu_cfs_periods_total{id="/kubepods/x",name="y"} %g
		container_cpu_cfs_throttled_periods_total{id="/kubepods/x",name="y"} %g
		container_memory_working_set_bytes{id="/kubepods/x",name="y"} 3.3e8
		container_oom_events_total{id="/kubepods/x",name="y"} 0`, periods, throttled)}
}

func TestAssembleWhole(t *testing.T) {
	runnable := func(n int) string { return fmt.Sprintf("\ngo_sched_goroutines_runnable_goroutines %d", n) }
	got := observe(t, exampleRequest(), map[time.Duration][]scrape{
		60 * time.Second: {{text: clientGolang(1) + runnable(9)}, cadvisor(100, 5)},
		30 * time.Second: {{text: clientGolang(1.5) + runnable(2)}, cadvisor(300, 20)},
		0:                {{text: clientGolang(2) + runnable(4), age: 7500 * time.Millisecond}, cadvisor(600, 30)},
	})
	inf := math.Inf(1)
	want := Window{
		End: exampleEnd, Length: time.Minute, ScrapeInterval: 15 * time.Second, LatencyFound: "http_request_duration_seconds",
		Pods: map[string]Pod{examplePod: {
			Requests: present(1000), FailedRequests: present(20), RequestSeconds: present(50),
			Latency: []Bucket{{0.1, 700}, {0.25, 990}, {inf, 1000}}, LatencyState: Present,
			GCCPUSeconds: present(2), CPUSeconds: present(20), GCCycles: present(50), GCCyclesTotal: present(100),
			GCPauseSeconds: present(0.0002), GCAssistSeconds: present(0.5),
			Pauses: []Bucket{{0.000917504, 99}, {inf, 100}}, PausesState: Present, LongestPauseSeconds: present(0.004),
			SchedulerLatency: []Bucket{{0.000917504, 900}, {inf, 1000}}, SchedulerLatencyState: Present,
			RunnableGoroutines: present(3), AllocatedBytes: present(1e9), LimiterCycle: present(0),
			ThrottledShare: present(0.05), WorkingSetBytes: present(3.3e8), OOMKills: present(0),
			ResidentBytes: present(300e6), LiveHeapBytes: present(64e6), HeapGoalBytes: present(128e6), HeapAllocatedBytes: present(90e6),
			StackAndGlobalBytes: present(3e6), TotalMemoryBytes: present(250e6), GOGCPercent: present(1.8446744073709552e19),
			MemoryLimitBytes: present(9.223372036854776e18), GOMAXPROCS: present(2),
			ProcessStartSeconds: present(float64(exampleEnd.Unix() - 600)), GoVersion: "go1.26.8", Goroutines: present(31),
			OpenFileDescriptors: present(40), MaxFileDescriptors: present(1024),
			SampleAge: 7500 * time.Millisecond, Coverage: 1, Sampled: true,
		}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0), cmpopts.IgnoreFields(Window{}, "Queries")); diff != "" {
		t.Errorf("window (-want +got):\n%s", diff)
	}
}

// TestAssembleOpenTelemetry holds that what OpenTelemetry's runtime instrumentation says is used, and nothing made of what it doesn't.
func TestAssembleOpenTelemetry(t *testing.T) {
	exposition := func(work float64) string {
		return fmt.Sprintf(`
			go_config_gogc_percent{otel_scope_name="runtime"} -1
			go_processor_limit{otel_scope_name="runtime"} 4
			go_goroutine_count{otel_scope_name="runtime"} 12
			go_memory_gc_goal_bytes{otel_scope_name="runtime"} 5e7
			go_memory_used_bytes{go_memory_type="stack"} 1e6
			go_memory_used_bytes{go_memory_type="other"} 8e7
			go_memory_allocated_bytes_total %g
			go_memory_gc_cycles_total %g
			go_gc_duration_seconds{quantile="1"} 0.003
			go_cpu_time_seconds_total{go_cpu_state="gc",go_cpu_detailed_state="gc/pause"} %g
			go_cpu_time_seconds_total{go_cpu_state="gc",go_cpu_detailed_state="gc/mark/assist"} %g
			go_cpu_time_seconds_total{go_cpu_state="gc",go_cpu_detailed_state="gc/mark/dedicated"} %g
			go_cpu_time_seconds_total{go_cpu_state="gc",go_cpu_detailed_state="gc/mark/idle"} %g
			go_cpu_time_seconds_total{go_cpu_state="user",go_cpu_detailed_state="user"} %g
			go_memory_gc_pause_duration_seconds_bucket{le="0.001"} %g
			go_memory_gc_pause_duration_seconds_bucket{le="+Inf"} %g
			go_schedule_duration_seconds_bucket{le="0.001"} %g
			go_schedule_duration_seconds_bucket{le="+Inf"} %g`,
			1e6*work, 10*work, 1*work, 2*work, 4*work, 8*work, 100*work, 9*work, 10*work, 99*work, 100*work)
	}
	got := between(t, exampleRequest(), exposition(1), exposition(3))
	inf := math.Inf(1)
	want := Pod{
		GCCPUSeconds: present(14), GCAssistSeconds: present(4), GCCycles: present(20), GCCyclesTotal: present(30),
		AllocatedBytes: present(2e6), LongestPauseSeconds: present(0.003), Pauses: []Bucket{{0.001, 18}, {inf, 20}}, PausesState: Present,
		SchedulerLatency: []Bucket{{0.001, 198}, {inf, 200}}, SchedulerLatencyState: Present,
		HeapGoalBytes: present(5e7), TotalMemoryBytes: present(81e6), GOGCPercent: present(1.8446744073709552e19),
		MemoryLimitBytes: present(math.MaxInt64), GOMAXPROCS: present(4), Goroutines: present(12), Coverage: 1, Sampled: true,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
}

func TestAssembleLeavesOut(t *testing.T) {
	text := clientGolang(1)
	window := observe(t, exampleRequest(), map[time.Duration][]scrape{0: {
		{pod: "payment-1", text: text}, {pod: "checkout-7d9c-", text: text}, {pod: examplePod, container: "sidecar", text: text},
	}, time.Minute: nil})
	if len(window.Pods) != 0 {
		t.Errorf("pods %v, want none", window.Pods)
	}
}

func TestPause(t *testing.T) {
	old := started(time.Hour)
	for name, tc := range map[string]struct {
		earlier, later string
		want           Value
	}{
		"mean":        {metricGCCycles + " 6\n" + metricGCPause + " 1", metricGCCycles + " 10\n" + metricGCPause + " 3", present(0.5)},
		"no cycle":    {metricGCCycles + " 6\n" + metricGCPause + " 1", metricGCCycles + " 6\n" + metricGCPause + " 1", Value{}},
		"no count":    {metricGCPause + " 1", metricGCPause + " 2", Value{}},
		"cycles NaN":  {metricGCCycles + " 6\n" + metricGCPause + " 1", metricGCCycles + " NaN\n" + metricGCPause + " 3", Value{State: NotFinite}},
		"only cycles": {metricGCCycles + " 6", metricGCCycles + " 10", Value{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := between(t, exampleRequest(), tc.earlier+old, tc.later+old).GCPauseSeconds
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("mean pause (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimiter(t *testing.T) {
	text := func(limiter, cycles float64, start time.Duration) string {
		return fmt.Sprintf("%s %g\n%s %g%s", metricLimiter, limiter, metricGCCycles, cycles, started(start))
	}
	for name, tc := range map[string]struct {
		earlier, later string
		want           bool
	}{
		"never":               {text(0, 10, time.Hour), text(0, 20, time.Hour), false},
		"before the window":   {text(7, 10, time.Hour), text(7, 20, time.Hour), false},
		"in the window":       {text(0, 10, time.Hour), text(15, 20, time.Hour), true},
		"again in the window": {text(7, 10, time.Hour), text(15, 20, time.Hour), true},
		"seen late":           {text(7, 10, time.Hour), text(9, 20, time.Hour), false},
		"of a new process":    {text(99, 100, time.Hour), text(3, 5, 10*time.Second), true},
		"new, never":          {text(99, 100, time.Hour), text(0, 5, 10*time.Second), false},
		"not seen then":       {"", text(15, 20, time.Hour), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := between(t, exampleRequest(), tc.earlier, tc.later).LimiterEnabled; got != tc.want {
				t.Errorf("limiter was on: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestContainer(t *testing.T) {
	app := scrape{text: clientGolang(1)}
	for name, tc := range map[string]struct {
		earlier, later []scrape
		want           Value
	}{
		"throttled":           {[]scrape{app, cadvisor(100, 10)}, []scrape{app, cadvisor(200, 60)}, present(0.5)},
		"free":                {[]scrape{app, cadvisor(100, 10)}, []scrape{app, cadvisor(200, 10)}, present(0)},
		"no limit":            {[]scrape{app}, []scrape{app}, Value{}},
		"not run":             {[]scrape{app, cadvisor(100, 10)}, []scrape{app, cadvisor(100, 10)}, Value{}},
		"cAdvisor comes late": {[]scrape{app}, []scrape{app, cadvisor(200, 60)}, Value{}},
		"two containers of a name": {[]scrape{app, cadvisor(100, 10)}, []scrape{app, cadvisor(200, 60), cadvisor(2, 1)},
			Value{State: Ambiguous}},
	} {
		t.Run(name, func(t *testing.T) {
			window := observe(t, exampleRequest(), map[time.Duration][]scrape{time.Minute: tc.earlier, 0: tc.later})
			if diff := cmp.Diff(tc.want, window.Pods[examplePod].ThrottledShare); diff != "" {
				t.Errorf("throttled share (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFreshness(t *testing.T) {
	type freshness struct {
		Sampled  bool
		Age      time.Duration
		Coverage float64
	}
	aged := func(age time.Duration) []scrape { return []scrape{{text: "go_goroutines 1", age: age}} }
	for name, tc := range map[string]struct {
		middle, last []scrape
		want         freshness
	}{
		"whole":             {aged(time.Second), aged(time.Second), freshness{true, time.Second, 1}},
		"just fresh":        {aged(27500 * time.Millisecond), aged(0), freshness{true, 0, 1}},
		"half":              {aged(28 * time.Second), aged(0), freshness{true, 0, 0.5}},
		"missing once":      {nil, aged(0), freshness{true, 0, 0.5}},
		"old":               {aged(0), aged(time.Minute), freshness{true, time.Minute, 0.5}},
		"older than window": {aged(0), aged(61 * time.Second), freshness{}},
		"of the future":     {aged(0), aged(-2 * time.Second), freshness{}},
		"ended":             {aged(0), nil, freshness{}},
	} {
		t.Run(name, func(t *testing.T) {
			window := observe(t, exampleRequest(), map[time.Duration][]scrape{time.Minute: nil, 30 * time.Second: tc.middle, 0: tc.last})
			pod := window.Pods[examplePod]
			if diff := cmp.Diff(tc.want, freshness{pod.Sampled, pod.SampleAge, pod.Coverage}); diff != "" {
				t.Errorf("freshness (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLevels(t *testing.T) {
	at := func(n int) []scrape {
		return []scrape{{text: fmt.Sprintf("http_request_duration_seconds_count{code=\"200\"} %d\ngo_goroutines %d\nprocess_open_fds %d\n"+
			"go_gc_heap_live_bytes %d%s", n*n*10, n, 2*n, 3*n, started(time.Hour))}}
	}
	texts := map[time.Duration][]scrape{}
	for n := range 7 {
		texts[time.Duration(60-10*n)*time.Second] = at(n)
	}
	got := observe(t, exampleRequest(), texts).Pods[examplePod].Levels
	want := []Level{
		{present(2), present(1.5), present(3), present(4.5)},
		{present(6), present(3.5), present(7), present(10.5)},
		{present(10), present(5.5), present(11), present(16.5)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
	for name, change := range map[string]func(map[time.Duration][]scrape){
		"too few": func(texts map[time.Duration][]scrape) {
			for _, before := range []time.Duration{10, 20, 40, 50} {
				delete(texts, before*time.Second)
			}
		},
		"not there at first": func(texts map[time.Duration][]scrape) { texts[60*time.Second] = nil },
		"restarted": func(texts map[time.Duration][]scrape) {
			texts[0] = []scrape{{text: "go_goroutines 1" + started(time.Second)}}
		},
		"all at one end": func(texts map[time.Duration][]scrape) {
			for _, before := range []time.Duration{20, 30, 40, 50} {
				delete(texts, before*time.Second)
			}
			texts[5*time.Second], texts[2*time.Second] = at(6), at(6)
		},
	} {
		t.Run(name, func(t *testing.T) {
			texts := map[time.Duration][]scrape{}
			for n := range 7 {
				texts[time.Duration(60-10*n)*time.Second] = at(n)
			}
			change(texts)
			if got := observe(t, exampleRequest(), texts).Pods[examplePod].Levels; got != nil {
				t.Errorf("levels %v, want none", got)
			}
		})
	}
}

func TestKeep(t *testing.T) {
	whole := moment(t, exampleRequest(), exampleEnd, scrape{text: "go_goroutines 1"}, scrape{pod: "payment-1", text: "go_goroutines 1"},
		scrape{pod: "cart-1", text: "go_goroutines 1"}).Part
	kept := whole.Keep([]string{"checkout-", "cart-"})
	if len(kept.pods) != 2 || len(whole.pods) != 3 {
		t.Errorf("kept %d of %d pods, want 2 of 3", len(kept.pods), len(whole.pods))
	}
}

func TestCustom(t *testing.T) {
	request := exampleRequest()
	request.Queries = []CustomQuery{{Name: "depth", PromQL: "queue"}, {Name: "lag", PromQL: "lag"}}
	moments := []Moment{
		moment(t, request, exampleEnd.Add(-time.Minute)), moment(t, request, exampleEnd, scrape{text: "go_goroutines 1"}),
	}
	window := Assemble(request, 15*time.Second, moments, map[string]Answer{"depth": {examplePod: present(-3), "checkout-7d9c-x": present(1)}})
	want := map[string]map[string]Value{examplePod: {"depth": present(-3), "lag": {}}}
	got := map[string]map[string]Value{}
	for name, pod := range window.Pods {
		got[name] = pod.Custom
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestEmptyWindow(t *testing.T) {
	window := observe(t, exampleRequest(), map[time.Duration][]scrape{time.Minute: nil, 0: nil})
	if len(window.Pods) != 0 || window.LatencyFound != "" {
		t.Errorf("window %+v out of nothing", window)
	}
	if _, ok := window.Queries[v1alpha1.SignalErrors]; ok {
		t.Error("a query for errors where no request is counted")
	}
}

func TestSlot(t *testing.T) {
	for interval, want := range map[time.Duration]time.Duration{
		500 * time.Millisecond: time.Second, time.Second: time.Second, 2500 * time.Millisecond: 2 * time.Second, 5 * time.Second: 5 * time.Second,
		time.Minute: 5 * time.Second,
	} {
		if got := Slot(interval); got != want {
			t.Errorf("scraped every %s: slots of %s, want %s", interval, got, want)
		}
	}
}
