package signal

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDerived(t *testing.T) {
	whole := Pod{
		LiveHeapBytes: present(60e6), StackAndGlobalBytes: present(20e6), HeapGoalBytes: present(80e6), ResidentBytes: present(120e6),
		HeapAllocatedBytes: present(80e6),
	}
	type derived struct{ effectiveGOGC, ofLive, ofAllocated Value }
	notFinite := Value{State: NotFinite}
	for name, tc := range map[string]struct {
		change func(*Pod)
		want   derived
	}{
		"whole":               {func(*Pod) {}, derived{present(25), present(2), present(1.5)}},
		"goal below live":     {func(p *Pod) { p.HeapGoalBytes = present(50e6) }, derived{present(0), present(2), present(1.5)}},
		"no goal":             {func(p *Pod) { p.HeapGoalBytes = Value{} }, derived{Value{}, present(2), present(1.5)}},
		"no roots":            {func(p *Pod) { p.StackAndGlobalBytes = Value{} }, derived{Value{}, present(2), present(1.5)}},
		"live heap ambiguous": {func(p *Pod) { p.LiveHeapBytes = Value{State: Ambiguous} }, derived{Value{State: Ambiguous}, Value{State: Ambiguous}, present(1.5)}},
		"no cycle yet": {func(p *Pod) { p.LiveHeapBytes, p.StackAndGlobalBytes = present(0), present(0) },
			derived{notFinite, notFinite, present(1.5)}},
		"nothing": {func(p *Pod) { *p = Pod{} }, derived{}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := whole
			tc.change(&pod)
			got := derived{pod.EffectiveGOGC(), pod.AmplificationOfLive(), pod.AmplificationOfAllocated()}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(derived{})); diff != "" {
				t.Errorf("derived (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFresh(t *testing.T) {
	window := Window{ScrapeInterval: 10 * time.Second}
	for name, tc := range map[string]struct {
		pod  Pod
		want bool
	}{
		"fresh":         {Pod{Sampled: true, SampleAge: 35 * time.Second, Coverage: 0.8}, true},
		"old":           {Pod{Sampled: true, SampleAge: 35*time.Second + 1, Coverage: 1}, false},
		"with gaps":     {Pod{Sampled: true, Coverage: 0.79}, false},
		"never sampled": {Pod{Coverage: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.pod.Fresh(window.MaxSampleAge(), 0.8); got != tc.want {
				t.Errorf("fresh: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestGoVersion(t *testing.T) {
	info := func(container, version string) scrape {
		return scrape{container: container, text: "go_info{version=\"" + version + "\"} 1"}
	}
	for name, tc := range map[string]struct {
		scrapes []scrape
		want    string
	}{
		"one":               {[]scrape{info("app", "go1.26.8")}, "go1.26.8"},
		"of a sidecar":      {[]scrape{info("app", "go1.26.8"), info("proxy", "go1.20.1")}, "go1.26.8"},
		"two the same":      {[]scrape{info("app", "go1.26.8"), info("", "go1.26.8")}, "go1.26.8"},
		"two that disagree": {[]scrape{info("app", "go1.26.8"), info("", "go1.20.1")}, ""},
		"none":              {[]scrape{{text: "go_goroutines 1"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			window := observe(t, exampleRequest(), map[time.Duration][]scrape{time.Minute: nil, 0: tc.scrapes})
			if got := window.Pods[examplePod].GoVersion; got != tc.want {
				t.Errorf("version %q, want %q", got, tc.want)
			}
		})
	}
}
