package simulation

import (
	"math"
	"testing"

	"github.com/gopacer/gopacer/internal/settings"
)

const mebibyte = 1 << 20

// shop is a service whose collector has something to do.
func shop() Service {
	return Service{
		LiveHeapBytes: 100 * mebibyte, RootBytes: 4 * mebibyte, AllocatedPerRequestBytes: 200 << 10, MarkSecondsPerByte: 1e-9, CycleSeconds: 2e-4,
		RequestCPUSeconds: 0.002, RequestsPerSecond: 200, Processors: 2, RuntimeBytes: 12 * mebibyte, OtherBytes: 15 * mebibyte,
		MedianSeconds: 0.02, Sigma: 0.6, PauseSeconds: 2e-4, FailedShare: 0.001,
	}
}

func under(s Service, gogc settings.GOGC, limitMebibytes int64) Behaviour {
	return s.Under(settings.Settings{GOGC: gogc, MemoryLimitBytes: limitMebibytes * mebibyte}, s.RequestsPerSecond)
}

func near(got, want, tolerance float64) bool { return math.Abs(got/want-1) <= tolerance }

// TestGCCPUFollowsTheGuide: GC CPU time is in inverse proportion to GOGC, and does not depend on the live heap (https://go.dev/doc/gc-guide).
func TestGCCPUFollowsTheGuide(t *testing.T) {
	s := shop()
	s.RootBytes, s.CycleSeconds = 0, 0
	at100 := under(s, 100, 0)
	for _, gogc := range []settings.GOGC{25, 50, 200, 400} {
		if got, want := under(s, gogc, 0).GCSecondsPerRequest, at100.GCSecondsPerRequest*100/float64(gogc); !near(got, want, 0.12) {
			t.Errorf("GOGC=%d: %v GC seconds per request, want about %v", gogc, got, want)
		}
	}
	larger := s
	larger.LiveHeapBytes *= 4
	if got := under(larger, 100, 0).GCSecondsPerRequest; !near(got, at100.GCSecondsPerRequest, 0.06) {
		t.Errorf("four times the live heap: %v GC seconds per request, want about %v", got, at100.GCSecondsPerRequest)
	}
}

// TestMemoryLimit: a limit below what GOGC asks for makes the collector work harder, and its limiter keeps it from working all the time.
func TestMemoryLimit(t *testing.T) {
	free := under(shop(), 100, 0)
	tests := map[string]struct {
		limit   int64
		limited bool
		least   float64
	}{
		"far above":        {1000, false, 95},
		"below the goal":   {180, false, 40},
		"near the heap":    {125, false, 5},
		"at the live heap": {112, true, 0},
	}
	before := free.GCSecondsPerSecond * 0.999
	for _, name := range []string{"far above", "below the goal", "near the heap", "at the live heap"} {
		test := tests[name]
		got := under(shop(), 100, test.limit)
		if got.Limited != test.limited || got.EffectiveGOGC < test.least || got.GCSecondsPerSecond < before {
			t.Errorf("%s: %+v", name, got)
		}
		if !test.limited && got.ResidentBytes > float64(test.limit*mebibyte)+shop().OtherBytes {
			t.Errorf("%s: %v bytes resident above the limit", name, got.ResidentBytes)
		}
		before = got.GCSecondsPerSecond
	}
	if limited := under(shop(), 100, 112); limited.GCSecondsPerSecond > 1.001 || limited.ResidentBytes < 112*mebibyte {
		t.Errorf("limited: %+v, want half of two processors, and more memory than the limit", limited)
	}
}

func TestOff(t *testing.T) {
	s := shop()
	s.MemoryLimitBytes = 512 * mebibyte
	if got := under(s, settings.Off, 0); !got.Killed || got.CyclesPerSecond > 1e-6 {
		t.Errorf("GOGC=off without a limit: %+v, want no cycle, and an end", got)
	}
	if got := under(s, settings.Off, 400); got.Killed || got.CyclesPerSecond <= 0 {
		t.Errorf("GOGC=off with a limit: %+v", got)
	}
	idle := shop()
	if got := idle.Under(settings.Settings{}, 1e-3).CyclesPerSecond; got != 1.0/120 {
		t.Errorf("an idle process collects %v times a second, want once in two minutes", got)
	}
}

// TestLatency: the more the collector works the slower are the requests; memory that is nearly full slows some of them tenfold.
func TestLatency(t *testing.T) {
	s := shop()
	before := math.Inf(1)
	for _, gogc := range []settings.GOGC{25, 50, 100, 200} {
		got := under(s, gogc, 0)
		if got.MeanSeconds() >= before || got.SlowShare(0.1) < 0 || got.SlowShare(0.1) > 0.1 {
			t.Errorf("GOGC=%d: mean %v (before %v), slow %v", gogc, got.MeanSeconds(), before, got.SlowShare(0.1))
		}
		before = got.MeanSeconds()
	}
	s.MemoryLimitBytes, s.PressureFrom, s.PressureShare = 400*mebibyte, 0.7, 0.2
	roomy, full := under(s, 50, 0), under(s, 200, 0)
	if roomy.SlowShare(0.1) > 0.01 || full.SlowShare(0.1) < 0.05 {
		t.Errorf("slow with room %v, slow without %v", roomy.SlowShare(0.1), full.SlowShare(0.1))
	}
}

func TestFault(t *testing.T) {
	usual := under(shop(), 100, 0)
	bad := under(Fault{SlowRequests: 0.05, Latency: 0.1, CPU: 0.2, GCCPU: -0.2}.applied(shop()), 100, 0)
	if !near(bad.GCSecondsPerRequest, 0.8*usual.GCSecondsPerRequest, 0.03) {
		t.Errorf("GC seconds per request %v, usually %v", bad.GCSecondsPerRequest, usual.GCSecondsPerRequest)
	}
	if got, want := bad.CPUSecondsPerRequest-bad.GCSecondsPerRequest, 1.2*shop().RequestCPUSeconds; !near(got, want, 1e-9) {
		t.Errorf("%v CPU seconds per request beside the collector, want %v", got, want)
	}
	if ratio := bad.MeanSeconds() / usual.MeanSeconds(); ratio < 1.1*1.45 || ratio > 1.1*1.6 {
		t.Errorf("mean time is %v times the usual", ratio)
	}
}
