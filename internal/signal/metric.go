package signal

// Metrics of client_golang's Go and process collectors (1.20 and later).
const (
	// metricGCCPU holds all of the collector's processor time, metricGCIdleCPU the part of it that ran on otherwise idle processors.
	// Both move only when a cycle ends (runtime/metrics, /cpu/classes), so a window must hold several cycles.
	metricGCCPU       = "go_cpu_classes_gc_total_cpu_seconds_total"
	metricGCIdleCPU   = "go_cpu_classes_gc_mark_idle_cpu_seconds_total"
	metricGCAssistCPU = "go_cpu_classes_gc_mark_assist_cpu_seconds_total"
	// metricAllCPU is all processor time that the runtime had by its own clock, metricIdleCPU what it left unused.
	metricAllCPU  = "go_cpu_classes_total_cpu_seconds_total"
	metricIdleCPU = "go_cpu_classes_idle_cpu_seconds_total"
	metricCPU     = "process_cpu_seconds_total"
	// The summary's quantiles span the last 256 cycles rather than the window; of them only the longest is used. Prometheus 3 writes
	// its quantile as 1.0 (https://prometheus.io/docs/prometheus/latest/migration/#le-and-quantile-label-values).
	metricGCSummary = "go_gc_duration_seconds"
	metricGCCycles  = "go_gc_duration_seconds_count"
	metricGCPause   = "go_gc_duration_seconds_sum"

	metricResident       = "process_resident_memory_bytes"
	metricProcessStart   = "process_start_time_seconds"
	metricOpenFiles      = "process_open_fds"
	metricMaxFiles       = "process_max_fds"
	metricLiveHeap       = "go_gc_heap_live_bytes"
	metricScanStack      = "go_gc_scan_stack_bytes"
	metricScanGlobals    = "go_gc_scan_globals_bytes"
	metricMemoryTotal    = "go_memory_classes_total_bytes"
	metricMemoryReleased = "go_memory_classes_heap_released_bytes"
	metricGOGC           = "go_gc_gogc_percent"
	metricMemoryLimit    = "go_gc_gomemlimit_bytes"
	metricGOMAXPROCS     = "go_sched_gomaxprocs_threads"
	metricGoroutines     = "go_goroutines"
	metricRunnable       = "go_sched_goroutines_runnable_goroutines"
	metricLimiter        = "go_gc_limiter_last_enabled_gc_cycle"
	metricGoInfo         = "go_info"

	metricPauses    = "go_sched_pauses_total_gc_seconds"
	metricScheduler = "go_sched_latencies_seconds"
)

// Metrics of OpenTelemetry's runtime instrumentation, as otlptranslator writes them for Prometheus
// (https://opentelemetry.io/docs/specs/semconv/runtime/go-metrics/). It has no live heap, no roots, no limiter, no resident memory.
const (
	otelGOGC       = "go_config_gogc_percent"
	otelLimit      = "go_memory_limit_bytes"
	otelProcessors = "go_processor_limit"
	otelGoroutines = "go_goroutine_count"
	otelGoal       = "go_memory_gc_goal_bytes"
	otelUsed       = "go_memory_used_bytes"
	otelAllocated  = "go_memory_allocated_bytes_total"
	otelCycles     = "go_memory_gc_cycles_total"
	otelCPU        = "go_cpu_time_seconds_total"
	otelPauses     = "go_memory_gc_pause_duration_seconds"
	otelScheduler  = "go_schedule_duration_seconds"

	labelMemoryType = "go_memory_type"
	labelCPUState   = "go_cpu_detailed_state"
)

// Metrics of the kubelet's cAdvisor, about containers.
const (
	metricPeriods    = "container_cpu_cfs_periods_total"
	metricThrottled  = "container_cpu_cfs_throttled_periods_total"
	metricWorkingSet = "container_memory_working_set_bytes"
	metricOOM        = "container_oom_events_total"
)

// scalar is a measurement that is one number of a container: a gauge, or a counter without labels of its own.
type scalar int

