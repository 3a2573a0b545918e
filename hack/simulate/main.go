// Simulate plays thousands of trials in a virtual cluster in which everything goes wrong, with the real reconciler and the real admission handler,
// and holds what they do against the invariants of the design. `make simulate` runs it; docs/trial.md says what it shows.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/gopacer/gopacer/test/virtual/proof"
)

func main() {
	runs := flag.Int("runs", 2000, "how many seeds to play")
	first := flag.Uint64("first", 1, "the first of them")
	seed := flag.Uint64("seed", 0, "replay this one seed, and tell its story")
	path := flag.String("out", "out/simulate/result.json", "file for the result")
	table := flag.String("table", "docs/trial.md", "document that lists the transitions")
	flag.Parse()
	debug.SetGCPercent(400) // a run leaves nothing behind
	passed := false
	var err error
	if *seed != 0 {
		passed = replay(*seed)
	} else {
		passed, err = simulate(*first, *runs, *path, *table)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case !passed:
		os.Exit(1)
	}
}

// replay tells what one seed does.
func replay(seed uint64) bool {
	outcome := proof.Run(proof.Options{Seed: seed, Told: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }})
	fmt.Printf("\nseed %d: %d passes, %d calls, %s of virtual time, trace %s\n", seed, outcome.Passes, outcome.Calls, outcome.Lasted, outcome.Trace)
	for _, found := range outcome.Violations {
		fmt.Printf("VIOLATED %s at %s: %s\n", found.Invariant, found.At, found.Message)
	}
	return len(outcome.Violations) == 0
}

// simulate plays two thirds of the runs by seed, with everything at random; in the others one fault strikes one call of a plain trial.
func simulate(first uint64, runs int, path, document string) (bool, error) {
	table, err := proof.ReadTable(document)
	if err != nil {
		return false, err
	}
	began := time.Now()
	total := proof.NewTotal()
	places := proof.Systematic()
	struck := thinned(places, runs/3, int(first))
	all := proof.Seeds(first, runs-len(struck))
	progress := newProgress(os.Stderr, len(all)+len(struck))
	for _, part := range [][]proof.Options{all, struck} {
		proof.RunMany(part, func(outcome proof.Outcome) bool {
			total.Add(outcome)
			progress.add()
			return false
		})
	}
	r := newResult(total, table, first, len(struck), len(places), time.Since(began))
	if err := r.write(path); err != nil {
		return false, err
	}
	r.print(os.Stdout)
	fmt.Printf("\n%s in %.0f s\n", path, r.DurationSeconds)
	return r.Passed, nil
}

// fullRuns is from how many runs on every transition of the table must be taken.
const fullRuns = 2000

// thinned takes so many of the runs with one fault each, spread over all of them, others for another first seed.
func thinned(all []proof.Options, count, first int) []proof.Options {
	if count >= len(all) {
		return all
	}
	some := make([]proof.Options, 0, count)
	for i := range count {
		some = append(some, all[(i*len(all)/count+first)%len(all)])
	}
	return some
}
