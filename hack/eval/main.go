// Eval holds the product's verdicts and proposals against simulated fleets whose truth is known, and writes what came of it with the seeds
// that it came from. It needs no cluster. `make eval` runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	path := flag.String("out", "out/eval/result.json", "file for the result")
	seed := flag.Uint64("seed", 1, "first seed")
	scale := flag.Float64("scale", 1, "part of the runs to do: 0.1 for a quick look, whose shares are rough")
	flag.Parse()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		os.Exit(130)
	}()
	passed, err := evaluate(context.Background(), *path, *seed, *scale)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case !passed:
		os.Exit(1)
	}
}

// evaluate makes all figures, and says whether each keeps its bound.
func evaluate(ctx context.Context, path string, seed uint64, scale float64) (bool, error) {
	r := newResult(ctx, seed, scale)
	e := &evaluation{seed: seed, scale: scale, progress: func(name string, total int) *progress { return newProgress(os.Stderr, name, total) }}
	r.Passed = true
	for _, figures := range []func() []figure{e.falseAlarms, e.power, e.outliers, e.feedback, e.day, e.unlikePods} {
		for _, f := range figures() {
			r.Figures = append(r.Figures, f)
			r.Passed = r.Passed && f.Passed
		}
	}
	r.DurationSeconds = time.Since(r.StartedAt).Seconds()
	if err := r.write(path); err != nil {
		return false, err
	}
	printTable(os.Stdout, r)
	fmt.Printf("\n%s in %.0f s\n", path, r.DurationSeconds)
	return r.Passed, nil
}
