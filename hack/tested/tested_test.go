package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// module is one to test: with -short all of it passes.
var module = map[string]string{
	"go.mod": "module example.com/module\n\ngo 1.25\n",
	"one_test.go": `package module

import "testing"

func TestGood(t *testing.T) {
	t.Run("part", func(t *testing.T) { t.Log("a part") })
	t.Run("skipped", func(t *testing.T) { t.Skip("not now") })
}

func TestBad(t *testing.T) {
	if !testing.Short() {
		t.Error("bad")
	}
}
`,
}

func enterModule(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range module {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
}

// linesOf are those of a verbose run, without what it took, and in no order: without -json a subtest's result comes with its parent's.
func linesOf(output string) []string {
	var lines []string
	for line := range strings.Lines(timing.ReplaceAllString(output, "s")) {
		lines = append(lines, strings.TrimSpace(line))
	}
	slices.Sort(lines)
	return lines
}

// timing is what differs from run to run.
var timing = regexp.MustCompile(`[0-9.]+s\b`)

func TestShowsWhatAVerboseRunShows(t *testing.T) {
	enterModule(t)
	verbose, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-short").Output()
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	status, err := tested(t.Context(), []string{"result.json", "-count=1", "-short"}, &shown)
	if err != nil || status != 0 {
		t.Fatalf("status %d, %v", status, err)
	}
	if diff := cmp.Diff(linesOf(string(verbose)), linesOf(shown.String())); diff != "" {
		t.Error(diff)
	}
}

func TestResultOfTwoRuns(t *testing.T) {
	enterModule(t)
	status, err := tested(t.Context(), strings.Fields("out/result.json -count=1 then -count=1 -short -run=Good"), io.Discard)
	if err != nil || status != 1 {
		t.Fatalf("status %d, %v; want 1, that of the run that failed", status, err)
	}
	text, err := os.ReadFile("out/result.json")
	if err != nil {
		t.Fatal(err)
	}
	var got result
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Passed || got.Commit != "" || got.Started.IsZero() || got.Go != runtime.Version() || got.Cores != runtime.NumCPU() || len(got.Runs) != 2 {
		t.Fatalf("the result is %s", text)
	}
	if got.Runs[0].Status != 1 || got.Runs[1].Status != 0 || !slices.Equal(got.Runs[1].Arguments, []string{"-count=1", "-short", "-run=Good"}) {
		t.Errorf("the runs are %s", text)
	}
	results := map[string]string{}
	for _, one := range got.Runs[0].Outcomes {
		results[one.Test] = one.Result
	}
	if diff := cmp.Diff(map[string]string{
		"": failed, "TestGood": passed, "TestGood/part": passed, "TestGood/skipped": skipped, "TestBad": failed,
	}, results); diff != "" {
		t.Error(diff)
	}
}

func TestCodeThatDoesNotBuildIsAFailure(t *testing.T) {
	enterModule(t)
	if err := os.WriteFile("two_test.go", []byte("package module\n\nvar x int = \"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	status, err := tested(t.Context(), []string{"result.json", "-count=1"}, &shown)
	if err != nil || status != 1 || !strings.Contains(shown.String(), "two_test.go:3") {
		t.Errorf("status %d, %v, shown %q; want 1 with the compiler's word", status, err, shown.String())
	}
}

func TestUsage(t *testing.T) {
	for _, arguments := range []string{"", "result.json", "result.json then", "result.json then ./a", "result.json ./a then"} {
		if _, err := tested(t.Context(), strings.Fields(arguments), io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v, want how it is used", arguments, err)
		}
	}
}