const (
	scalarGCCPU scalar = iota
	scalarGCIdleCPU
	scalarAllCPU
	scalarIdleCPU
	scalarGCAssist
	scalarCPU
	scalarCycles
	scalarPause
	scalarLongestPause
	scalarResident
	scalarStart
	scalarOpenFiles
	scalarMaxFiles
	scalarLiveHeap
	scalarScanStack
	scalarScanGlobals
	scalarMemoryTotal
	scalarMemoryReleased
	scalarGOGC
	scalarLimit
	scalarGOMAXPROCS
	scalarGoroutines
	scalarRunnable
	scalarLimiter
	scalarGoal
	scalarNextGC
	scalarHeapAllocated
	scalarHeapObjects
	scalarAllocated
	scalarMemstatsAllocated
	scalarOTelGOGC
	scalarOTelLimit
	scalarOTelProcessors
	scalarOTelGoroutines
	scalarOTelGoal
	scalarOTelUsedStack
	scalarOTelUsedOther
	scalarOTelAllocated
	scalarOTelCycles
	scalarOTelGCPauseCPU
	scalarOTelGCAssist
	scalarOTelGCDedicated
	scalarPeriods
	scalarThrottled
	scalarWorkingSet
	scalarOOM
	scalars // how many there are
)

// scalarMetric says which series a scalar is: by name and, where several series have that name, by a label.
type scalarMetric struct {
	scalar       scalar
	name         string
	label, value string
}

func scalarMetrics() []scalarMetric {
	return []scalarMetric{
		{scalarGCCPU, metricGCCPU, "", ""},
		{scalarGCIdleCPU, metricGCIdleCPU, "", ""},
		{scalarGCAssist, metricGCAssistCPU, "", ""},
		{scalarAllCPU, metricAllCPU, "", ""},
		{scalarIdleCPU, metricIdleCPU, "", ""},
		{scalarCPU, metricCPU, "", ""},
		{scalarCycles, metricGCCycles, "", ""},
		{scalarPause, metricGCPause, "", ""},
		{scalarLongestPause, metricGCSummary, labelQuantile, "1"},
		{scalarLongestPause, metricGCSummary, labelQuantile, "1.0"},
		{scalarResident, metricResident, "", ""},
		{scalarStart, metricProcessStart, "", ""},
		{scalarOpenFiles, metricOpenFiles, "", ""},
		{scalarMaxFiles, metricMaxFiles, "", ""},
		{scalarLiveHeap, metricLiveHeap, "", ""},
		{scalarScanStack, metricScanStack, "", ""},
		{scalarScanGlobals, metricScanGlobals, "", ""},
		{scalarMemoryTotal, metricMemoryTotal, "", ""},
		{scalarMemoryReleased, metricMemoryReleased, "", ""},
		{scalarGOGC, metricGOGC, "", ""},
		{scalarLimit, metricMemoryLimit, "", ""},
		{scalarGOMAXPROCS, metricGOMAXPROCS, "", ""},
		{scalarGoroutines, metricGoroutines, "", ""},
		{scalarRunnable, metricRunnable, "", ""},
		{scalarLimiter, metricLimiter, "", ""},
		{scalarGoal, "go_gc_heap_goal_bytes", "", ""},
		{scalarNextGC, "go_memstats_next_gc_bytes", "", ""},
		{scalarHeapAllocated, "go_memstats_heap_alloc_bytes", "", ""},
		{scalarHeapObjects, "go_memory_classes_heap_objects_bytes", "", ""},
		{scalarAllocated, "go_gc_heap_allocs_bytes_total", "", ""},
		{scalarMemstatsAllocated, "go_memstats_alloc_bytes_total", "", ""},
		{scalarOTelGOGC, otelGOGC, "", ""},
		{scalarOTelLimit, otelLimit, "", ""},
		{scalarOTelProcessors, otelProcessors, "", ""},
		{scalarOTelGoroutines, otelGoroutines, "", ""},
		{scalarOTelGoal, otelGoal, "", ""},
		{scalarOTelUsedStack, otelUsed, labelMemoryType, "stack"},
		{scalarOTelUsedOther, otelUsed, labelMemoryType, "other"},
		{scalarOTelAllocated, otelAllocated, "", ""},
		{scalarOTelCycles, otelCycles, "", ""},
		{scalarOTelGCPauseCPU, otelCPU, labelCPUState, "gc/pause"},
		{scalarOTelGCAssist, otelCPU, labelCPUState, "gc/mark/assist"},
		{scalarOTelGCDedicated, otelCPU, labelCPUState, "gc/mark/dedicated"},
	}
}

func containerMetrics() []scalarMetric {
	return []scalarMetric{
		{scalarPeriods, metricPeriods, "", ""},
		{scalarThrottled, metricThrottled, "", ""},
		{scalarWorkingSet, metricWorkingSet, "", ""},
		{scalarOOM, metricOOM, "", ""},
	}
}

// runtimeHistograms are those of the Go runtime: client_golang's first, OpenTelemetry's second.
func runtimeHistograms() []string {
	return []string{metricPauses, metricScheduler, otelPauses, otelScheduler}
}
