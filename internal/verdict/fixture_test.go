package verdict

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

var now = time.Date(2026, time.October, 1, 12, 0, 0, 0, time.UTC)

var (
	latencySLO = SLO{Name: "latency", ThresholdSeconds: 0.25, AllowedShare: 0.01}
	errorsSLO  = SLO{Name: "errors", AllowedShare: 0.01}
)

func present(number float64) signal.Value { return signal.Value{Number: number, State: signal.Present} }

func bucket(upperBoundSeconds, count float64) signal.Bucket {
	return signal.Bucket{UpperBoundSeconds: upperBoundSeconds, Count: count}
}

// buckets gives a histogram with edges at 0.1, 0.25 and 1 s, and so many requests between them.
func buckets(upTo100ms, upTo250ms, upTo1s, longer float64) []signal.Bucket {
	return []signal.Bucket{
		bucket(0.1, upTo100ms), bucket(0.25, upTo100ms+upTo250ms), bucket(1, upTo100ms+upTo250ms+upTo1s),
		bucket(math.Inf(1), upTo100ms+upTo250ms+upTo1s+longer),
	}
}

// sample is a pod with 1000 requests, of which 1 fails; its histogram has seen ten times as many, of which 20 are slow.
func sample(gcSeconds float64) signal.Pod {
	return signal.Pod{
		Requests: present(1000), FailedRequests: present(1), Latency: buckets(9000, 980, 10, 10), LatencyState: signal.Present,
		RequestSeconds: present(20), GCCPUSeconds: present(gcSeconds), CPUSeconds: present(100), GCCycles: present(40),
		SampleAge: 5 * time.Second, Coverage: 0.95, Sampled: true,
	}
}

func cohort(name string, n int) []Member {
	members := make([]Member, 0, n)
	for i := range n {
		members = append(members, Member{
			Name:   fmt.Sprintf("%s-%d", name, i),
			Health: Health{Ready: true, WasReady: true, ReadyChangedAt: now.Add(-time.Hour)},
		})
	}
	return members
}

func window(length time.Duration) *signal.Window {
	return &signal.Window{End: now, Length: length, ScrapeInterval: 15 * time.Second, Pods: map[string]signal.Pod{}}
}

// passing is a trial of 3 canary and 3 control pods in which everything is asked and all is well: the candidate saves half of the
// collector's CPU time, a tenth of the whole.
func passing() Input {
	in := Input{
		Now: now, Canary: cohort("canary", 3), Control: cohort("control", 3), SLOs: []SLO{latencySLO, errorsSLO},
		Gain: Gain{MinShare: 0.05, MinCPUShare: 0.01}, Recent: window(time.Minute), Evidence: window(10 * time.Minute), JudgeGain: true,
	}
	for i := range 3 {
		for _, w := range []*signal.Window{in.Recent, in.Evidence} {
			w.Pods[in.Canary[i].Name] = sample(10 + 0.1*float64(i))
			w.Pods[in.Control[i].Name] = sample(20 + 0.1*float64(i))
		}
	}
	return in
}

// change edits the pod of a window.
func change(w *signal.Window, name string, edit func(*signal.Pod)) {
	pod := w.Pods[name]
	edit(&pod)
	w.Pods[name] = pod
}

func changeAll(w *signal.Window, members []Member, edit func(*signal.Pod)) {
	for _, member := range members {
		change(w, member.Name, edit)
	}
}

func checkNamed(t *testing.T, verdict v1alpha1.Verdict, name string) v1alpha1.Check {
	t.Helper()
	for _, check := range verdict.Checks {
		if check.Name == name {
			return check
		}
	}
	t.Fatalf("the verdict has no check %q: %+v", name, verdict.Checks)
	return v1alpha1.Check{}
}

// fault is one thing that is missing or wrong in the data, in the window that it names, empty for both or neither.
type fault struct {
	name   string
	window string
	pod    string
	apply  func(*Input)
}

func windowNamed(in *Input, name string) *signal.Window {
	if name == "recent" {
		return in.Recent
	}
	return in.Evidence
}

// valueFaults are what can be wrong with a number. The last three break the promise of Present.
var valueFaults = map[string]signal.Value{
	"absent":       {},
	"not finite":   {Number: math.NaN(), State: signal.NotFinite},
	"ambiguous":    {Number: 1000, State: signal.Ambiguous},
	"unknown":      {Number: 1000, State: "Whatever"},
	"present NaN":  {Number: math.NaN(), State: signal.Present},
	"present Inf":  {Number: math.Inf(1), State: signal.Present},
	"present -1":   {Number: -1, State: signal.Present},
	"present -Inf": {Number: math.Inf(-1), State: signal.Present},
}

