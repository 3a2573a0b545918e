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
	workRequests   = 200 // for each percent of GOGC, so that each value has as many cycles
	requestObjects = 64
	requestBytes   = requestObjects * nodeBytes
)

func TestMain(m *testing.M) {
	if os.Getenv(workVariable) != "" {
		requests, err := strconv.Atoi(os.Getenv(workVariable))
		if err != nil {
			os.Exit(1)
		}
		if err := json.NewEncoder(os.Stdout).Encode(work(requests)); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// taken is what a request of the work took. WallSeconds tell, beside CPUSeconds, how much of the processor the process had.
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
func work(requests int) taken {
	tree = grow(liveNodes)
	runtime.GC()
	runtime.GC()
	before, cpuBefore, began := readRuntime(), readCPU(), time.Now()
	sum := uint64(1)
	var ends cycleEnds
	for done := range requests {
		if done%50 == 0 {
			ends.see(float64(done))
		}
		for range requestObjects {
			n := &node{left: passing}
			n.payload[0] = sum
			for range 150 {
				sum = sum*6364136223846793005 + 1442695040888963407
			}
			passing = n
		}
		passing = nil
	}
	runtime.GC() // the counters of CPU time advance only at the end of a cycle; this one more is taken out again
	after, cycles := readRuntime(), ends.perRequest()*float64(requests)
	cpu, wall := readCPU()-cpuBefore, time.Since(began).Seconds()
	// The runtime takes the time of the clock for CPU time. On one processor that is shared out between collector and the rest alike.
	gcShare := (after.gcSeconds - before.gcSeconds) / wall
	if sum == 0 || tree == nil {
		os.Exit(1)
	}
	each := 1 / float64(requests)
	return taken{
		WallSeconds: wall * each, Cycles: cycles * each, GCSeconds: gcShare * cpu * each * cycles / (cycles + 1), CPUSeconds: cpu * each,
		LiveBytes: before.live, RootBytes: before.roots, AllocatedBytes: (after.allocated - before.allocated) * each,
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
	command.Env = []string{workVariable + "=" + strconv.Itoa(workRequests*gogc), "GOMAXPROCS=1", "GOGC=" + strconv.Itoa(gogc)}
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

// calibrated is the service that the process is at GOGC=100, working as fast as one processor lets it. Its rate of allocation is the one at which
// the model has as many cycles there as the process: on one processor a background worker is only lent its time, and comes late to cycles as
// short as these, so that more is allocated in each of them than the pacer plans.
func calibrated(at taken) Service {
	s := Service{
		LiveHeapBytes: at.LiveBytes, RootBytes: at.RootBytes, AllocatedPerRequestBytes: at.AllocatedBytes,
		RequestCPUSeconds: at.CPUSeconds - at.GCSeconds, Processors: 1, MedianSeconds: 0.001, Sigma: 1, RequestsPerSecond: 1,
	}
	s.MarkSecondsPerByte = at.GCSeconds / at.Cycles / (s.LiveHeapBytes + s.RootBytes)
	b := fullTilt(s, settings.Settings{GOGC: 100})
	s.AllocatedPerRequestBytes *= at.Cycles / (b.CyclesPerSecond * b.CPUSecondsPerRequest)
	return s
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

// undisturbed is the least share of a processor that the work must have had for the runtime's clock to tell how its CPU time is divided.
const undisturbed = 0.9

// middle is the median of several runs, in each respect.
func middle(runs []taken) taken {
	of := func(read func(taken) float64) float64 {
		values := make([]float64, 0, len(runs))
		for _, run := range runs {
			values = append(values, read(run))
		}
		return medianOf(values)
	}
	return taken{
		WallSeconds: of(func(t taken) float64 { return t.WallSeconds }), Cycles: of(func(t taken) float64 { return t.Cycles }),
		GCSeconds: of(func(t taken) float64 { return t.GCSeconds }), CPUSeconds: of(func(t taken) float64 { return t.CPUSeconds }),
		LiveBytes: of(func(t taken) float64 { return t.LiveBytes }), RootBytes: of(func(t taken) float64 { return t.RootBytes }),
		AllocatedBytes: of(func(t taken) float64 { return t.AllocatedBytes }),
	}
}

// predictions are the model's cycles and GC CPU time over what was measured, by GOGC. The two that are fitted, the rate of allocation and the cost
// of marking, are so to all values of GOGC together: a run that was disturbed at the one that the service is taken from would else count
// against all the others. How the figures change from one GOGC to the next is left to the model.
func predictions(runs map[int][]taken) (cycles, seconds map[int]float64) {
	service := calibrated(middle(runs[100]))
	cycles, seconds = map[int]float64{}, map[int]float64{}
	for gogc := range runs {
		took, b := middle(runs[gogc]), fullTilt(service, settings.Settings{GOGC: settings.GOGC(gogc)})
		cycles[gogc] = b.CyclesPerSecond * b.CPUSecondsPerRequest / took.Cycles
		seconds[gogc] = b.GCSecondsPerRequest / took.GCSeconds
	}
	return fitted(cycles), fitted(seconds)
}

// fitted takes out the factor that all ratios have in common: their geometric mean.
func fitted(ratios map[int]float64) map[int]float64 {
	sum := 0.0
	for _, ratio := range ratios {
		sum += math.Log(ratio)
	}
	common := math.Exp(sum / float64(len(ratios)))
	for gogc := range ratios {
		ratios[gogc] /= common
	}
	return ratios
}

// TestAgainstARealProcess: over an eightfold range of GOGC the model says within 15 % how often a real process collects, and how much CPU
// time that takes. Each round runs all of them one after another; what is compared is the median of the rounds. On a machine that
// gives a process less than nine tenths of a processor the CPU time can't be measured, and only the cycles are compared.
func TestAgainstARealProcess(t *testing.T) {
	const tolerance, leastRounds, mostRounds, mostTime = 0.15, 3, 20, 30 * time.Second
	began, runs := time.Now(), map[int][]taken{}
	var cycles, seconds map[int]float64
	had := 0.0
	for round := 1; round <= mostRounds; round++ {
		for _, gogc := range []int{25, 50, 100, 200} {
			runs[gogc] = append(runs[gogc], runWork(t, gogc))
		}
		cycles, seconds = predictions(runs)
		had = middle(runs[100]).CPUSeconds / middle(runs[100]).WallSeconds
		near := farthest(cycles) <= tolerance && (farthest(seconds) <= tolerance || had < undisturbed)
		if round >= leastRounds && near || round > 1 && time.Since(began) > mostTime {
			break
		}
	}
	t.Logf("%d rounds, with %.2f of a processor; predicted over measured: cycles %v, GC CPU time %v", len(runs[100]), had, cycles, seconds)
	if farthest(cycles) > tolerance {
		t.Errorf("predicted over measured cycles by GOGC: %v", cycles)
	}
	if farthest(seconds) > tolerance && had >= undisturbed {
		t.Errorf("predicted over measured GC CPU time by GOGC: %v", seconds)
	}
}

// farthest is by how much the worst ratio misses 1.
func farthest(ratios map[int]float64) float64 {
	worst := 0.0
	for _, ratio := range ratios {
		worst = math.Max(worst, math.Abs(ratio-1))
	}
	return worst
}
