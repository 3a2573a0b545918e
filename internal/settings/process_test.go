package settings

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// reportVariable makes this test binary report what the runtime made of its environment, and end.
const reportVariable = "GOPACER_TEST_REPORT_RUNTIME"

func TestMain(m *testing.M) {
	if os.Getenv(reportVariable) != "" {
		report := runtimeReport{GCPercent: debug.SetGCPercent(-1), MemoryLimit: debug.SetMemoryLimit(-1)}
		if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type runtimeReport struct {
	GCPercent   int
	MemoryLimit int64
}

// startProcess starts a Go process with exactly the given entries and returns what its runtime goes by, or how it died.
func startProcess(t *testing.T, entries []Entry) (runtimeReport, error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatalf("find the test binary: %v", err)
	}
	command := exec.CommandContext(t.Context(), program)
	command.Env = []string{reportVariable + "=1"}
	for _, entry := range entries {
		command.Env = append(command.Env, entry.Name+"="+entry.Value)
	}
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return runtimeReport{}, fmt.Errorf("%w: %s", err, stderr.String())
	}
	var report runtimeReport
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("read the report %q: %v", out, err)
	}
	return report, nil
}

// want is what a runtime with these settings must report.
func (s Settings) wantReport() runtimeReport {
	report := runtimeReport{GCPercent: int(s.EffectiveGOGC()), MemoryLimit: s.MemoryLimitBytes}
	if s.MemoryLimitBytes == 0 {
		report.MemoryLimit = math.MaxInt64
	}
	return report
}

func TestRuntimeTakesWhatIsRendered(t *testing.T) {
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
	} {
		t.Run(s.Canonical(), func(t *testing.T) {
			t.Parallel()
			got, err := startProcess(t, s.Entries())
			if err != nil {
				t.Fatalf("the process did not start: %v", err)
			}
			if want := s.wantReport(); got != want {
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
	for _, entry := range declared {
		t.Run(entry.Name+"="+entry.Value, func(t *testing.T) {
			t.Parallel()
			checkAgainstRuntime(t, entry)
		})
	}
}

func checkAgainstRuntime(t *testing.T, entry Entry) {
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
		if want := s.wantReport(); got != want {
			t.Errorf("the runtime reads %+v, the parser %+v", got, want)
		}
	case strings.Contains(parseErr.Error(), "reads this as 100"):
		if got.GCPercent != 100 {
			t.Errorf("the runtime reads %d, the parser says 100", got.GCPercent)
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
