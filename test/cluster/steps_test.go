package cluster

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gopacer/gopacer/test/cluster/programs"
)

func TestStepsRunAfterWhatTheyNeed(t *testing.T) {
	var mutex sync.Mutex
	var order []string
	note := func(name string) func(context.Context) error {
		return func(context.Context) error {
			mutex.Lock()
			defer mutex.Unlock()
			order = append(order, name)
			return nil
		}
	}
	var output bytes.Buffer
	err := runSteps(t.Context(), &output, time.Now(), []step{
		{name: "roof", after: []string{"walls", "wood"}, run: note("roof")},
		{name: "walls", after: []string{"ground"}, run: note("walls")},
		{name: "ground", run: note("ground")},
		{name: "wood", run: note("wood")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Index(order, "ground") > slices.Index(order, "walls") || order[3] != "roof" {
		t.Errorf("the steps ran in the order %q", order)
	}
	if strings.Count(output.String(), "\n") != 4 {
		t.Errorf("output = %q, want a line for each step", output.String())
	}
}

func TestAFailedStepStopsTheOthers(t *testing.T) {
	broken := errors.New("broken")
	err := runSteps(t.Context(), &bytes.Buffer{}, time.Now(), []step{
		{name: "a", run: func(context.Context) error { return broken }},
		{name: "b", after: []string{"a"}, run: func(context.Context) error { t.Error("b ran"); return nil }},
		{name: "c", run: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
	})
	if !errors.Is(err, broken) {
		t.Errorf("runSteps() = %v, want the first failure", err)
	}
}

func TestEveryStepWaitsForStepsThatExist(t *testing.T) {
	steps, err := layout{root: "/folder"}.steps(record{Programs: programs.Paths{}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range steps {
		names = append(names, s.name)
	}
	for _, s := range steps {
		for _, name := range s.after {
			if !slices.Contains(names, name) {
				t.Errorf("%s waits for %q, which is no step", s.name, name)
			}
		}
	}
}

func TestAwaitTellsWhatWasAmiss(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	amiss := errors.New("no answer")
	err := await(ctx, "the moon", func(context.Context) error { return amiss })
	if !errors.Is(err, amiss) || !strings.Contains(err.Error(), "the moon") {
		t.Errorf("await() = %v, want what was waited for and what was amiss", err)
	}
	final := finalError{errors.New("it ended")}
	if err := await(t.Context(), "the sun", func(context.Context) error { return final }); !errors.Is(err, final) {
		t.Errorf("await() = %v, want it to end at once", err)
	}
}
