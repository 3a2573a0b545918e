package signal

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// TestRuntimeClock: on a busy node the runtime's clock runs ahead of the process' CPU time; its shares are right all the same.
func TestRuntimeClock(t *testing.T) {
	classes := func(work, total, idle float64) string {
		return fmt.Sprintf("\n%s %g\n%s %g", metricAllCPU, work*total, metricIdleCPU, work*idle)
	}
	for name, test := range map[string]struct {
		total, idle, gc, assist float64
	}{
		// In each unit of work the process has 20 s of CPU time; the runtime says 3 s of collector, 1 s of them idle, and 0.5 s of assists.
		"its own time":        {40, 20, 2, 0.5},
		"three times as much": {80, 20, 20. / 30, 0.5 / 3},
		"half of it":          {20, 10, 4, 1},
		"more than all":       {21, 20, 20, 10},
		"nothing":             {20, 20, 2, 0.5},
	} {
		pod := observe(t, exampleRequest(), map[time.Duration][]scrape{
			60 * time.Second: {{text: clientGolang(1) + classes(1, test.total, test.idle)}},
			0:                {{text: clientGolang(2) + classes(2, test.total, test.idle)}},
		}).Pods[examplePod]
		if math.Abs(pod.GCCPUSeconds.Number-test.gc) > 1e-9 || math.Abs(pod.GCAssistSeconds.Number-test.assist) > 1e-9 || pod.CPUSeconds.Number != 20 {
			t.Errorf("%s: collector %+v, assists %+v of %+v, want %g and %g", name, pod.GCCPUSeconds, pod.GCAssistSeconds, pod.CPUSeconds, test.gc, test.assist)
		}
	}
}
