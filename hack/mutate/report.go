package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// result is what came of a package.
type result struct {
	// Commit that was tested; empty where git can't tell. Changed says that the working tree differed from it.
	Commit  string    `json:"commit"`
	Changed bool      `json:"changed"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	Package string    `json:"package"`
	// Mutants that compile: each is killed by a test that fails, has timed out, which is noticed too, or survived.
	Mutants   int         `json:"mutants"`
	Killed    int         `json:"killed"`
	TimedOut  int         `json:"timedOut"`
	Percent   float64     `json:"percent"`
	Survivors []*survivor `json:"survivors"`
	// NotCompiled are no part of the mutants.
	NotCompiled []*mutant `json:"notCompiled"`
}

// survivor is a mutant that no test noticed. Where none reached it, none could.
type survivor struct {
	*mutant
	Reached bool `json:"reached"`
}

// describe says what is about to be tested.
func describe(ctx context.Context, now time.Time) *result {
	made := &result{Started: now.UTC().Truncate(time.Second), Survivors: []*survivor{}, NotCompiled: []*mutant{}}
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return made // a copy without git is tested as well
	}
	made.Commit = strings.TrimSpace(string(head))
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain").Output()
	made.Changed = err != nil || len(changes) > 0
	return made
}

// fill sums up a trial.
func (r *result) fill(tried *trial, now time.Time) {
	r.Package = tried.room.path
	r.Seconds = math.Round(now.Sub(r.Started).Seconds())
	for _, one := range tried.room.mutants {
		if one.broken {
			r.NotCompiled = append(r.NotCompiled, one)
			continue
		}
		r.Mutants++
		switch came := tried.outcomes[one.id]; came {
		case killed:
			r.Killed++
		case timedOut:
			r.TimedOut++
		default:
			r.Survivors = append(r.Survivors, &survivor{mutant: one, Reached: came == survived})
		}
	}
	slices.SortStableFunc(r.Survivors, func(a, b *survivor) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if r.Mutants > 0 {
		r.Percent = math.Round(1000*float64(r.Killed+r.TimedOut)/float64(r.Mutants)) / 10
	}
}

// print writes the survivors and the share of the others.
func (r *result) print(out io.Writer) {
	for _, one := range r.Survivors {
		note := ""
		if !one.Reached {
			note = " (not reached)"
		}
		after := one.After
		if after == "" {
			after = "nothing"
		}
		fmt.Fprintf(out, "%s:%d:%d %s: %s -> %s%s\n", one.File, one.Line, one.Column, one.Kind, one.Before, after, note)
	}
	fmt.Fprintf(out, "%s: %.1f %% of %d mutants noticed in %.0f s: %d killed, %d timed out, %d survived; %d more do not compile\n",
		r.Package, r.Percent, r.Mutants, r.Seconds, r.Killed, r.TimedOut, len(r.Survivors), len(r.NotCompiled))
}

// save writes the result as JSON, under the package's name.
func (r *result) save(folder string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("create a folder for the result: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, path.Base(r.Package)+".json"), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// progress tells now and then how far the run is.
type progress struct {
	all, done, noticed int
	began, told        time.Time
}

// tellEvery is how often.
const tellEvery = 10 * time.Second

func newProgress(all int, now time.Time) *progress { return &progress{all: all, began: now, told: now} }

func (p *progress) add(came outcome, now time.Time) {
	p.done++
	if came == killed || came == timedOut {
		p.noticed++
	}
	if now.Sub(p.told) < tellEvery {
		return
	}
	p.told = now
	left := now.Sub(p.began) / time.Duration(p.done) * time.Duration(p.all-p.done)
	fmt.Printf("%d of %d tried, %d noticed, %s left\n", p.done, p.all, p.noticed, left.Round(time.Second))
}
