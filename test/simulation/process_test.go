package simulation

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/gopacer/gopacer/internal/settings"
)

// workVariable makes this test binary do a fixed work, report what that took, and end.
const workVariable = "GOPACER_TEST_WORK"

const (
	liveNodes      = 1 << 17 // of 64 bytes each: 8 MiB
	nodeBytes      = 64
	workRequests   = 25_000
	requestObjects = 64
	requestBytes   = requestObjects * nodeBytes
)

func TestMain(m *testing.M) {
	if os.Getenv(workVariable) != "" {
		if err := json.NewEncoder(os.Stdout).Encode(work()); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// taken is what the work took. WallSeconds tell, beside CPUSeconds, how much of the processor the process had.
type taken struct {
	WallSeconds, Cycles, GCSeconds, CPUSeconds, LiveBytes, RootBytes, AllocatedBytes float64
}

type node struct {
	left, right *node
	payload     [6]uint64
}

// tree keeps the live heap.
var tree, passing *node

// work builds a live heap and then answers requests that allocate and compute, as fast as it can.
func work() taken {
	tree = grow(liveNodes)
	runtime.GC()
	runtime.GC()
	before, cpuBefore, began := readRuntime(), readCPU(), time.Now()
	sum := uint64(1)
	var ends cycleEnds
	for done := range workRequests {
		if done%50 == 0 {
			ends.see(float64(done))
		}
		for range requestObjects {
			n := &node{left: passing}
			n.payload[0] = sum
			for range 100 {
				sum = sum*6364136223846793005 + 1442695040888963407
			}
			passing = n
		}
		passing = nil
	}
	runtime.GC() // the counters of CPU time advance only at the end of a cycle; this one more is taken out again
	after, cycles := readRuntime(), ends.perRequest()*workRequests
	cpu, wall := readCPU()-cpuBefore, time.Since(began).Seconds()
	// The runtime takes the time of the clock for CPU time. On one processor that is shared out between collector and the rest alike.
	gcShare := (after.gcSeconds - before.gcSeconds) / wall
	if sum == 0 || tree == nil {
		os.Exit(1)
	}
	return taken{
		WallSeconds: wall, Cycles: cycles, GCSeconds: gcShare * cpu * cycles / (cycles + 1), CPUSeconds: cpu, LiveBytes: before.live, RootBytes: before.roots,
		AllocatedBytes: after.allocated - before.allocated,
	}
}

// cycleEnds are the requests at which cycles were seen to have ended: whole cycles tell better how often they come than a count of
// those that happened to end within the work.
type cycleEnds struct{ cycles, first, last, counted float64 }

func (e *cycleEnds) see(request float64) {
	now := readRuntime().cycles
	switch {
	case now == e.cycles:
		return
	case e.first == 0:
		e.first = request
	default:
		e.counted += now - e.cycles
	}
	e.cycles, e.last = now, request
}

func (e *cycleEnds) perRequest() float64 { return e.counted / (e.last - e.first) }

func grow(nodes int) *node {
	if nodes <= 0 {
		return nil
	}
	return &node{left: grow((nodes - 1) / 2), right: grow(nodes - 1 - (nodes-1)/2)}
}

// reading is what the runtime says of itself. Its CPU time advances at the end of a cycle; marking on idle processors is left out.
type reading struct{ cycles, gcSeconds, live, roots, allocated float64 }

func readRuntime() reading {
	samples := make([]metrics.Sample, len(readings))
	for i, name := range readings {
		samples[i].Name = name
	}
	metrics.Read(samples)
	at := func(i int) float64 {
		if samples[i].Value.Kind() == metrics.KindFloat64 {
			return samples[i].Value.Float64()
		}
		return float64(samples[i].Value.Uint64())
	}
	return reading{cycles: at(0), gcSeconds: at(1) - at(2), live: at(3), roots: at(4) + at(5), allocated: at(6)}
}

var readings = []string{
	"/gc/cycles/automatic:gc-cycles", "/cpu/classes/gc/total:cpu-seconds", "/cpu/classes/gc/mark/idle:cpu-seconds", "/gc/heap/live:bytes",
	"/gc/scan/stack:bytes", "/gc/scan/globals:bytes", "/gc/heap/allocs:bytes",
}

// readCPU is the CPU time of the process, which other processes of the machine do not change.
func readCPU() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return math.NaN()
	}
	return float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)/1e6
}