var histogramFaults = map[string]func(*signal.Pod){
	"none":           func(p *signal.Pod) { p.Latency, p.LatencyState = nil, signal.Absent },
	"empty":          func(p *signal.Pod) { p.Latency = nil },
	"not finite":     func(p *signal.Pod) { p.LatencyState = signal.NotFinite },
	"ambiguous":      func(p *signal.Pod) { p.LatencyState = signal.Ambiguous },
	"cut off":        func(p *signal.Pod) { p.Latency = p.Latency[:3] },
	"falling":        func(p *signal.Pod) { p.Latency[2].Count = 1 },
	"NaN count":      func(p *signal.Pod) { p.Latency[0].Count = math.NaN() },
	"Inf count":      func(p *signal.Pod) { p.Latency[3].Count = math.Inf(1) },
	"negative count": func(p *signal.Pod) { p.Latency[0].Count = -1 },
	"edges fall":     func(p *signal.Pod) { p.Latency[0].UpperBoundSeconds = 0.5 },
	"NaN edge":       func(p *signal.Pod) { p.Latency[1].UpperBoundSeconds = math.NaN() },
}

var freshnessFaults = map[string]func(*signal.Pod){
	"stale":        func(p *signal.Pod) { p.SampleAge = 53 * time.Second },
	"partial":      func(p *signal.Pod) { p.Coverage = 0.49 },
	"NaN coverage": func(p *signal.Pod) { p.Coverage = math.NaN() },
	"not sampled":  func(p *signal.Pod) { p.Sampled = false },
	"zero":         func(p *signal.Pod) { *p = signal.Pod{} },
}

// restsOn are the values of a pod that the questions of passing rest on.
func restsOn(windowName string) map[string]func(*signal.Pod) *signal.Value {
	values := map[string]func(*signal.Pod) *signal.Value{}
	values["Requests"] = func(p *signal.Pod) *signal.Value { return &p.Requests }
	values["FailedRequests"] = func(p *signal.Pod) *signal.Value { return &p.FailedRequests }
	values["RequestSeconds"] = func(p *signal.Pod) *signal.Value { return &p.RequestSeconds }
	values["CPUSeconds"] = func(p *signal.Pod) *signal.Value { return &p.CPUSeconds }
	if windowName == "evidence" {
		values["GCCPUSeconds"] = func(p *signal.Pod) *signal.Value { return &p.GCCPUSeconds }
		values["GCCycles"] = func(p *signal.Pod) *signal.Value { return &p.GCCycles }
	}
	return values
}

// faults lists every single thing of passing that can be wrong.
func faults() []fault {
	var all []fault
	in := passing()
	for _, w := range []string{"recent", "evidence"} {
		for _, member := range append(in.Canary, in.Control...) {
			all = append(all, podFaults(w, member.Name)...)
		}
		all = append(all,
			fault{name: "kept for a minute", window: w, apply: func(in *Input) { windowNamed(in, w).End = now.Add(-time.Minute) }},
			fault{name: "no end", window: w, apply: func(in *Input) { windowNamed(in, w).End = time.Time{} }},
			fault{name: "no pods", window: w, apply: func(in *Input) { windowNamed(in, w).Pods = nil }},
			fault{name: "no scrape interval", window: w, apply: func(in *Input) { windowNamed(in, w).ScrapeInterval = 0 }})
	}
	return append(all,
		fault{name: "no answer", window: "recent", apply: func(in *Input) { in.Recent = nil }},
		fault{name: "no answer", window: "evidence", apply: func(in *Input) { in.Evidence = nil }},
		fault{name: "no control pods", apply: func(in *Input) { in.Control = nil }},
		fault{name: "a canary pod that nobody measured", apply: func(in *Input) { in.Canary = append(in.Canary, cohort("other", 1)...) }},
		fault{name: "a control pod that nobody measured", apply: func(in *Input) { in.Control = append(in.Control, cohort("other", 1)...) }})
}

func podFaults(w, pod string) []fault {
	var all []fault
	add := func(name string, edit func(*signal.Pod)) {
		all = append(all, fault{name: name, window: w, pod: pod, apply: func(in *Input) { change(windowNamed(in, w), pod, edit) }})
	}
	for field, value := range restsOn(w) {
		for name, bad := range valueFaults {
			add(field+" "+name, func(p *signal.Pod) { *value(p) = bad })
		}
	}
	for name, edit := range freshnessFaults {
		add(name, edit)
	}
	for name, edit := range histogramFaults {
		add("histogram "+name, edit)
	}
	all = append(all, fault{name: "dropped", window: w, pod: pod, apply: func(in *Input) { delete(windowNamed(in, w).Pods, pod) }})
	return all
}
