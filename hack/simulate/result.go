package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/gopacer/test/virtual/proof"
)

// result is what is written of a simulation.
type result struct {
	GoVersion       string  `json:"goVersion"`
	Processors      int     `json:"processors"`
	DurationSeconds float64 `json:"durationSeconds"`
	FirstSeed       uint64  `json:"firstSeed"`
	// Runs of all kinds. In Struck of them one fault struck one call, at so many of StruckPlaces.
	Runs         int            `json:"runs"`
	Struck       int            `json:"struck"`
	StruckPlaces int            `json:"struckPlaces"`
	Passes       int            `json:"passes"`
	Calls        int            `json:"calls"`
	Handovers    int            `json:"handovers"`
	Faults       map[string]int `json:"faults"`
	Endings      map[string]int `json:"endings"`
	// Violations by invariant; none is what is wanted.
	Violations  map[string][]violation `json:"violations"`
	Transitions []transition           `json:"transitions"`
	// NotTaken are in the table and were not seen; Unlisted were seen and are not in it.
	NotTaken []string `json:"notTaken"`
	Unlisted []string `json:"unlisted"`
	Passed   bool     `json:"passed"`
}

type violation struct {
	Seed    uint64 `json:"seed"`
	At      string `json:"at"`
	Message string `json:"message"`
}

type transition struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
	Taken  int    `json:"taken"`
}

// invariants that are checked, in the order of the design; End is that a calm world comes to rest with every pod as the status says.
var invariants = []string{"I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "End"}

func newResult(total *proof.Total, table []proof.Row, first uint64, struck, places int, took time.Duration) result {
	r := result{
		GoVersion: runtime.Version(), Processors: runtime.GOMAXPROCS(0), DurationSeconds: took.Seconds(), FirstSeed: first, Runs: total.Runs,
		Struck: struck, StruckPlaces: places, Passes: total.Passes, Calls: total.Calls, Handovers: total.Handovers, Faults: total.Faults, Endings: total.Endings,
		Violations: map[string][]violation{}, NotTaken: []string{}, Unlisted: []string{},
	}
	for name, found := range total.Violations {
		for _, one := range found {
			r.Violations[name] = append(r.Violations[name], violation{one.Seed, one.At.String(), one.Message})
		}
	}
	for _, one := range table {
		r.Transitions = append(r.Transitions, transition{strings.Join(one.From, ", "), one.To, one.Reason, one.Taken(total.Transitions)})
	}
	missing, unlisted := proof.Compare(table, total.Transitions)
	for _, one := range missing {
		r.NotTaken = append(r.NotTaken, one.String())
	}
	for _, one := range unlisted {
		r.Unlisted = append(r.Unlisted, one.String())
	}
	r.Passed = len(r.Violations) == 0 && len(r.Unlisted) == 0 && (len(r.NotTaken) == 0 || r.Runs < fullRuns)
	return r
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

// shownSeeds of each invariant that is violated.
const shownSeeds = 5

func (r result) print(out io.Writer) {
	fmt.Fprintf(out, "%d runs, %d of them with one fault at one call, of %d that there are: %d looks, %d calls to the API server, %d hand-overs of pods and back\n\n",
		r.Runs, r.Struck, r.StruckPlaces, r.Passes, r.Calls, r.Handovers)
	fmt.Fprintln(out, "Injected")
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(out, "  %-36s %8d\n", name, r.Faults[name])
	}
	fmt.Fprintln(out, "\nTrials ended")
	for _, name := range slices.Sorted(maps.Keys(r.Endings)) {
		fmt.Fprintf(out, "  %-44s %8d\n", name, r.Endings[name])
	}
	fmt.Fprintln(out, "\nTransitions")
	for _, one := range r.Transitions {
		fmt.Fprintf(out, "  %-40s → %-9s %-28s %8d\n", one.From, one.To, one.Reason, one.Taken)
	}
	for _, one := range r.NotTaken {
		fmt.Fprintf(out, "  NOT TAKEN   %s\n", one)
	}
	for _, one := range r.Unlisted {
		fmt.Fprintf(out, "  NOT LISTED  %s\n", one)
	}
	fmt.Fprintln(out, "\nViolations")
	for _, name := range invariants {
		found := r.Violations[name]
		fmt.Fprintf(out, "  %-4s %d\n", name, len(found))
		for _, one := range found[:min(shownSeeds, len(found))] {
			fmt.Fprintf(out, "       seed %d at %s: %s\n", one.Seed, one.At, one.Message)
		}
	}
}
