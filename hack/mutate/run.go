package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// waiting is how many times longer than its time to compute a run may last: other programs compute too, and who waits computes nothing.
	waiting = 6
	// mostUnchanged is what a test without a mutant may compute.
	mostUnchanged = time.Hour
	// quickTests is how long the tests that are run together take, where to start the binary takes less.
	quickTests = 100 * time.Millisecond
	// mostMemory of a run, in KiB: a loop that a mutant makes endless may append. It bounds what a process writes to, not what it maps.
	mostMemory = 4 << 20
)

// test is one test, with what it takes beside the start of its binary, and the mutants it reaches.
type test struct {
	*suite
	name    string
	started time.Duration
	took    time.Duration
	reaches map[string]bool
}

// batch are tests that are run by one process.
type batch struct {
	*suite
	names []string
	takes time.Duration
}

// outcome is what came of a mutant.
type outcome int

const (
	notReached outcome = iota
	survived
	killed
	timedOut
)

// traceAll runs each test on its own, without a mutant: it must pass, and says what it takes and reaches.
func traceAll(ctx context.Context, suites []*suite, folder string, workers int) ([]*test, error) {
	var tests []*test
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, each := range suites {
		names, err := each.names(ctx)
		if err != nil {
			return nil, err
		}
		started := time.Now()
		if _, err := each.names(ctx); err != nil {
			return nil, err
		}
		start := time.Since(started)
		for _, name := range names {
			one := &test{suite: each, name: name, started: start}
			file := filepath.Join(folder, fmt.Sprintf("%d.trace", len(tests)))
			tests = append(tests, one)
			group.Go(func() error { return one.trace(ctx, file) })
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(tests, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
	return tests, nil
}

func (t *test) trace(ctx context.Context, file string) error {
	began := time.Now()
	said, err := t.command(ctx, []string{t.name}, mostUnchanged, traceVariable+"="+file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s of %s fails without a mutant: %w\n%s", t.name, t.path, err, said)
	}
	t.took = max(0, time.Since(began)-t.started)
	reached, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read what %s reaches: %w", t.name, err)
	}
	t.reaches = map[string]bool{}
	for _, id := range strings.Fields(string(reached)) {
		t.reaches[id] = true
	}
	return nil
}

// command runs these tests of a suite. Who computes for longer than it may is killed by the system.
func (s *suite) command(ctx context.Context, names []string, allowed time.Duration, variable string) *exec.Cmd {
	limits := fmt.Sprintf(`ulimit -d %d && ulimit -t %.0f && exec "$@"`, mostMemory, math.Ceil(allowed.Seconds()))
	command := exec.CommandContext(ctx, "sh", "-c", limits, "sh", s.binary, "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	command.Dir, command.Env, command.WaitDelay = s.folder, append(os.Environ(), variable), time.Second
	return command
}

// batches are the tests that reach a mutant: the quickest first, as many by one process as are worth its start.
func batches(tests []*test, id string) []*batch {
	var all []*batch
	open := map[*suite]*batch{}
	for _, one := range tests {
		if !one.reaches[id] {
			continue
		}
		last := open[one.suite]
		if last == nil || last.takes+one.took > max(quickTests, 2*one.started) {
			last = &batch{suite: one.suite, takes: one.started}
			all, open[one.suite] = append(all, last), last
		}
		last.names, last.takes = append(last.names, one.name), last.takes+one.took
	}
	return all
}

// runAll runs the tests against every mutant.
func runAll(ctx context.Context, mutants []*mutant, tests []*test, asked options) (map[int]outcome, error) {
	type done struct {
		id int
		outcome
	}
	finished := make(chan done)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(asked.workers + 1)
	outcomes := map[int]outcome{}
	group.Go(func() error {
		shown := newProgress(len(mutants), time.Now())
		for range mutants {
			select {
			case one := <-finished:
				outcomes[one.id] = one.outcome
				shown.add(one.outcome, time.Now())
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for _, each := range mutants {
		group.Go(func() error {
			result, err := run(ctx, each, tests, asked)
			if err != nil {
				return err
			}
			select {
			case finished <- done{each.id, result}:
			case <-ctx.Done():
			}
			return ctx.Err()
		})
	}
	return outcomes, group.Wait()
}

// run runs the tests that reach a mutant until one fails.
func run(ctx context.Context, one *mutant, tests []*test, asked options) (outcome, error) {
	id := strconv.Itoa(one.id)
	result := notReached
	for _, each := range batches(tests, id) {
		allowed := max(asked.patience, time.Duration(asked.factor*float64(each.takes)))
		limited, cancel := context.WithTimeout(ctx, waiting*allowed)
		err := each.command(limited, each.names, allowed, mutantVariable+"="+id).Run()
		cancel()
		var failure *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return result, ctx.Err()
		case errors.As(err, &failure):
			return failed(failure), nil
		case err != nil:
			return result, fmt.Errorf("run the tests of %s: %w", each.path, err)
		}
		result = survived
	}
	return result, nil
}

// failed tells a run that was too long, which is killed by the system or by this program, from one with a test that fails.
func failed(failure *exec.ExitError) outcome {
	if status, ok := failure.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
		return timedOut
	}
	return killed
}
