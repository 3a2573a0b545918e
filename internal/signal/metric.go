package signal

// Metrics of client_golang's Go and process collectors (1.20 and later).
const (
	// metricGCCPU holds all of the collector's processor time, metricGCIdleCPU the part of it that ran on otherwise idle processors.
	// Both move only when a cycle ends (runtime/metrics, /cpu/classes), so a window must hold several cycles.
	metricGCCPU     = "go_cpu_classes_gc_total_cpu_seconds_total"
	metricGCIdleCPU = "go_cpu_classes_gc_mark_idle_cpu_seconds_total"
	metricCPU       = "process_cpu_seconds_total"
	// The summary's quantiles span the last 256 cycles rather than the window, so only its count and sum are used.
	metricGCCycles = "go_gc_duration_seconds_count"
	metricGCPause  = "go_gc_duration_seconds_sum"

	metricResident       = "process_resident_memory_bytes"
	metricProcessStart   = "process_start_time_seconds"
	metricLiveHeap       = "go_gc_heap_live_bytes"
	metricScanStack      = "go_gc_scan_stack_bytes"
	metricScanGlobals    = "go_gc_scan_globals_bytes"
	metricMemoryTotal    = "go_memory_classes_total_bytes"
	metricMemoryReleased = "go_memory_classes_heap_released_bytes"
	metricGOGC           = "go_gc_gogc_percent"
	metricMemoryLimit    = "go_gc_gomemlimit_bytes"
	metricGOMAXPROCS     = "go_sched_gomaxprocs_threads"
	metricGoroutines     = "go_goroutines"
)

// gaugeMetrics are the metrics of which the last value counts. The number of cycles since the process started is among them.
func gaugeMetrics() []string {
	return []string{
		metricResident, metricProcessStart, metricLiveHeap, metricScanStack, metricScanGlobals, metricMemoryTotal,
		metricMemoryReleased, metricGOGC, metricMemoryLimit, metricGOMAXPROCS, metricGCCycles,
	}
}
