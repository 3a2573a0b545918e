package signal

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// start is a process' start, so long before the example's end.
func started(before time.Duration) string {
	return fmt.Sprintf("\nprocess_start_time_seconds %d\n", exampleEnd.Add(-before).Unix())
}

// TestIncrease holds the rules by which two raw counts become an increase.
func TestIncrease(t *testing.T) {
	old := started(time.Hour)
	ambiguous, absent := Value{State: Ambiguous}, Value{}
	for name, tc := range map[string]struct {
		earlier, later string
		want           Value
	}{
		"grows":                         {metricCPU + " 5" + old, metricCPU + " 7.5" + old, present(2.5)},
		"rests":                         {metricCPU + " 5" + old, metricCPU + " 5" + old, present(0)},
		"rounded":                       {metricCPU + " 5" + old, metricCPU + " 4.9999999999" + old, present(0)},
		"ended":                         {metricCPU + " 5" + old, old, absent},
		"late":                          {old, metricCPU + " 3" + old, present(3)},
		"restarted and fell":            {metricCPU + " 5" + old, metricCPU + " 2" + started(20*time.Second), present(2)},
		"restarted and is higher":       {metricCPU + " 5" + old, metricCPU + " 9" + started(20*time.Second), present(9)},
		"a clock ahead of Prometheus'":  {metricCPU + " 5" + started(-10*time.Second), metricCPU + " 9" + started(-10*time.Second), present(4)},
		"was not there yet":             {"", metricCPU + " 2" + started(20*time.Second), present(2)},
		"restarted before, seen late":   {metricCPU + " 5" + started(2*time.Hour), metricCPU + " 9" + started(61*time.Second), present(9)},
		"not scraped, though there":     {"", metricCPU + " 9" + old, absent},
		"fell without a restart":        {metricCPU + " 5" + old, metricCPU + " 2" + old, ambiguous},
		"fell, start unknown":           {metricCPU + " 5\ngo_goroutines 1", metricCPU + " 2\ngo_goroutines 1", ambiguous},
		"grows, start unknown":          {metricCPU + " 5\ngo_goroutines 1", metricCPU + " 6\ngo_goroutines 1", present(1)},
		"late, start unknown":           {"go_goroutines 1", metricCPU + " 6\ngo_goroutines 1", present(6)},
		"start wobbles":                 {metricCPU + " 5" + old, metricCPU + " 7" + started(time.Hour-time.Second), present(2)},
		"an older process":              {metricCPU + " 5" + old, metricCPU + " 7" + started(2*time.Hour), ambiguous},
		"NaN then":                      {metricCPU + " NaN" + old, metricCPU + " 7" + old, Value{State: NotFinite}},
		"NaN now":                       {metricCPU + " 5" + old, metricCPU + " NaN" + old, Value{State: NotFinite}},
		"NaN then, restarted":           {metricCPU + " NaN" + old, metricCPU + " 7" + started(20*time.Second), present(7)},
		"infinite":                      {metricCPU + " 5" + old, metricCPU + " +Inf" + old, Value{State: NotFinite}},
		"negative":                      {metricCPU + " -5" + old, metricCPU + " 5" + old, Value{State: NotFinite}},
		"nobody vouches for the sample": {metricCPU + " 5", metricCPU + " 7", absent},
	} {
		t.Run(name, func(t *testing.T) {
			got := between(t, exampleRequest(), tc.earlier, tc.later).CPUSeconds
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("processor time (-want +got):\n%s", diff)
			}
		})
	}
}

// TestIncreaseFromNextSight holds that a pod which was not scraped when the window started is measured from when it was.
func TestIncreaseFromNextSight(t *testing.T) {
	text := func(n float64) []scrape {
		return []scrape{{text: fmt.Sprintf("%s %g%s", metricCPU, n, started(time.Hour))}}
	}
	twice := func(n float64) []scrape { return append(text(n), scrape{job: "other", text: text(n)[0].text}) }
	for name, tc := range map[string]struct {
		first []scrape
		last  []scrape
		want  Value
	}{
		"not scraped":                {nil, text(9), present(2)},
		"by two at first":            {twice(5), text(9), present(2)},
		"by two at last":             {text(5), twice(9), Value{State: Ambiguous}},
		"of another container":       {[]scrape{{container: "sidecar", text: text(1)[0].text}}, text(9), present(2)},
		"beside another container":   {append(text(5), scrape{container: "sidecar", text: text(1)[0].text}), text(9), present(4)},
		"scraped throughout":         {text(5), text(9), present(4)},
		"not scraped when it ended":  {text(5), nil, Value{}},
		"with its container's label": {[]scrape{{container: "app", text: text(5)[0].text}}, []scrape{{container: "app", text: text(9)[0].text}}, present(4)},
	} {
		t.Run(name, func(t *testing.T) {
			got := observe(t, exampleRequest(), map[time.Duration][]scrape{60 * time.Second: tc.first, 30 * time.Second: text(7), 0: tc.last})
			if diff := cmp.Diff(tc.want, got.Pods[examplePod].CPUSeconds); diff != "" {
				t.Errorf("processor time (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDoubt holds that no increase of a pod that two scrape is used, nor a gauge.
func TestDoubt(t *testing.T) {
	text := func(work float64) []scrape {
		return []scrape{{text: clientGolang(work)}, {job: "again", text: clientGolang(work)}}
	}
	pod := observe(t, exampleRequest(), map[time.Duration][]scrape{time.Minute: text(1), 0: text(2)}).Pods[examplePod]
	for name, got := range map[string]Value{
		"requests": pod.Requests, "failures": pod.FailedRequests, "seconds": pod.RequestSeconds, "GC CPU": pod.GCCPUSeconds,
		"CPU": pod.CPUSeconds, "cycles": pod.GCCycles, "mean pause": pod.GCPauseSeconds, "GOGC": pod.GOGCPercent,
		"latency": {State: pod.LatencyState}, "pauses": {State: pod.PausesState}, "waits": {State: pod.SchedulerLatencyState},
	} {
		if diff := cmp.Diff(Value{State: Ambiguous}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
