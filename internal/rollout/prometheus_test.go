package rollout

import (
	"math"
	"slices"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
)

// dataConditions say what Prometheus shows.
type dataConditions struct {
	// gain is the share of GC CPU time that the candidate saves.
	gain float64
	// luck is the share that pods with a slot save, whatever they run.
	luck float64
	// limited says that processes with the candidate limit their collector.
	limited bool
	// queue is what the policy's own query says of every pod.
	queue float64
	// slow is the share of slow requests with the candidate, slowAll with any settings.
	slow, slowAll float64
	// fault is one of dataFaults.
	fault string
	// overridden says that processes run another GOGC than their environment has.
	overridden bool
	// cyclesPerSecond is 0 for a service that hardly collects.
	fewCycles bool
}

// dataFaults are the ways in which there may be no usable data.
var dataFaults = []string{"no answer", "nothing", "NaN", "partial", "stale", "one pod missing", "absent"}

const (
	usualSlow        = 0.001
	requestsInSecond = 50.0
)

func present(number float64) signal.Value { return signal.Value{Number: number, State: signal.Present} }

// window is what the official client would have put together at this moment.
func (w *world) window(length time.Duration, candidate settings.Settings) *signal.Window {
	if w.data.fault == "no answer" {
		return nil
	}
	window := &signal.Window{End: w.now, Length: length, ScrapeInterval: 5 * time.Second, Pods: map[string]signal.Pod{}}
	for i, pod := range w.pods {
		running := w.now.Sub(pod.CreatedAt)
		if running < 5*time.Second || w.data.fault == "nothing" {
			if w.stable && pod.CreatedAt.After(epoch) {
				window.Pods[pod.Name] = w.predecessor(pod)
			}
			continue // not scraped yet
		}
		window.Pods[pod.Name] = w.spoil(i, w.sample(pod, min(running, length), length, candidate))
	}
	return window
}

func (w *world) sample(pod *worldPod, covered, length time.Duration, candidate settings.Settings) signal.Pod {
	requests := requestsInSecond * covered.Seconds()
	tuned := runs(pod.Pod, candidate)
	slow, cost := usualSlow+w.data.slowAll, 0.001*(1+0.01*float64(pod.CreatedAt.Unix()%5))
	if tuned {
		slow, cost = slow+w.data.slow, cost*(1-w.data.gain)
	}
	if trial := w.statuses[len(w.statuses)-1].trial; trial != nil && slices.ContainsFunc(trial.Slots, func(slot v1alpha1.Slot) bool { return slot.PodUID == pod.UID }) {
		cost *= 1 - w.data.luck
	}
	cycles := 2.0
	if w.data.fewCycles {
		cycles = 0.001
	}
	running := w.now.Sub(pod.CreatedAt).Seconds()
	sample := signal.Pod{
		Requests: present(requests), FailedRequests: present(0), LatencyState: signal.Present,
		Latency: []signal.Bucket{
			{UpperBoundSeconds: 0.25, Count: requests * (1 - slow)}, {UpperBoundSeconds: math.Inf(1), Count: requests},
		},
		GCCPUSeconds: present(requests * cost), CPUSeconds: present(requests * 0.004),
		GCCycles: present(cycles * covered.Seconds()), GCCyclesTotal: present(cycles * running),
		GOGCPercent: present(float64(pod.Settings.GOGC)), MemoryLimitBytes: present(float64(pod.Settings.MemoryLimitBytes)),
		ProcessStartSeconds: present(float64(pod.CreatedAt.Add(time.Second).Unix())),
		Custom:              map[string]signal.Value{"queue": present(w.data.queue)},
		SampleAge:           2 * time.Second, Coverage: min(1, covered.Seconds()/length.Seconds()), Sampled: true,
	}
	sample.LimiterEnabled = tuned && w.data.limited
	if w.data.overridden {
		sample.GOGCPercent = present(77)
	}
	return sample
}

// spoil breaks the sample of the i-th pod as the fault has it.
func (w *world) spoil(i int, sample signal.Pod) signal.Pod {
	notFinite := signal.Value{Number: math.NaN(), State: signal.NotFinite}
	switch w.data.fault {
	case "NaN":
		sample.Requests, sample.LatencyState, sample.Latency, sample.GCCPUSeconds = notFinite, signal.NotFinite, nil, notFinite
	case "partial":
		sample.Coverage = 0.3
	case "stale":
		sample.SampleAge = time.Minute
	case "one pod missing":
		if i == len(w.pods)-1 { // the youngest: a canary or control pod in every step
			return signal.Pod{}
		}
	case "absent":
		sample.Requests, sample.FailedRequests, sample.LatencyState, sample.Latency = signal.Value{}, signal.Value{}, signal.Absent, nil
	}
	return sample
}
