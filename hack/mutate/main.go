// Mutate changes a package in one place at a time and sees whether the tests notice.
//
//	go run ./hack/mutate [-min 80] [-workers 2] [-timeout 10] [-out FOLDER] [-tests PACKAGE,...] PACKAGE...
//
// All changes, the mutants, are compiled into one test binary, each behind an `if` that a number in the environment opens (mutant schemata:
// Untch, Offutt, Harrold, 1993). So a mutant costs a run of those tests that reach it, and no compilation. The files of the repository are
// left alone: the changed ones are an overlay of the build. FOLDER gets one result for each package. It exits with 1 where the tests noticed
// less than -min percent of a package's mutants.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// options are what the command line says.
type options struct {
	least   float64
	workers int
	// A run of tests may compute for factor times what it takes without a mutant, or for patience where that is longer.
	factor   float64
	patience time.Duration
	out      string
	tests    []string
}

func main() {
	asked := options{patience: 5 * time.Second}
	flag.Float64Var(&asked.least, "min", 0, "percent of the mutants that must be noticed")
	flag.IntVar(&asked.workers, "workers", runtime.GOMAXPROCS(0), "test runs at the same time")
	flag.Float64Var(&asked.factor, "timeout", 10, "a run of tests may compute so many times as long as without a mutant, or 5 s")
	flag.StringVar(&asked.out, "out", "", "folder for the results as JSON")
	tests := flag.String("tests", "", "further packages whose tests are run, divided by commas")
	flag.Parse()
	if *tests != "" {
		asked.tests = strings.Split(*tests, ",")
	}
	if flag.NArg() == 0 || asked.workers < 1 || asked.factor < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var failed error
	for _, name := range flag.Args() {
		failed = errors.Join(failed, mutate(ctx, name, asked))
	}
	stop()
	if failed != nil {
		fmt.Fprintln(os.Stderr, failed)
		os.Exit(1)
	}
}

// mutate tries all mutants of one package and tells what came of them.
func mutate(ctx context.Context, name string, asked options) error {
	if ctx.Err() != nil {
		return nil // interrupted, as an earlier package has said
	}
	made := describe(ctx, time.Now())
	tried, err := try(ctx, name, asked)
	if err != nil {
		return fmt.Errorf("mutate %s: %w", name, err)
	}
	made.fill(tried, time.Now())
	made.print(os.Stdout)
	if asked.out != "" {
		if err := made.save(asked.out); err != nil {
			return err
		}
	}
	if made.Percent < asked.least {
		return fmt.Errorf("mutate %s: the tests noticed %.1f %% of the mutants, less than %g %%", name, made.Percent, asked.least)
	}
	return nil
}

// trial is a package with its mutants and what came of each.
type trial struct {
	room     *room
	outcomes map[int]outcome
}

// try compiles the mutants and runs the tests against each.
func try(ctx context.Context, name string, asked options) (*trial, error) {
	subject, err := load(ctx, name)
	if err != nil {
		return nil, err
	}
	subject.find()
	if err := subject.dropBroken(); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return nil, fmt.Errorf("create a folder for the mutants: %w", err)
	}
	defer os.RemoveAll(folder)
	suites, err := build(ctx, subject, folder, asked.tests)
	if err != nil {
		return nil, err
	}
	fmt.Printf("%s: %d mutants, %d test binaries\n", subject.path, len(subject.usable()), len(suites))
	tests, err := traceAll(ctx, suites, folder, asked.workers)
	if err != nil {
		return nil, err
	}
	outcomes, err := runAll(ctx, subject.usable(), tests, asked)
	return &trial{room: subject, outcomes: outcomes}, err
}
