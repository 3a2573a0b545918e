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

// result is what an evaluation writes.
type result struct {
	Commit          string    `json:"commit"`
	GoVersion       string    `json:"goVersion"`
	Processors      int       `json:"processors"`
	Seed            uint64    `json:"seed"`
	Scale           float64   `json:"scale"`
	StartedAt       time.Time `json:"startedAt"`
	DurationSeconds float64   `json:"durationSeconds"`
	Passed          bool      `json:"passed"`
	Figures         []figure  `json:"figures"`
}

// figure is one number that has a bound, with what it was made of.
type figure struct {
	Name  string  `json:"name"`
	What  string  `json:"what"`
	Value float64 `json:"value"`
	// Interval of 95 %, where the figure is a share.
	Interval *[2]float64 `json:"interval,omitempty"`
	N        int         `json:"n"`
	// AtMost or AtLeast is the bound; a figure without one is there to be read beside another.
	AtMost  *float64 `json:"atMost,omitempty"`
	AtLeast *float64 `json:"atLeast,omitempty"`
	Passed  bool     `json:"passed"`
	Seeds   seeds    `json:"seeds"`
	Groups  []group  `json:"groups,omitempty"`
}

// seeds are those of the figure's simulations: so many, from the first on.
type seeds struct {
	First uint64 `json:"first"`
	Count int    `json:"count"`
}

// group is the part of a figure that has one layout, and whatever else is the same.
type group struct {
	Layout string `json:"layout,omitempty"`
	// Steps of the trials.
	Steps     []string `json:"steps,omitempty"`
	PodSpread *float64 `json:"podSpread,omitempty"`
	Case      string   `json:"case,omitempty"`
	Share     float64  `json:"share"`
	// Interval of 95 %.
	Interval [2]float64 `json:"interval"`
	N        int        `json:"n"`
	// NotStarted is how many more were refused for too few pods.
	NotStarted int            `json:"notStarted"`
	Reasons    map[string]int `json:"reasons,omitempty"`
}

func atMost(bound float64) *float64  { return &bound }
func atLeast(bound float64) *float64 { return &bound }

// judged says whether the figure keeps its bound. What is not a number keeps none.
func (f figure) judged() figure {
	f.Passed = (f.AtMost == nil || f.Value <= *f.AtMost) && (f.AtLeast == nil || f.Value >= *f.AtLeast)
	return f
}

// write puts the result where it was asked for.
func (r result) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the result as JSON: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of the result: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// commit that is evaluated, with a mark where files differ from it.
func commit(ctx context.Context) string {
	git := func(arguments ...string) string {
		out, err := exec.CommandContext(ctx, "git", arguments...).Output()
		if err != nil {
			return "unknown"
		}
		return strings.TrimSpace(string(out))
	}
	head := git("rev-parse", "HEAD")
	if changed := git("status", "--porcelain", "--untracked-files=no"); changed != "" && head != "unknown" {
		head += " with changes"
	}
	return head
}

func newResult(ctx context.Context, seed uint64, scale float64) result {
	return result{Commit: commit(ctx), GoVersion: runtime.Version(), Processors: runtime.GOMAXPROCS(0), Seed: seed, Scale: scale, StartedAt: time.Now().UTC()}
}
