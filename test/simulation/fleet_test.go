package simulation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
)

var begin = time.Date(2026, time.October, 1, 0, 0, 0, 0, time.UTC)

func fleetOf(service Service, noise Noise, pods int, seed uint64) *Fleet {
	fleet := NewFleet(service, noise, pods, begin, seed)
	for i := range pods {
		fleet.Start(fmt.Sprintf("pod-%d", i), begin, settings.Settings{GOGC: 100}, Fault{})
	}
	return fleet
}

func window(fleet *Fleet, run, length time.Duration) *signal.Window {
	fleet.Advance(begin.Add(run))
	return fleet.Window(fleet.Now(), length)
}

// TestWindowFollowsTheModel: without noise, what Prometheus shows is what the model says.
func TestWindowFollowsTheModel(t *testing.T) {
	fleet := fleetOf(shop(), Noise{}, 3, 1)
	got := window(fleet, time.Hour, 10*time.Minute)
	want := under(shop(), 100, 0)
	for name, pod := range got.Pods {
		requests := pod.Requests.Number
		for what, ratio := range map[string]float64{
			"requests":      requests / (600 * shop().RequestsPerSecond),
			"cycles":        pod.GCCycles.Number / (600 * want.CyclesPerSecond),
			"GC":            pod.GCCPUSeconds.Number / requests / want.GCSecondsPerRequest,
			"CPU":           pod.CPUSeconds.Number / requests / want.CPUSecondsPerRequest,
			"latency":       pod.RequestSeconds.Number / requests / want.MeanSeconds(),
			"resident":      pod.ResidentBytes.Number / want.ResidentBytes,
			"effectiveGOGC": pod.EffectiveGOGC().Number / want.EffectiveGOGC,
			"slow":          (1 - pod.Latency[3].Count/requests) / want.SlowShare(0.05),
		} {
			if math.Abs(ratio-1) > 0.05 {
				t.Errorf("%s: %s is %.3f of what the model says", name, what, ratio)
			}
		}
		if last := pod.Latency[len(pod.Latency)-1]; last.Count != requests || !math.IsInf(last.UpperBoundSeconds, 1) {
			t.Errorf("%s: the histogram ends with %+v, of %v requests", name, last, requests)
		}
		if !pod.Fresh(got.MaxSampleAge(), 1) || len(pod.Levels) != 3 {
			t.Errorf("%s: %v old, %v covered, %d levels", name, pod.SampleAge, pod.Coverage, len(pod.Levels))
		}
	}
}

func TestSameSeedSameFleet(t *testing.T) {
	noise := Noise{PodSpread: 0.05, WithinPod: 0.05, Autocorrelation: 0.5, TrafficSpread: 0.02, SharedLoad: 0.1, Diurnal: 0.5}
	show := func(seed uint64) *signal.Window {
		return window(fleetOf(shop(), noise, 4, seed), time.Hour, 5*time.Minute)
	}
	if diff := cmp.Diff(show(7), show(7)); diff != "" {
		t.Errorf("the same seed gives another fleet: %s", diff)
	}
	if cmp.Equal(show(7), show(8)) {
		t.Error("another seed gives the same fleet")
	}
}

// TestSpreads: the differences between pods, and the correlation within them, are those that were asked for.
func TestSpreads(t *testing.T) {
	const pods = 250
	noise := Noise{PodSpread: 0.06, WithinPod: 0.05, Autocorrelation: 0.8}
	fleet := fleetOf(shop(), noise, pods, 3)
	cost := func(w *signal.Window) []float64 {
		var out []float64
		for i := range pods {
			pod := w.Pods[fmt.Sprintf("pod-%d", i)]
			out = append(out, math.Log(pod.RequestSeconds.Number/pod.Requests.Number))
		}
		return out
	}
	first := cost(window(fleet, 30*time.Minute, ScrapeInterval))
	later := cost(window(fleet, 30*time.Minute+30*time.Second, ScrapeInterval))
	last := cost(window(fleet, time.Hour, ScrapeInterval))
	lasting := covariance(first, last)
	if got := math.Sqrt(lasting); math.Abs(got-0.06) > 0.01 {
		t.Errorf("pods differ by %v, want 0.06", got)
	}
	within := covariance(first, first) - lasting
	if got := math.Sqrt(within); math.Abs(got-0.055) > 0.01 {
		t.Errorf("within a pod the time of a request sways by %v, want 0.05 and what a sample of requests adds", got)
	}
	if got := (covariance(first, later) - lasting) / within; got < 0.5 || got > 0.95 {
		t.Errorf("measurements that are 30 s apart correlate by %v, want about 0.8", got)
	}
}

