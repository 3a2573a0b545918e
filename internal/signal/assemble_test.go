package signal

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/model"
)

const examplePod = "checkout-7d9c-abcde"

// series makes a sample of the example's pod at the example's end; labels come in pairs.
func series(value float64, pairs ...string) *model.Sample {
	metric := model.Metric{"pod": examplePod}
	for i := 0; i < len(pairs); i += 2 {
		metric[model.LabelName(pairs[i])] = model.LabelValue(pairs[i+1])
	}
	return &model.Sample{Metric: metric, Value: model.SampleValue(value), Timestamp: model.TimeFromUnix(exampleRequest().End.Unix())}
}

func assemble(t *testing.T, values map[QueryName]model.Vector) Window {
	t.Helper()
	var answers []Answer
	for name, value := range values {
		answer, err := ReadAnswer(exampleRequest(), Query{Name: name}, value)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer)
	}
	return Assemble(exampleRequest(), 15*time.Second, answers...)
}

func TestAssembleWhole(t *testing.T) {
	end := float64(exampleRequest().End.Unix())
	gauge := func(value float64, name string) *model.Sample {
		return series(value, "__name__", name, "namespace", "shop", "job", "pods")
	}
	got := assemble(t, map[QueryName]model.Vector{
		QueryGauges: {
			gauge(300e6, metricResident), gauge(64e6, metricLiveHeap), gauge(2e6, metricScanStack), gauge(1e6, metricScanGlobals),
			gauge(280e6, metricMemoryTotal), gauge(30e6, metricMemoryReleased), gauge(1.8446744073709552e19, metricGOGC),
			gauge(9.223372036854776e18, metricMemoryLimit), gauge(2, metricGOMAXPROCS), gauge(end-600, metricProcessStart),
			gauge(400, metricGCCycles),
		},
		QueryNewestSample: {series(end - 7.5)},
		QuerySampleCount:  {series(6)},
		QueryGCCPU:        {series(1.5)},
		QueryCPU:          {series(20)},
		QueryGCCycles:     {series(50)},
		QueryGCPause:      {series(0.01)},
		QueryRequests:     {series(900, "code", "200"), series(80, "code", "404"), series(15, "code", "500"), series(5, "code", "503")},
		QueryLatencyBuckets: {
			series(1000, "le", "+Inf"), series(990, "le", "0.25"), series(700, "le", "0.1"),
		},
	})
	present := func(number float64) Value { return Value{Number: number, State: Present} }
	want := Window{
		End: exampleRequest().End, Length: 90 * time.Second, ScrapeInterval: 15 * time.Second,
		Pods: map[string]Pod{examplePod: {
			Requests: present(1000), FailedRequests: present(20),
			Latency: []Bucket{{0.1, 700}, {0.25, 990}, {math.Inf(1), 1000}}, LatencyState: Present,
			GCCPUSeconds: present(1.5), CPUSeconds: present(20), GCCycles: present(50), GCCyclesTotal: present(400),
			GCPauseSeconds: present(0.0002), ResidentBytes: present(300e6), LiveHeapBytes: present(64e6),
			StackAndGlobalBytes: present(3e6), TotalMemoryBytes: present(250e6), GOGCPercent: present(1.8446744073709552e19),
			MemoryLimitBytes: present(9.223372036854776e18), GOMAXPROCS: present(2), ProcessStartSeconds: present(end - 600),
			SampleAge: 7500 * time.Millisecond, Coverage: 1, Sampled: true,
		}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("window (-want +got):\n%s", diff)
	}
}

func TestAssembleNothing(t *testing.T) {
	got := assemble(t, map[QueryName]model.Vector{QueryGauges: {}, QueryCPU: nil})
	if len(got.Pods) != 0 {
		t.Errorf("pods %v out of nothing", got.Pods)
	}
}

// TestAssembleLeavesOut holds that what is not the request's is nobody's.
func TestAssembleLeavesOut(t *testing.T) {
	other := series(1)
	other.Metric["pod"] = "payment-1"
	bare := series(1)
	bare.Metric["pod"] = "checkout-7d9c-"
	nameless := series(1)
	delete(nameless.Metric, "pod")
	got := assemble(t, map[QueryName]model.Vector{QueryCPU: {other, bare, nameless, series(1, "namespace", "bank")}})
	if len(got.Pods) != 0 {
		t.Errorf("pods %v, want none", got.Pods)
	}
}

func TestSingleValues(t *testing.T) {
	native := series(0)
	native.Histogram = &model.SampleHistogram{Count: 5}
	for name, tc := range map[string]struct {
		vector model.Vector
		want   Value
	}{
		"missing":        {nil, Value{}},
		"zero":           {model.Vector{series(0)}, Value{State: Present}},
		"number":         {model.Vector{series(3)}, Value{Number: 3, State: Present}},
		"NaN":            {model.Vector{series(math.NaN())}, Value{State: NotFinite}},
		"infinite":       {model.Vector{series(math.Inf(1))}, Value{State: NotFinite}},
		"minus infinite": {model.Vector{series(math.Inf(-1))}, Value{State: NotFinite}},
		"negative":       {model.Vector{series(-1)}, Value{State: NotFinite}},
		"rounded":        {model.Vector{series(-1e-16)}, Value{State: Present}},
		"histogram":      {model.Vector{native}, Value{State: NotFinite}},
		"two jobs":       {model.Vector{series(1, "job", "a"), series(1, "job", "b")}, Value{State: Ambiguous}},
		"twice the same": {model.Vector{series(1), series(1)}, Value{State: Ambiguous}},
	} {
		t.Run(name, func(t *testing.T) {
			got := assemble(t, map[QueryName]model.Vector{QueryCPU: tc.vector}).Pods[examplePod].CPUSeconds
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequests(t *testing.T) {
	present := func(number float64) Value { return Value{Number: number, State: Present} }
	for name, tc := range map[string]struct {
		vector           model.Vector
		requests, failed Value
	}{
		"no series":         {nil, Value{}, Value{}},
		"never failed":      {model.Vector{series(10, "code", "200")}, present(10), present(0)},
		"all failed":        {model.Vector{series(10, "code", "500")}, present(10), present(10)},
		"idle":              {model.Vector{series(0, "code", "200")}, present(0), present(0)},
		"classes":           {model.Vector{series(10, "code", "2xx"), series(1, "code", "5xx")}, present(11), present(1)},
		"label not there":   {model.Vector{series(10)}, present(10), Value{}},
		"no HTTP status":    {model.Vector{series(10, "code", "OK"), series(1, "code", "Unavailable")}, present(11), Value{}},
		"some without":      {model.Vector{series(10, "code", "200"), series(1)}, present(11), present(0)},
		"one not a number":  {model.Vector{series(10, "code", "200"), series(math.NaN(), "code", "500")}, Value{State: NotFinite}, Value{State: NotFinite}},
		"sum overflows":     {model.Vector{series(math.MaxFloat64, "code", "200"), series(math.MaxFloat64, "code", "500")}, Value{State: NotFinite}, Value{State: NotFinite}},
		"scraped by two":    {model.Vector{series(10, "code", "200", "job", "a"), series(10, "code", "200", "job", "b")}, Value{State: Ambiguous}, Value{State: Ambiguous}},
		"two ports":         {model.Vector{series(10, "code", "200", "instance", "a:1"), series(10, "code", "500", "instance", "a:2")}, Value{State: Ambiguous}, Value{State: Ambiguous}},
		"same status twice": {model.Vector{series(10, "code", "200"), series(10, "code", "200")}, Value{State: Ambiguous}, Value{State: Ambiguous}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := assemble(t, map[QueryName]model.Vector{QueryRequests: tc.vector}).Pods[examplePod]
			if diff := cmp.Diff([]Value{tc.requests, tc.failed}, []Value{pod.Requests, pod.FailedRequests}); diff != "" {
				t.Errorf("requests and failures (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHistogram(t *testing.T) {
	for name, tc := range map[string]struct {
		vector model.Vector
		want   []Bucket
		state  State
	}{
		"no series":       {nil, nil, Absent},
		"whole":           {model.Vector{series(2, "le", "+Inf"), series(1, "le", "0.5")}, []Bucket{{0.5, 1}, {math.Inf(1), 2}}, Present},
		"idle":            {model.Vector{series(0, "le", "+Inf"), series(0, "le", "0.5")}, []Bucket{{0.5, 0}, {math.Inf(1), 0}}, Present},
		"rounded fall":    {model.Vector{series(2, "le", "+Inf"), series(2+1e-12, "le", "1")}, []Bucket{{1, 2 + 1e-12}, {math.Inf(1), 2 + 1e-12}}, Present},
		"no last edge":    {model.Vector{series(1, "le", "0.5")}, nil, NotFinite},
		"counts fall":     {model.Vector{series(1, "le", "+Inf"), series(2, "le", "0.5")}, nil, Ambiguous},
		"an edge twice":   {model.Vector{series(2, "le", "+Inf"), series(1, "le", "1"), series(1, "le", "1.0")}, nil, Ambiguous},
		"scraped by two":  {model.Vector{series(2, "le", "+Inf", "job", "a"), series(2, "le", "+Inf", "job", "b")}, nil, Ambiguous},
		"NaN":             {model.Vector{series(math.NaN(), "le", "+Inf"), series(1, "le", "0.5")}, nil, NotFinite},
		"infinite":        {model.Vector{series(math.Inf(1), "le", "+Inf"), series(1, "le", "0.5")}, nil, NotFinite},
		"negative":        {model.Vector{series(1, "le", "+Inf"), series(-1, "le", "0.5")}, nil, NotFinite},
		"edge not number": {model.Vector{series(1, "le", "+Inf"), series(1, "le", "fast")}, nil, NotFinite},
		"edge NaN":        {model.Vector{series(1, "le", "+Inf"), series(1, "le", "NaN")}, nil, NotFinite},
		"no edge":         {model.Vector{series(1, "le", "+Inf"), series(1)}, nil, NotFinite},
	} {
		t.Run(name, func(t *testing.T) {
			pod := assemble(t, map[QueryName]model.Vector{QueryLatencyBuckets: tc.vector}).Pods[examplePod]
			if diff := cmp.Diff(tc.want, pod.Latency); diff != "" {
				t.Errorf("buckets (-want +got):\n%s", diff)
			}
			if pod.LatencyState != tc.state {
				t.Errorf("state %q, want %q", pod.LatencyState, tc.state)
			}
		})
	}
}

func TestPause(t *testing.T) {
	for name, tc := range map[string]struct {
		cycles, pause model.Vector
		want          Value
	}{
		"mean":              {model.Vector{series(4)}, model.Vector{series(2)}, Value{Number: 0.5, State: Present}},
		"no cycle":          {model.Vector{series(0)}, model.Vector{series(0)}, Value{}},
		"no cycles counter": {nil, model.Vector{series(1)}, Value{}},
		"cycles NaN":        {model.Vector{series(math.NaN())}, model.Vector{series(1)}, Value{State: NotFinite}},
		"pause twice":       {model.Vector{series(1)}, model.Vector{series(1), series(1)}, Value{State: Ambiguous}},
		"overflow":          {model.Vector{series(1e-300)}, model.Vector{series(1e300)}, Value{State: NotFinite}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := assemble(t, map[QueryName]model.Vector{QueryGCCycles: tc.cycles, QueryGCPause: tc.pause}).Pods[examplePod]
			if diff := cmp.Diff(tc.want, pod.GCPauseSeconds); diff != "" {
				t.Errorf("mean pause (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFreshness(t *testing.T) {
	end := float64(exampleRequest().End.Unix())
	type freshness struct {
		Sampled  bool
		Age      time.Duration
		Coverage float64
	}
	for name, tc := range map[string]struct {
		newest, counts model.Vector
		want           freshness
	}{
		"whole":             {model.Vector{series(end - 1)}, model.Vector{series(6)}, freshness{true, time.Second, 1}},
		"one more than due": {model.Vector{series(end)}, model.Vector{series(7)}, freshness{true, 0, 1}},
		"half":              {model.Vector{series(end)}, model.Vector{series(3)}, freshness{true, 0, 0.5}},
		"old":               {model.Vector{series(end - 90)}, model.Vector{series(1)}, freshness{true, 90 * time.Second, 1. / 6}},
		"older than window": {model.Vector{series(end - 91)}, model.Vector{series(1)}, freshness{}},
		"of the future":     {model.Vector{series(end + 2)}, model.Vector{series(6)}, freshness{}},
		"ended":             {nil, model.Vector{series(6)}, freshness{}},
		"none in window":    {model.Vector{series(end)}, nil, freshness{}},
		"count of zero":     {model.Vector{series(end)}, model.Vector{series(0)}, freshness{}},
		"no numbers":        {model.Vector{series(math.NaN())}, model.Vector{series(math.Inf(1))}, freshness{}},
		"labels have changed": {model.Vector{series(end, "cohort", "canary")}, model.Vector{series(2), series(4, "cohort", "canary")},
			freshness{true, 0, 4. / 6}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := assemble(t, map[QueryName]model.Vector{QueryNewestSample: tc.newest, QuerySampleCount: tc.counts}).Pods[examplePod]
			got := freshness{pod.Sampled, pod.SampleAge, pod.Coverage}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
				t.Errorf("freshness (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDoubt holds that no increase of a pod with two series in the window is used, while its gauges, of which one is current, are.
func TestDoubt(t *testing.T) {
	pod := assemble(t, map[QueryName]model.Vector{
		QuerySampleCount:    {series(2), series(4, "cohort", "canary")},
		QueryGauges:         {series(150, "__name__", metricGOGC)},
		QueryRequests:       {series(10, "code", "200")},
		QueryLatencyBuckets: {series(10, "le", "+Inf")},
		QueryCPU:            {series(10)},
	}).Pods[examplePod]
	ambiguous := Value{State: Ambiguous}
	want := Pod{
		Requests: ambiguous, FailedRequests: ambiguous, CPUSeconds: ambiguous, LatencyState: Ambiguous,
		GOGCPercent: Value{Number: 150, State: Present},
	}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
}

func TestReadAnswerMalformed(t *testing.T) {
	late := series(1)
	late.Timestamp = late.Timestamp.Add(-2 * time.Minute)
	timeless := series(1)
	timeless.Timestamp = 0
	for name, value := range map[string]model.Value{
		"nothing":      nil,
		"scalar":       &model.Scalar{Value: 1, Timestamp: series(1).Timestamp},
		"string":       &model.String{Value: "1", Timestamp: series(1).Timestamp},
		"matrix":       model.Matrix{},
		"null":         model.Vector{nil},
		"another time": model.Vector{late},
		"no time":      model.Vector{timeless},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadAnswer(exampleRequest(), Query{Name: QueryCPU}, value)
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("error %v, want %v", err, ErrMalformed)
			}
		})
	}
}
