package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// result is what the file holds.
type result struct {
	// Passed says that every run did.
	Passed bool `json:"passed"`
	// Commit that was tested; empty where git can't tell. Changed says that the working tree differed from it.
	Commit  string    `json:"commit"`
	Changed bool      `json:"changed"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	Go      string    `json:"go"`
	System  string    `json:"system"`
	Cores   int       `json:"cores"`
	Runs    []run     `json:"runs"`
}

// run is one `go test`.
type run struct {
	// Arguments of `go test`, beside -json.
	Arguments []string `json:"arguments"`
	// Status that it exited with.
	Status   int       `json:"status"`
	Seconds  float64   `json:"seconds"`
	Outcomes []outcome `json:"outcomes"`
}

// outcome is what came of a package, a test or a subtest.
type outcome struct {
	Package string `json:"package"`
	// Test is empty where the outcome is the package's; a subtest has its parents' names before its own.
	Test string `json:"test,omitempty"`
	// Result is pass, fail, skip or unfinished.
	Result  string  `json:"result"`
	Seconds float64 `json:"seconds"`
}

// describe says what is about to be tested, and on what.
func describe(ctx context.Context) result {
	made := result{
		Started: time.Now().UTC().Truncate(time.Second), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(),
	}
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return made // a copy without git is tested as well
	}
	made.Commit = strings.TrimSpace(string(head))
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain").Output()
	made.Changed = err != nil || len(changes) > 0
	return made
}

// finish sums up.
func (r *result) finish(now time.Time) {
	r.Seconds = rounded(now.Sub(r.Started))
	r.Passed = len(r.Runs) > 0
	for _, one := range r.Runs {
		r.Passed = r.Passed && one.Status == 0
	}
}

// save writes the file, and its folder where that is missing.
func (r *result) save(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("create a folder for the result: %w", err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}