func covariance(a, b []float64) float64 {
	meanA, meanB, sum := 0.0, 0.0, 0.0
	for i := range a {
		meanA += a[i] / float64(len(a))
		meanB += b[i] / float64(len(b))
	}
	for i := range a {
		sum += (a[i] - meanA) * (b[i] - meanB)
	}
	return sum / float64(len(a)-1)
}

func TestDiurnalLoad(t *testing.T) {
	fleet := fleetOf(shop(), Noise{Diurnal: 0.5}, 2, 1)
	rate := func(hours time.Duration) float64 {
		return window(fleet, hours*time.Hour, 10*time.Minute).Pods["pod-0"].Requests.Number / 600 / shop().RequestsPerSecond
	}
	for _, test := range []struct {
		hours time.Duration
		want  float64
	}{{6, 1.5}, {12, 1}, {18, 0.5}} {
		if got := rate(test.hours); math.Abs(got-test.want) > 0.05 {
			t.Errorf("after %d hours the load is %v of the mean, want %v", test.hours, got, test.want)
		}
	}
}

// TestProcessesComeAndGo: a young process is not in the window before its first scrape, its counters begin with it, the others take the load
// of one that is gone, and one that outgrows its container is killed.
func TestProcessesComeAndGo(t *testing.T) {
	s := shop()
	s.MemoryLimitBytes = 300 * mebibyte
	fleet := fleetOf(s, Noise{}, 2, 1)
	fleet.Advance(begin.Add(10 * time.Minute))
	fleet.Start("young", fleet.Now().Add(7*time.Second), settings.Settings{GOGC: 400}, Fault{})
	if _, found := fleet.Window(fleet.Now(), time.Minute).Pods["young"]; found {
		t.Error("a process that was not scraped is in the window")
	}
	young := window(fleet, 11*time.Minute, 5*time.Minute).Pods["young"]
	if started := float64(begin.Add(10*time.Minute + 7*time.Second).Unix()); young.ProcessStartSeconds.Number != started {
		t.Errorf("the process started at %v, want %v", young.ProcessStartSeconds.Number, started)
	}
	if young.Coverage != 0.2 || young.Requests.Number > 60*s.RequestsPerSecond || young.GOGCPercent.Number != 400 {
		t.Errorf("young: %+v", young)
	}
	if !fleet.Killed("young") || fleet.Killed("pod-0") || fleet.Killed("none") {
		t.Error("the process that outgrows its container is killed, and no other")
	}
	fleet.Stop("young")
	fleet.Stop("pod-1")
	left := window(fleet, 30*time.Minute, 5*time.Minute)
	if len(left.Pods) != 1 || math.Abs(left.Pods["pod-0"].Requests.Number/(600*s.RequestsPerSecond)-1) > 0.02 {
		t.Errorf("the pod that is left does not take all requests: %+v", left.Pods)
	}
}

func TestCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	draw := func(of func() float64) (mean, variance float64) {
		const n = 20_000
		sum, squares := 0.0, 0.0
		for range n {
			x := of()
			sum, squares = sum+x, squares+x*x
		}
		return sum / n, squares/n - sum*sum/n/n
	}
	for _, expected := range []float64{0.3, 12, 500} {
		mean, variance := draw(func() float64 { return poisson(random, expected) })
		if !near(mean, expected, 0.05) || !near(variance, expected, 0.06) {
			t.Errorf("poisson(%v): mean %v, variance %v", expected, mean, variance)
		}
	}
	for _, test := range [][2]float64{{1000, 0.001}, {40, 0.4}, {40, 0.9}, {5000, 0.3}} {
		n, chance := test[0], test[1]
		mean, variance := draw(func() float64 { return binomial(random, n, chance) })
		if !near(mean, n*chance, 0.05) || !near(variance, n*chance*(1-chance), 0.06) {
			t.Errorf("binomial(%v, %v): mean %v, variance %v", n, chance, mean, variance)
		}
	}
}
