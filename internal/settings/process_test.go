package settings

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// reportVariable makes this test binary report what the runtime made of its environment, and end.
const reportVariable = "GOPACER_TEST_REPORT_RUNTIME"

func TestMain(m *testing.M) {
	if os.Getenv(reportVariable) != "" {
		report := runtimeReport{GCPercent: debug.SetGCPercent(-1), MemoryLimit: debug.SetMemoryLimit(-1), Processors: runtime.GOMAXPROCS(0)}
		if os.Getenv(reportVariable) == reportHugePages {
			runtime.GC() // says so where GODEBUG has gctrace=1
			report.SmallPages = heapHasSmallPages()
		}
		if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// reportHugePages as the value of reportVariable asks for what GODEBUG does, too.
const reportHugePages = "huge pages"

type runtimeReport struct {
	GCPercent   int
	MemoryLimit int64
	Processors  int
	SmallPages  bool
}

// heapHasSmallPages says that the kernel was told not to back the heap by huge pages, as disablethp=1 has it: the flag nh of the mapping
// (proc_pid_smaps(5)).
func heapHasSmallPages() bool {
	anchor := new(runtimeReport) // there before the mappings are read, which may add some
	heap := uint64(reflect.ValueOf(anchor).Pointer())
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return false
	}
	inHeap := false
	for line := range strings.Lines(string(smaps)) {
		var from, to uint64
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			inHeap = from <= heap && heap < to
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inHeap {
			return slices.Contains(strings.Fields(flags), "nh")
		}
	}
	return false
}

// startProcess starts a Go process with exactly the given entries and returns what its runtime goes by, or how it died.
func startProcess(t *testing.T, entries []Entry) (runtimeReport, error) {
	t.Helper()
	report, _, err := start(t, "1", entries)
	return report, err
}

// start gives what the process wrote to its standard error as well.
func start(t *testing.T, reported string, entries []Entry) (runtimeReport, string, error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatalf("find the test binary: %v", err)
	}
	command := exec.CommandContext(t.Context(), program)
	command.Env = []string{reportVariable + "=" + reported}
	for _, entry := range entries {
		command.Env = append(command.Env, entry.Name+"="+entry.Value)
	}
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return runtimeReport{}, "", fmt.Errorf("%w: %s", err, stderr.String())
	}
	var report runtimeReport
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("read the report %q: %v", out, err)
	}
	return report, stderr.String(), nil
}

// ownProcessors is the number of processors that a runtime finds by itself here.
func ownProcessors(t *testing.T) int {
	t.Helper()
	report, err := startProcess(t, nil)
	if err != nil {
		t.Fatalf("start a process without settings: %v", err)
	}
	return report.Processors
}

// wantReport is what a runtime with these settings must report, on a machine with so many processors.
func (s Settings) wantReport(processors int) runtimeReport {
	report := runtimeReport{GCPercent: int(s.EffectiveGOGC()), MemoryLimit: s.MemoryLimitBytes, Processors: processors}
	if s.GOMAXPROCS != 0 {
		report.Processors = int(s.GOMAXPROCS)
	}
	if s.MemoryLimitBytes == 0 {
		report.MemoryLimit = math.MaxInt64
	}
	return report
}

func TestRuntimeTakesWhatIsRendered(t *testing.T) {
	own := ownProcessors(t)
	for _, s := range []Settings{
		{},
		{GOGC: 1},
		{GOGC: 25},
		{GOGC: 100},
		{GOGC: Off},
		{GOGC: math.MaxInt32},
		{MemoryLimitBytes: 1},
		{MemoryLimitBytes: 512 << 20},
		{MemoryLimitBytes: math.MaxInt64 - 1},
		{GOGC: 250, MemoryLimitBytes: 483183820},
		{GOGC: Off, MemoryLimitBytes: 1 << 40},
		{GOMAXPROCS: 1},
		{GOMAXPROCS: 7},
		{GOGC: 50, MemoryLimitBytes: 1 << 40, GOMAXPROCS: 200, GODEBUG: "asyncpreemptoff=1,disablethp=1,madvdontneed=0"},
	} {
		t.Run(s.Canonical(), func(t *testing.T) {
			t.Parallel()
			got, err := startProcess(t, s.Entries())
			if err != nil {
				t.Fatalf("the process did not start: %v", err)
			}
			if want := s.wantReport(own); got != want {
				t.Errorf("the runtime goes by %+v, want %+v", got, want)
			}
		})
	}
}

