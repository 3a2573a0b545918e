package tuning

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

// watched is a pod at flat traffic that is old enough, and its window.
func watched(goroutines, descriptors, heapMebibytes [3]float64) (signal.Window, signal.Pod) {
	window := signal.Window{End: now, Length: 10 * time.Minute}
	pod := signal.Pod{ProcessStartSeconds: present(float64(now.Add(-15 * time.Minute).Unix()))}
	for i := range 3 {
		pod.Levels = append(pod.Levels, signal.Level{
			RequestsPerSecond: present(100), Goroutines: present(goroutines[i]), OpenFileDescriptors: present(descriptors[i]),
			LiveHeapBytes: present(heapMebibytes[i] * mebibyte),
		})
	}
	return window, pod
}

func TestLeaks(t *testing.T) {
	still := [3]float64{50, 50, 50}
	tests := map[string]struct {
		goroutines, descriptors, heap [3]float64
		edit                          func(*signal.Pod)
		want                          string
	}{
		"nothing grows":                {still, still, still, nil, ""},
		"goroutines":                   {[3]float64{1000, 1050, 1100}, still, still, nil, "goroutines grow at flat traffic, from 1000 to 1100 in a pod (1 of 1 pods)"},
		"goroutines, less than 10%":    {[3]float64{1001, 1050, 1101}, still, still, nil, ""},
		"goroutines, few":              {[3]float64{100, 150, 199}, still, still, nil, ""},
		"goroutines, enough":           {[3]float64{100, 150, 200}, still, still, nil, "from 100 to 200"},
		"goroutines, then less":        {[3]float64{1000, 1500, 1499}, still, still, nil, ""},
		"goroutines, then no more":     {[3]float64{1000, 1500, 1500}, still, still, nil, ""},
		"goroutines, only late":        {[3]float64{1000, 1000, 1500}, still, still, nil, ""},
		"descriptors":                  {still, [3]float64{200, 210, 220}, still, nil, "open file descriptors grow at flat traffic, from 200 to 220"},
		"descriptors, less than 10%":   {still, [3]float64{201, 210, 221}, still, nil, ""},
		"descriptors, few":             {still, [3]float64{20, 30, 39}, still, nil, ""},
		"live heap":                    {still, still, [3]float64{80, 84, 88}, nil, "the live heap grows at flat traffic, from 80 to 88 MiB"},
		"live heap, less than 10%":     {still, still, [3]float64{81, 84, 89}, nil, ""},
		"live heap, little":            {still, still, [3]float64{10, 14, 17.9}, nil, ""},
		"goroutines come first":        {[3]float64{1000, 1500, 2000}, [3]float64{100, 200, 300}, [3]float64{80, 100, 120}, nil, "goroutines grow"},
		"descriptors come before heap": {still, [3]float64{100, 200, 300}, [3]float64{80, 100, 120}, nil, "open file descriptors grow"},
		"a level is missing":           {[3]float64{1000, 1500, 2000}, still, still, func(p *signal.Pod) { p.Levels[1].Goroutines = signal.Value{} }, ""},
		"only two levels":              {[3]float64{1000, 1500, 2000}, still, still, func(p *signal.Pod) { p.Levels = p.Levels[:2] }, ""},
		"traffic unknown":              {[3]float64{1000, 1500, 2000}, still, still, func(p *signal.Pod) { p.Levels[2].RequestsPerSecond = signal.Value{} }, ""},
		"no traffic": {[3]float64{1000, 1500, 2000}, still, still, func(p *signal.Pod) {
			for i := range p.Levels {
				p.Levels[i].RequestsPerSecond = present(0)
			}
		}, ""},
		"traffic up by 20%":   {[3]float64{1000, 1500, 2000}, still, still, func(p *signal.Pod) { p.Levels[2].RequestsPerSecond = present(120) }, "goroutines grow"},
		"traffic up by 21%":   {[3]float64{1000, 1500, 2000}, still, still, func(p *signal.Pod) { p.Levels[2].RequestsPerSecond = present(121) }, ""},
		"traffic down by 20%": {[3]float64{1000, 1500, 2000}, still, still, func(p *signal.Pod) { p.Levels[1].RequestsPerSecond = present(80) }, ""},
		"young by a second":   {[3]float64{1000, 1500, 2000}, still, still, func(p *signal.Pod) { p.ProcessStartSeconds.Number++ }, ""},
		"of unknown age":      {[3]float64{1000, 1500, 2000}, still, still, func(p *signal.Pod) { p.ProcessStartSeconds = signal.Value{} }, ""},
		"more than 80% open":  {still, still, still, open(801, 1000), "801 of 1000 file descriptors are open in a process (1 of 1 pods"},
		"80% open":            {still, still, still, open(800, 1000), ""},
		"unlimited":           {still, still, still, open(800, math.Inf(1)), ""},
		"no limit known":      {still, still, still, open(800, 0), ""},
		"full, though young":  {still, still, still, func(p *signal.Pod) { open(900, 1000)(p); p.ProcessStartSeconds = signal.Value{} }, "900 of 1000"},
		"full comes first":    {[3]float64{1000, 1500, 2000}, still, still, open(900, 1000), "900 of 1000"},
	}
	for name, test := range tests {
		window, pod := watched(test.goroutines, test.descriptors, test.heap)
		if test.edit != nil {
			test.edit(&pod)
		}
		in := input()
		seen, _ := Observe(window, []signal.Pod{pod})
		in.Observed.Pods, in.Observed.Goroutines, in.Observed.OpenFileDescriptors = seen.Pods, seen.Goroutines, seen.OpenFileDescriptors
		in.Observed.LiveHeap, in.Observed.FullDescriptors = seen.LiveHeap, seen.FullDescriptors
		got := Propose(in)
		leaks := got.Blocked == v1alpha1.ReasonLeakSuspected
		if leaks != (test.want != "") || leaks == (got.Candidate != nil) || !strings.Contains(got.Reason, test.want) {
			t.Errorf("%s: %q %q %v", name, got.Blocked, got.Reason, got.Candidate)
		}
	}
}

