package main

import (
	"strings"
	"testing"
	"time"
)

func lookupIn(environment map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, found := environment[name]
		return value, found
	}
}

func TestReadSettingsDefaults(t *testing.T) {
	read, err := readSettings(lookupIn(nil))
	if err != nil {
		t.Fatal(err)
	}
	if read.listen != ":8080" || read.liveHeapBytes != 40<<20 || read.drain != 2*time.Second {
		t.Errorf("defaults are %+v", read)
	}
	if read.overrideGOGC != nil || read.crashCondition != "" || read.leakBytesPerSecond != 0 || read.leakGoroutinesPerSecond != 0 || read.cacheEmpties {
		t.Errorf("a fault is on by default: %+v", read)
	}
	for range 1000 {
		if read.slow.take() || read.failing.take() {
			t.Fatal("a request is slow or fails by default")
		}
	}
}

func TestReadSettingsConditions(t *testing.T) {
	for _, test := range []struct {
		gogc, condition string
		want            bool
	}{
		{"200", "GOGC>100", true},
		{"50", "GOGC>100", false},
		{"50", "", true}, // without a condition a share always counts
	} {
		read, err := readSettings(lookupIn(map[string]string{
			"GOGC": test.gogc, "SLOW_SHARE": "1", "SLOW_WHEN": test.condition,
			"ERROR_SHARE": "1", "ERROR_WHEN": test.condition, "CRASH_WHEN": test.condition,
		}))
		if err != nil {
			t.Fatal(err)
		}
		if got := read.slow.take(); got != test.want {
			t.Errorf("GOGC=%s SLOW_WHEN=%s: slow is %v, want %v", test.gogc, test.condition, got, test.want)
		}
		if got := read.failing.take(); got != test.want {
			t.Errorf("GOGC=%s ERROR_WHEN=%s: failing is %v, want %v", test.gogc, test.condition, got, test.want)
		}
		wantCrash := test.want && test.condition != "" // without a condition nothing crashes
		if got := read.crashCondition != ""; got != wantCrash {
			t.Errorf("GOGC=%s CRASH_WHEN=%s: crash is %v, want %v", test.gogc, test.condition, got, wantCrash)
		}
	}
}

func TestReadSettingsOverride(t *testing.T) {
	for value, want := range map[string]int{"off": -1, "400": 400} {
		read, err := readSettings(lookupIn(map[string]string{"OVERRIDE_GOGC": value}))
		if err != nil || read.overrideGOGC == nil || *read.overrideGOGC != want {
			t.Errorf("OVERRIDE_GOGC=%s reads as %v, %v, want %d", value, read.overrideGOGC, err, want)
		}
	}
}

func TestReadSettingsMetrics(t *testing.T) {
	for variable, want := range map[string]metricsLevel{
		"": runtimeMetrics, "NO_RUNTIME_METRICS": defaultGoMetrics, "NO_GO_METRICS": noGoMetrics,
	} {
		read, err := readSettings(lookupIn(map[string]string{variable: "1"}))
		if err != nil || read.metrics != want {
			t.Errorf("with %s the level is %v, %v, want %v", variable, read.metrics, err, want)
		}
	}
}

func TestReadSettingsRefuses(t *testing.T) {
	for _, pair := range [][2]string{
		{"LISTEN", "8080"}, {"LIVE_HEAP_MB", "0"}, {"LIVE_HEAP_MB", "40MB"}, {"DOCUMENT_LINES", "-1"},
		{"DRAIN", "2"}, {"DRAIN", "-2s"}, {"LEAK_BYTES_PER_SECOND", "1MiB"}, {"OVERRIDE_GOGC", "0"},
		{"OVERRIDE_GOGC", "high"}, {"CRASH_WHEN", "GOGC > 100"}, {"SLOW_SHARE", "10%"}, {"SLOW_SHARE", "1.1"},
		{"SLOW_SHARE", "NaN"}, {"SLOW_BY", "300"}, {"SLOW_WHEN", "always"}, {"ERROR_SHARE", "-0.1"},
		{"ERROR_WHEN", "GOMEMLIMIT<64Mi"}, {"NO_RUNTIME_METRICS", "true"}, {"NO_GO_METRICS", "yes"},
		{"CACHE_UNTIL_COLLECTION", "2"},
	} {
		_, err := readSettings(lookupIn(map[string]string{pair[0]: pair[1]}))
		if err == nil {
			t.Errorf("%s=%s is accepted", pair[0], pair[1])
			continue
		}
		for _, part := range []string{pair[0], `"` + pair[1] + `"`, "write"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s=%s: the message %q lacks %s", pair[0], pair[1], err, part)
			}
		}
	}
}

func TestReadSettingsNamesEveryMistake(t *testing.T) {
	_, err := readSettings(lookupIn(map[string]string{"DRAIN": "x", "SLOW_BY": "y"}))
	if err == nil || !strings.Contains(err.Error(), "DRAIN") || !strings.Contains(err.Error(), "SLOW_BY") {
		t.Errorf("the message %v does not name both variables", err)
	}
}
