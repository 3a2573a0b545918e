package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// event is a line of `go test -json`; see `go doc cmd/test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

// What test2json says of a test that runs, and of one that has ended.
const (
	actionRun   = "run"
	actionStart = "start"
	passed      = "pass"
	failed      = "fail"
	skipped     = "skip"
	// unfinished is of a test that never came to its end: the process died.
	unfinished = "unfinished"
)

// read follows a run until its end, and writes to out what a verbose run writes. A line that is no event is one too: `go test` mixes in what
// the compiler says.
func (r *run) read(lines *bufio.Reader, out io.Writer) error {
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			text := string(line)
			var one event
			if json.Unmarshal(line, &one) == nil && one.Action != "" {
				text = one.Output
				r.note(one)
			}
			if _, err := io.WriteString(out, text); err != nil {
				return fmt.Errorf("show what it says: %w", err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what it says: %w", err)
		}
	}
}

// note keeps what an event says of a test, or of a package.
func (r *run) note(one event) {
	switch one.Action {
	case actionRun, actionStart:
		r.outcomeOf(one).Result = unfinished
	case passed, failed, skipped:
		noted := r.outcomeOf(one)
		noted.Result, noted.Seconds = one.Action, one.Elapsed
	}
}

// outcomeOf finds the test, or the package, that an event speaks of, in the order in which they began.
func (r *run) outcomeOf(one event) *outcome {
	for i := range r.Outcomes {
		if found := &r.Outcomes[i]; found.Package == one.Package && found.Test == one.Test {
			return found
		}
	}
	r.Outcomes = append(r.Outcomes, outcome{Package: one.Package, Test: one.Test})
	return &r.Outcomes[len(r.Outcomes)-1]
}

// rounded is in seconds, to a tenth.
func rounded(length time.Duration) float64 { return length.Round(100 * time.Millisecond).Seconds() }
