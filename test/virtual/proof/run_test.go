package proof

import (
	"flag"
	"testing"
	"time"
)

var oneSeed = flag.Uint64("seed", 0, "replay one seed and tell its story")

// TestSeed replays one seed: go test ./test/virtual/proof -run TestSeed -v -seed 17
func TestSeed(t *testing.T) {
	if *oneSeed == 0 {
		t.Skip("no seed")
	}
	begin := time.Now()
	outcome := Run(Options{Seed: *oneSeed, Told: t.Logf})
	t.Logf("%d passes, %d calls, lasted %s, took %s, ended %v", outcome.Passes, outcome.Calls, outcome.Lasted, time.Since(begin), outcome.Endings)
	for _, found := range outcome.Violations {
		t.Errorf("%s at %s: %s", found.Invariant, found.At, found.Message)
	}
}

// TestPlain: a trial in which nothing goes wrong is promoted.
func TestPlain(t *testing.T) {
	begin := time.Now()
	outcome := Run(Options{Seed: 1, Strike: &Strike{}, Told: func(format string, args ...any) {
		if testing.Verbose() {
			t.Logf(format, args...)
		}
	}})
	t.Logf("%d passes, %d calls, lasted %s, took %s", outcome.Passes, outcome.Calls, outcome.Lasted, time.Since(begin))
	for _, found := range outcome.Violations {
		t.Errorf("%s at %s: %s", found.Invariant, found.At, found.Message)
	}
	if outcome.Endings["Promoted Promoted"] != 1 {
		t.Errorf("it ended with %v", outcome.Endings)
	}
}

var (
	share = flag.Int("runs", 40, "how many seeds to play")
	first = flag.Uint64("first", 1, "the first of them")
)

// document has the table of transitions.
const document = "../../../docs/trial.md"

// TestShare plays a share of what make simulate plays. No invariant is violated, and the table in the documentation lists every transition.
func TestShare(t *testing.T) {
	total := NewTotal()
	RunMany(Seeds(*first, *share), func(outcome Outcome) bool {
		total.Add(outcome)
		return false
	})
	for invariant, found := range total.Violations {
		for _, one := range found[:min(4, len(found))] {
			t.Errorf("%s (in %d runs), seed %d at %s: %s", invariant, len(found), one.Seed, one.At, one.Message)
		}
	}
	if total.Handovers == 0 {
		t.Error("no pod was handed over")
	}
	table, err := ReadTable(document)
	if err != nil {
		t.Fatal(err)
	}
	if _, unlisted := Compare(table, total.Transitions); len(unlisted) > 0 {
		t.Errorf("%s does not list %v", document, unlisted)
	}
	t.Logf("%d passes, %d calls; %v; %v", total.Passes, total.Calls, total.Endings, total.Faults)
}

// TestDeterministic: a seed does the same each time.
func TestDeterministic(t *testing.T) {
	for seed := range uint64(6) {
		once, again := Run(Options{Seed: seed}), Run(Options{Seed: seed})
		if once.Trace != again.Trace || once.Calls != again.Calls {
			t.Errorf("seed %d: %d calls with trace %s, and then %d with %s", seed, once.Calls, once.Trace, again.Calls, again.Trace)
		}
	}
}
