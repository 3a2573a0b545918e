package tuning

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

// answered is a histogram with edges at 10, 25 and 100 ms.
func answered(upTo10, upTo25, upTo100, all float64) []signal.Bucket {
	return []signal.Bucket{
		{UpperBoundSeconds: 0.01, Count: upTo10}, {UpperBoundSeconds: 0.025, Count: upTo25}, {UpperBoundSeconds: 0.1, Count: upTo100},
		{UpperBoundSeconds: math.Inf(1), Count: all},
	}
}

func TestMeasureRung(t *testing.T) {
	pod := func(requests, cpu, gc, resident float64, latency []signal.Bucket) signal.Pod {
		return signal.Pod{
			Requests: present(requests), CPUSeconds: present(cpu), GCCPUSeconds: present(gc), ResidentBytes: present(resident * mebibyte),
			Latency: latency, LatencyState: signal.Present,
		}
	}
	pods := []signal.Pod{pod(1000, 2, 0.5, 100, answered(900, 980, 1000, 1000)), pod(3000, 3, 0.5, 300, answered(3000, 3000, 3000, 3000))}
	got := MeasureRung(150, signal.Window{Length: time.Minute}, pods, 0.025)
	want := v1alpha1.Rung{
		GOGC: 150, Result: "Measured", RequestsPerCPUSecond: "800", P99: "21.25ms", Memory: resource.NewQuantity(200*mebibyte, resource.BinarySI),
		GCCPU: "20%", GCCPUPerRequest: "0.25ms", SlowRequests: "0.5%",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	fast := MeasureRung(150, signal.Window{}, pods[1:], 0.025)
	if fast.SlowRequests != "0%" || readRung(fast).slowShare != 0 {
		t.Errorf("no request is slow: %q", fast.SlowRequests)
	}
	nothing := MeasureRung(25, signal.Window{}, nil, 0)
	if diff := cmp.Diff(v1alpha1.Rung{GOGC: 25, Result: "Measured"}, nothing); diff != "" {
		t.Error(diff)
	}
	if got := FailedRung(8, "OOMKilled"); got != (v1alpha1.Rung{GOGC: 8, Result: "OOMKilled"}) {
		t.Errorf("%+v", got)
	}
}

func TestMeasureRungCountsGCOfPodsThatCollectedOftenEnough(t *testing.T) {
	pod := func(cycles signal.Value, gc float64) signal.Pod {
		return signal.Pod{Requests: present(1000), CPUSeconds: present(2), GCCPUSeconds: present(gc), ResidentBytes: present(100 * mebibyte), GCCycles: cycles}
	}
	tests := map[string]struct {
		pods                          []signal.Pod
		result, share, each, requests string
	}{
		"all":         {[]signal.Pod{pod(present(5), 0.5), pod(present(9), 0.3)}, "Measured", "20%", "0.4ms", "500"},
		"one of two":  {[]signal.Pod{pod(present(5), 0.5), pod(present(4.9), 0.1)}, "Measured", "25%", "0.5ms", "500"},
		"none":        {[]signal.Pod{pod(present(4.9), 0.5), pod(present(0), 0)}, "TooFewGCCycles", "", "", "500"},
		"not counted": {[]signal.Pod{pod(signal.Value{}, 0.5)}, "Measured", "25%", "0.5ms", "500"},
	}
	for name, test := range tests {
		got := MeasureRung(100, signal.Window{Length: time.Minute}, test.pods, 0)
		want := v1alpha1.Rung{
			GOGC: 100, Result: test.result, GCCPU: test.share, GCCPUPerRequest: test.each, RequestsPerCPUSecond: test.requests,
			Memory: resource.NewQuantity(100*mebibyte, resource.BinarySI),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestQuantile(t *testing.T) {
	tests := map[string]struct {
		buckets []signal.Bucket
		q, want float64
	}{
		"in the first bucket":  {answered(100, 100, 100, 100), 0.5, 0.005},
		"at an edge":           {answered(50, 100, 100, 100), 0.5, 0.01},
		"in the second":        {answered(50, 100, 100, 100), 0.75, 0.0175},
		"after an empty one":   {answered(50, 50, 100, 100), 0.75, 0.0625},
		"beyond the last edge": {answered(50, 50, 98, 100), 0.99, 0.1},
		"the last edge itself": {answered(50, 50, 99, 100), 0.99, 0.1},
		"no request":           {answered(0, 0, 0, 0), 0.99, math.NaN()},
		"no histogram":         {nil, 0.99, math.NaN()},
	}
	for name, test := range tests {
		got := quantile(test.buckets, test.q)
		if math.IsNaN(got) != math.IsNaN(test.want) || math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestShareOver(t *testing.T) {
	tests := map[string]struct {
		buckets         []signal.Bucket
		threshold, want float64
	}{
		"an edge":         {answered(50, 75, 100, 100), 0.025, 0.25},
		"almost an edge":  {answered(50, 75, 100, 100), 0.025 * (1 + 1e-10), 0.25},
		"between edges":   {answered(50, 75, 100, 100), 0.03, math.NaN()},
		"counts that err": {answered(50, 101, 100, 100), 0.025, 0},
		"no threshold":    {answered(50, 75, 100, 100), 0, math.NaN()},
		"no request":      {answered(0, 0, 0, 0), 0.025, math.NaN()},
		"no histogram":    {nil, 0.025, math.NaN()},
	}
	for name, test := range tests {
		got := shareOver(test.buckets, test.threshold)
		if math.IsNaN(got) != math.IsNaN(test.want) || math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestPooled(t *testing.T) {
	of := func(buckets []signal.Bucket) signal.Pod {
		return signal.Pod{Latency: buckets, LatencyState: signal.Present}
	}
	other := answered(1, 2, 3, 4)
	other[1].UpperBoundSeconds = 0.05
	broken := signal.Pod{Latency: answered(9, 9, 9, 9), LatencyState: signal.Ambiguous}
	tests := map[string]struct {
		pods []signal.Pod
		want []signal.Bucket
	}{
		"sums":                    {[]signal.Pod{of(answered(1, 2, 3, 4)), broken, of(answered(10, 20, 30, 40))}, answered(11, 22, 33, 44)},
		"other edges":             {[]signal.Pod{of(answered(1, 2, 3, 4)), of(other)}, nil},
		"fewer edges":             {[]signal.Pod{of(answered(1, 2, 3, 4)), of(answered(1, 2, 3, 4)[1:])}, nil},
		"none":                    {[]signal.Pod{broken}, nil},
		"what is added is a copy": {[]signal.Pod{of(answered(1, 2, 3, 4))}, answered(1, 2, 3, 4)},
	}
	for name, test := range tests {
		if diff := cmp.Diff(test.want, pooled(test.pods)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	first := of(answered(1, 2, 3, 4))
	pooled([]signal.Pod{first, first})
	if diff := cmp.Diff(answered(1, 2, 3, 4), first.Latency); diff != "" {
		t.Errorf("the pod's own histogram changed: %s", diff)
	}
}

// FuzzRung: what is written of a rung is read back to four digits, and written again the same.
func FuzzRung(f *testing.F) {
	f.Add(812.5, 0.025, 2e8, 0.1234, 0.0012, 0.0)
	f.Add(math.NaN(), math.Inf(1), -1.0, math.NaN(), math.Inf(-1), 1e300)
	f.Add(1e-300, 1e18, 1e18, 1.0, 5e-324, 123456789.0)
	random := rand.New(rand.NewPCG(1, 2))
	wide := func() float64 { return math.Exp(40*random.Float64() - 20) }
	for range 200 {
		f.Add(wide(), wide(), 1e9*wide(), random.Float64(), wide(), random.Float64())
	}
	f.Fuzz(func(t *testing.T, perCPU, p99, memory, share, perRequest, slow float64) {
		want := figures{perCPU, p99, memory, share, perRequest, slow}
		rung := want.rung(100)
		got := readRung(rung)
		for _, pair := range [][2]float64{
			{want.requestsPerCPUSecond, got.requestsPerCPUSecond}, {1000 * want.p99Seconds, 1000 * got.p99Seconds}, {100 * want.gcShare, 100 * got.gcShare},
			{1000 * want.gcSecondsPerRequest, 1000 * got.gcSecondsPerRequest}, {100 * want.slowShare, 100 * got.slowShare},
		} {
			if written := known(pair[0]); written == math.IsNaN(pair[1]) || written && math.Abs(pair[0]-pair[1]) > 5.01e-4*pair[0]+1e-300 {
				t.Fatalf("%v was read as %v", pair[0], pair[1])
			}
		}
		for _, text := range []string{rung.RequestsPerCPUSecond, rung.P99, rung.GCCPU, rung.GCCPUPerRequest, rung.SlowRequests} {
			if len(text) > 31 {
				t.Fatalf("%q is too long for the CRD", text)
			}
		}
		if fits := known(memory) && memory < math.MaxInt64; fits != (rung.Memory != nil) || fits && math.Abs(got.memoryBytes-memory) > 1+1e-9*memory {
			t.Fatalf("%v bytes were read as %v", memory, got.memoryBytes)
		}
		if diff := cmp.Diff(rung, got.rung(100)); diff != "" && known(1000*p99) && p99 < 1e300 && perRequest < 1e300 {
			t.Fatalf("written again: %s", diff)
		}
	})
}

func TestReadRung(t *testing.T) {
	got := readRung(v1alpha1.Rung{RequestsPerCPUSecond: "5x", P99: "25", GCCPU: "-1%", GCCPUPerRequest: "ms", SlowRequests: "NaN%"})
	for name, n := range map[string]float64{
		"requests": got.requestsPerCPUSecond, "p99": got.p99Seconds, "GC": got.gcShare, "GC of a request": got.gcSecondsPerRequest, "slow": got.slowShare,
		"memory": got.memoryBytes,
	} {
		if !math.IsNaN(n) {
			t.Errorf("%s: %v", name, n)
		}
	}
}

func TestDescribedRung(t *testing.T) {
	rung := v1alpha1.Rung{GOGC: 150, RequestsPerCPUSecond: "800", P99: "21.25ms", GCCPUPerRequest: "0.25ms"}
	if got := describedRung(rung); got != "GOGC=150, 800 requests per CPU second, 0.25ms of GC CPU time per request, 21.25ms at the 99th percentile" {
		t.Errorf("%q", got)
	}
	if got := describedRung(v1alpha1.Rung{GOGC: 150}); got != "GOGC=150" {
		t.Errorf("%q", got)
	}
}
