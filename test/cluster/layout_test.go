package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDirectory(t *testing.T) {
	for name, test := range map[string]struct {
		value     string
		want      string
		wantError string
	}{
		"unset":                {value: "", want: defaultDirectory},
		"set":                  {value: "/var/tmp/c", want: "/var/tmp/c"},
		"not clean":            {value: "/var/tmp/../tmp/c/", want: "/var/tmp/c"},
		"too long":             {value: "/var/tmp/" + strings.Repeat("c", 40), wantError: "too long"},
		"the root":             {value: "/", wantError: "of its own"},
		"a folder of the root": {value: "/home", wantError: "of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(directoryVariable, test.value)
			got, err := Directory()
			if test.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantError) || !strings.Contains(err.Error(), directoryVariable) {
					t.Errorf("Directory() = %v, want %q and the variable to set", err, test.wantError)
				}
				return
			}
			if err != nil || got != test.want {
				t.Errorf("Directory() = %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestOnlyAFolderOfAClusterIsUsed(t *testing.T) {
	l := layout{root: filepath.Join(t.TempDir(), "cluster")}
	if err := l.checkOwn(); err != nil {
		t.Errorf("checkOwn() of a folder that is not there = %v", err)
	}
	if err := os.Mkdir(l.root, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := l.checkOwn(); err != nil {
		t.Errorf("checkOwn() of an empty folder = %v", err)
	}
	treasure := l.Path("treasure")
	if err := os.WriteFile(treasure, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.checkOwn(); err == nil {
		t.Error("checkOwn() lets a folder with somebody's files pass")
	}
	if err := l.remove(t.Context(), &ownership{}); err == nil {
		t.Error("remove() of a folder with somebody's files has no error")
	}
	if _, err := os.Stat(treasure); err != nil {
		t.Errorf("somebody's file is gone: %v", err)
	}
	if err := l.createFolders(); err != nil {
		t.Fatal(err)
	}
	if err := l.checkOwn(); err != nil {
		t.Errorf("checkOwn() of a cluster's folder = %v", err)
	}
}

func TestOptions(t *testing.T) {
	t.Setenv(scrapeIntervalVariable, "")
	if options, err := (Options{}).withDefaults(); err != nil || options.ScrapeInterval.String() != "1s" || options.Output == nil {
		t.Errorf("withDefaults() = %v, %v, want one second", options, err)
	}
	t.Setenv(scrapeIntervalVariable, "250ms")
	if options, err := (Options{}).withDefaults(); err != nil || options.ScrapeInterval.String() != "250ms" {
		t.Errorf("withDefaults() = %v, %v, want that of the environment", options, err)
	}
	for _, wrong := range []string{"soon", "-1s", "0s"} {
		t.Setenv(scrapeIntervalVariable, wrong)
		if _, err := (Options{}).withDefaults(); err == nil {
			t.Errorf("withDefaults() with %s=%s has no error", scrapeIntervalVariable, wrong)
		}
	}
}

func TestAnotherClusterIsNotTouched(t *testing.T) {
	owner := &ownership{directory: "/var/lib/one"}
	if err := owner.check("/var/lib/one"); err != nil {
		t.Errorf("check() of the owner = %v", err)
	}
	if err := owner.check("/var/lib/two"); err == nil || !strings.Contains(err.Error(), "GOPACER_CLUSTER_DIR=/var/lib/one") {
		t.Errorf("check() of another = %v, want an error that says how to reach the owner", err)
	}
}

func TestFailureShowsTheEndOfTheLog(t *testing.T) {
	l := testFacts(t).layout
	if text := l.lastLines(Kubelet); !strings.Contains(text, l.log(Kubelet)) {
		t.Errorf("lastLines() of no log = %q, want its path", text)
	}
	lines := strings.Repeat("early\n", 100) + strings.Repeat("late\n", shownLogLines)
	if err := os.WriteFile(l.log(Kubelet), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	text := l.lastLines(Kubelet)
	if strings.Contains(text, "early") || strings.Count(text, "late") != shownLogLines || !strings.Contains(text, l.log(Kubelet)) {
		t.Errorf("lastLines() = %q, want the last %d lines and the path", text, shownLogLines)
	}
}