func open(descriptors, most float64) func(*signal.Pod) {
	return func(p *signal.Pod) { p.OpenFileDescriptors, p.MaxFileDescriptors = present(descriptors), present(most) }
}

// TestALeakIsInHalfOfThePods: and its figures are of the pod that has most.
func TestALeakIsInHalfOfThePods(t *testing.T) {
	still, grows := [3]float64{50, 50, 50}, [3]float64{1000, 1500, 2000}
	window, leaking := watched(grows, still, still)
	_, worse := watched([3]float64{1000, 2000, 3000}, still, still)
	_, slower := watched([3]float64{1500, 1700, 2000}, still, still)
	_, calm := watched(still, still, still)
	young := leaking
	young.ProcessStartSeconds = signal.Value{}
	tests := map[string]struct {
		pods []signal.Pod
		want string
	}{
		"one of two":     {[]signal.Pod{leaking, calm}, "from 1000 to 2000 in a pod (1 of 2 pods)"},
		"after a young":  {[]signal.Pod{young, leaking}, "from 1000 to 2000 in a pod (1 of 2 pods)"},
		"one of three":   {[]signal.Pod{leaking, calm, calm}, ""},
		"two of four":    {[]signal.Pod{worse, calm, leaking, calm}, "from 1000 to 3000 in a pod (2 of 4 pods)"},
		"two of four, b": {[]signal.Pod{leaking, calm, worse, calm}, "from 1000 to 3000 in a pod (2 of 4 pods)"},
		"as high":        {[]signal.Pod{leaking, slower}, "from 1000 to 2000 in a pod (2 of 2 pods)"},
		"two of five":    {[]signal.Pod{leaking, worse, calm, calm, calm}, ""},
	}
	for name, test := range tests {
		seen, _ := Observe(window, test.pods)
		got := leak(seen)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := leak(Observation{}); got != "" {
		t.Errorf("no pods: %q", got)
	}
}

func TestALeakEndsEveryStrategy(t *testing.T) {
	for _, strategy := range []v1alpha1.StrategyType{
		"", v1alpha1.StrategyFeedback, v1alpha1.StrategySweep, v1alpha1.StrategyManual, v1alpha1.StrategyCalibrate,
	} {
		in := input()
		in.Strategy = listed(in.Baseline)
		in.Strategy.Type = strategy
		in.Observed.Goroutines = Growth{Pods: 4, From: 1, To: 200}
		if got := Propose(in); got.Blocked != v1alpha1.ReasonLeakSuspected || got.Candidate != nil || got.Sweep != nil {
			t.Errorf("%s: %+v", strategy, got)
		}
	}
}