func runWork(t *testing.T, gogc int) taken {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatalf("find the test binary: %v", err)
	}
	command := exec.CommandContext(t.Context(), program)
	command.Env = []string{workVariable + "=1", "GOMAXPROCS=1", "GOGC=" + strconv.Itoa(gogc)}
	out, err := command.Output()
	if err != nil {
		t.Fatalf("run the work at GOGC=%d: %v", gogc, err)
	}
	var took taken
	if err := json.Unmarshal(out, &took); err != nil {
		t.Fatalf("read the report %q: %v", out, err)
	}
	return took
}

// calibrated is the service that the process is at GOGC=100, working as fast as one processor lets it.
func calibrated(at taken) (Service, float64) {
	requests := float64(workRequests)
	s := Service{
		LiveHeapBytes: at.LiveBytes, RootBytes: at.RootBytes, AllocatedPerRequestBytes: at.AllocatedBytes / requests,
		RequestCPUSeconds: (at.CPUSeconds - at.GCSeconds) / requests, Processors: 1, MedianSeconds: 0.001, Sigma: 1, RequestsPerSecond: 1,
	}
	s.MarkSecondsPerByte = at.GCSeconds / at.Cycles / (s.LiveHeapBytes + s.RootBytes)
	return s, requests
}

// fullTilt is how the service behaves at as many requests a second as its processor can answer.
func fullTilt(s Service, set settings.Settings) Behaviour {
	rate := 1 / s.RequestCPUSeconds
	var b Behaviour
	for range 30 {
		b = s.Under(set, rate)
		rate = math.Sqrt(rate / b.CPUSecondsPerRequest)
	}
	return b
}

func medianOf(values []float64) float64 {
	sorted := slices.SortedFunc(slices.Values(values), cmp.Compare[float64])
	return sorted[len(sorted)/2]
}

// undisturbed is the least share of a processor that the work must have had for its CPU time to be that of the runtime's clock.
const undisturbed = 0.7

// TestAgainstARealProcess: calibrated at GOGC=100, the model says within 15 % how often a real process collects at other values, and how
// much CPU time that takes. Each round runs all of them one after another; what is compared is the median of the rounds. On a machine that
// lets no process run undisturbed the CPU time can't be measured, and only the cycles are compared.
func TestAgainstARealProcess(t *testing.T) {
	const tolerance, leastRounds, mostRounds = 0.15, 3, 6
	rungs := []int{25, 50, 200}
	cycles, seconds := map[int][]float64{}, map[int][]float64{}
	for round := 1; round <= mostRounds; round++ {
		reference := runWork(t, 100)
		service, requests := calibrated(reference)
		for _, gogc := range rungs {
			took := runWork(t, gogc)
			b := fullTilt(service, settings.Settings{GOGC: settings.GOGC(gogc)})
			cycles[gogc] = append(cycles[gogc], b.CyclesPerSecond*b.CPUSecondsPerRequest*requests/took.Cycles)
			if min(took.CPUSeconds/took.WallSeconds, reference.CPUSeconds/reference.WallSeconds) >= undisturbed {
				seconds[gogc] = append(seconds[gogc], b.GCSecondsPerRequest*requests/took.GCSeconds)
			}
		}
		if round >= leastRounds && farthest(cycles) <= tolerance && farthest(seconds) <= tolerance {
			break
		}
	}
	for _, gogc := range rungs {
		t.Logf("GOGC=%d: predicted over measured: cycles %.2f, GC CPU time %.2f", gogc, cycles[gogc], seconds[gogc])
		if ratio := medianOf(cycles[gogc]); !(math.Abs(ratio-1) <= tolerance) {
			t.Errorf("GOGC=%d: %.2f times the cycles that were measured are predicted", gogc, ratio)
		}
		if len(seconds[gogc]) < leastRounds {
			t.Logf("GOGC=%d: this machine is too busy to measure CPU time", gogc)
		} else if ratio := medianOf(seconds[gogc]); !(math.Abs(ratio-1) <= tolerance) {
			t.Errorf("GOGC=%d: %.2f times the GC CPU time that was measured is predicted", gogc, ratio)
		}
	}
}

// farthest is by how much the worst of the medians misses 1.
func farthest(ratios map[int][]float64) float64 {
	worst := 0.0
	for _, of := range ratios {
		worst = math.Max(worst, math.Abs(medianOf(of)-1))
	}
	return worst
}