// TestRuntimeReadsAsParsed starts a process with every kind of value that a template may declare. Where the parser accepts, the runtime must read
// the same; where it says that the runtime stops, or reads 100, the runtime must do that.
func TestRuntimeReadsAsParsed(t *testing.T) {
	var declared []Entry
	for _, value := range slices.Concat(gogcValues, []string{"", "off"}) {
		declared = append(declared, Entry{EnvGOGC, value})
	}
	for _, value := range slices.Concat(memoryLimitValues, []string{"", "off"}) {
		declared = append(declared, Entry{EnvGOMEMLIMIT, value})
	}
	for _, value := range slices.Concat(processorValues, []string{"", "off"}) {
		declared = append(declared, Entry{EnvGOMAXPROCS, value})
	}
	own := ownProcessors(t)
	for _, entry := range declared {
		t.Run(entry.Name+"="+entry.Value, func(t *testing.T) {
			t.Parallel()
			checkAgainstRuntime(t, entry, own)
		})
	}
}

func checkAgainstRuntime(t *testing.T, entry Entry, own int) {
	t.Helper()
	var s Settings
	parseErr := s.set(entry.Name, entry.Value)
	got, startErr := startProcess(t, []Entry{entry})
	saysStops := parseErr != nil && strings.Contains(parseErr.Error(), "stops at start")
	if saysStops != (startErr != nil) {
		t.Fatalf("the parser says %v, the process %v", parseErr, startErr)
	}
	switch {
	case parseErr == nil:
		if want := s.wantReport(own); got != want {
			t.Errorf("the runtime reads %+v, the parser %+v", got, want)
		}
	case strings.Contains(parseErr.Error(), "reads this as 100"):
		if got.GCPercent != 100 {
			t.Errorf("the runtime reads %d, the parser says 100", got.GCPercent)
		}
	case strings.Contains(parseErr.Error(), "the runtime ignores this"):
		if got.Processors != own {
			t.Errorf("the runtime runs on %d processors, by itself on %d", got.Processors, own)
		}
	case strings.Contains(parseErr.Error(), "never rest"):
		if got.GCPercent != 0 && got.MemoryLimit != 0 {
			t.Errorf("the runtime reads %+v, the parser says 0", got)
		}
	case !saysStops:
		t.Errorf("an error that promises nothing of the runtime: %v", parseErr)
	}
}

// TestRuntimeRefusesKubernetesQuantity is why GOMEMLIMIT is written as plain bytes.
func TestRuntimeRefusesKubernetesQuantity(t *testing.T) {
	_, err := startProcess(t, []Entry{{EnvGOMEMLIMIT, "512Mi"}})
	if err == nil || !strings.Contains(err.Error(), "malformed GOMEMLIMIT") {
		t.Errorf("got %v, want the runtime to stop with: malformed GOMEMLIMIT", err)
	}
}

// TestRuntimeTakesMergedGODEBUG: the managed key reaches the runtime through the merge, and so does the foreign one beside it.
func TestRuntimeTakesMergedGODEBUG(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skipf("the kernel has no huge pages to turn off: %v", err)
	}
	for _, test := range []struct {
		text, wanted      string
		smallPages, trace bool
	}{
		{"", "", false, false},
		{"", "disablethp=1", true, false},
		{"gctrace=1", "disablethp=1", true, true},
		{"gctrace=1,disablethp=1,disablethp=0", "disablethp=1", true, true},
		{"disablethp=1,gctrace=1", "", false, true},
		{"disablethp=1,gctrace=1,x", "disablethp=0", false, true},
	} {
		t.Run(test.text+" with "+test.wanted, func(t *testing.T) {
			t.Parallel()
			got, trace, err := start(t, reportHugePages, []Entry{{EnvGODEBUG, MergeGODEBUG(test.text, test.wanted)}})
			if err != nil {
				t.Fatalf("the process did not start: %v", err)
			}
			if got.SmallPages != test.smallPages || strings.Contains(trace, "gc 1 ") != test.trace {
				t.Errorf("small pages %t and trace %q, want %t and a trace: %t", got.SmallPages, trace, test.smallPages, test.trace)
			}
		})
	}
}

// TestRuntimeReadsGODEBUGAsParsed: where the parser accepts, the runtime reads the same of disablethp.
func TestRuntimeReadsGODEBUGAsParsed(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skipf("the kernel has no huge pages to turn off: %v", err)
	}
	for _, test := range godebugValues {
		if test.err != nil {
			continue
		}
		t.Run(test.text, func(t *testing.T) {
			t.Parallel()
			got, _, err := start(t, reportHugePages, []Entry{{EnvGODEBUG, test.text}})
			if err != nil {
				t.Fatalf("the process did not start: %v", err)
			}
			if want := strings.Contains(test.want, "disablethp=1"); got.SmallPages != want {
				t.Errorf("small pages %t, but read as %q", got.SmallPages, test.want)
			}
		})
	}
}
