package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestKinds compiles all mutants of a package at once, switches on each, and compares what the package's functions return then.
func TestKinds(t *testing.T) {
	subject, err := load(t.Context(), "./testdata/kinds")
	if err != nil {
		t.Fatal(err)
	}
	subject.find()
	if err := subject.dropBroken(); err != nil {
		t.Fatal(err)
	}
	suites, err := build(t.Context(), subject, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	unchanged := show(t, suites[0], 0)
	var got []string
	for _, one := range subject.mutants {
		differs := "does not compile"
		if !one.broken {
			differs = strings.Join(slices.DeleteFunc(show(t, suites[0], one.id), func(line string) bool { return slices.Contains(unchanged, line) }), ", ")
		}
		got = append(got, fmt.Sprintf("%s: %s -> %s: %s", one.Kind, one.Before, one.After, differs))
	}
	want := []string{
		"arithmetic: a * 2 -> a / 2: double 1",
		"constant: 2 -> 3: double 9",
		"constant: 2 -> 0: double 0",
		"comparison: a < b -> a <= b: less true true false",
		"comparison: a < b -> a >= b: less true false true",
		"comparison: a == b -> a != b: equal false true",
		"arithmetic: a + b -> a - b: sum 1",
		"arithmetic: a % b -> a * b: left 28",
		"logic: a && b -> a || b: both true true",
		"logic: a+b < c || c > 5 -> a+b < c && c > 5: nested false false false false",
		"comparison: a+b < c -> a+b <= c: nested true true true false",
		"comparison: a+b < c -> a+b >= c: nested true false true true",
		"arithmetic: a+b -> a - b: nested true true true true",
		"comparison: c > 5 -> c >= 5: nested false true true true",
		"comparison: c > 5 -> c <= 5: nested true true false true",
		"constant: 5 -> 6: nested false true false false",
		"constant: 5 -> 0: nested true true true true",
		"negation: !a -> a: not true",
		"negation: -a -> a: minus 3",
		"arithmetic: n++ -> n--: count 5",
		"arithmetic: n += 5 -> n -= 5: count -3",
		"constant: 5 -> 6: count 8",
		"constant: 5 -> 0: count 2",
		"constant: 2 * time.Second -> 3 * time.Second: wait 3s",
		"constant: 2 * time.Second -> 0 * time.Second: wait 0s",
		"comparison: n > 0.5 -> n >= 0.5: half true true",
		"comparison: n > 0.5 -> n <= 0.5: half true false",
		"constant: 0.5 -> (0.5+1): half false false",
		"constant: 0.5 -> 0: half true true",
		"constant: true -> false: yes false",
		"condition: n < limit -> true: sign low low low",
		"condition: n < limit -> false: sign high limit high",
		"comparison: n < limit -> n <= limit: sign low low high",
		"comparison: n < limit -> n >= limit: sign high low low",
		"condition: n == 0 -> true: sign low limit limit",
		"condition: n == 0 -> false: sign low high high",
		"arithmetic: n - limit -> n + limit: sign low high high",
		"comparison: n == 0 -> n != 0: sign low high limit",
		"constant: 0 -> 1: sign low high limit",
		"constant: 3 -> 4: word other three",
		"constant: 3 -> 0: word other other",
		"statement: b.n = n -> : set 0 1",
		"statement: b.clear(n) -> : set 7 8",
		"statement: b.n = 0 -> : set 7 8",
		"condition: n > 7 -> true: set 7 8",
		"condition: n > 7 -> false: set 0 0",
		"comparison: n > 7 -> n >= 7: set 7 8",
		"comparison: n > 7 -> n <= 7: set 7 0",
		"constant: 7 -> 8: set 0 0",
		"constant: 7 -> 0: set 7 8",
		"statement: return -> : set 0 0",
		"constant: 0 -> 1: set 1 8",
		"arithmetic: sum += n -> sum -= n: firsts -3",
		"condition: n == 3 -> true: firsts 0",
		"condition: n == 3 -> false: firsts 10",
		"comparison: n == 3 -> n != 3: firsts 0",
		"constant: 3 -> 4: firsts 6",
		"constant: 3 -> 0: firsts 10",
		"jump: break -> continue: firsts 7",
		"constant: 0 -> 1: turns 1",
		"condition: i < n -> false: turns 0",
		"comparison: i < n -> i <= n: turns 3",
		"comparison: i < n -> i >= n: turns 0",
		"arithmetic: turns++ -> turns--: turns -2",
		`arithmetic: len(made) + len([]string{1: "a"}) -> len(made) - len([]string{1: "a"}): list 0`,
		"constant: 0 -> 1: search 1 1",
		"jump: continue -> break: does not compile",
		"condition: list[i] == 3 -> true: search 0 0",
		"condition: list[i] == 3 -> false: endless",
		"comparison: list[i] == 3 -> list[i] != 3: panics",
		"constant: 3 -> 4: panics",
		"constant: 3 -> 0: panics",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// show runs the one test of a suite and returns what it prints; a run that ends early says so.
func show(t *testing.T, one *suite, id int) []string {
	t.Helper()
	said, err := one.command(t.Context(), []string{"TestShow"}, time.Second, fmt.Sprintf("%s=%d", mutantVariable, id)).Output()
	var failure *exec.ExitError
	switch {
	case errors.As(err, &failure) && failed(failure) == timedOut:
		return []string{"endless"}
	case errors.As(err, &failure):
		return []string{"panics"}
	case err != nil:
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(said)), "\n")
}

// TestTrial is one whole trial of a package whose tests, and those of another that uses it, let some mutants live.
func TestTrial(t *testing.T) {
	tried, err := try(t.Context(), "./testdata/noticed", options{workers: 2, factor: 10, patience: time.Second, tests: []string{"./testdata/user"}})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	made := &result{Started: began}
	made.fill(tried, began.Add(3*time.Second))
	var out strings.Builder
	made.print(&out)
	want := `testdata/noticed/noticed.go:5:5 comparison: a > b -> a >= b
testdata/noticed/noticed.go:14:33 negation: -a -> a (not reached)
testdata/noticed/noticed.go:17:7 constant: 0 -> 1
testdata/noticed/noticed.go:25:11 constant: 0 -> 1
github.com/gopacer/gopacer/hack/mutate/testdata/noticed: 73.3 % of 15 mutants noticed in 3 s: 9 killed, 2 timed out, 4 survived; 1 more do not compile
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestBatches groups quick tests and leaves out those that do not reach the mutant.
func TestBatches(t *testing.T) {
	one, other := &suite{path: "one"}, &suite{path: "other"}
	reaches := map[string]bool{"7": true}
	tests := []*test{
		{suite: one, name: "A", took: 10 * time.Millisecond, reaches: reaches},
		{suite: one, name: "Elsewhere", took: 10 * time.Millisecond, reaches: map[string]bool{"8": true}},
		{suite: other, name: "B", took: 20 * time.Millisecond, reaches: reaches, started: time.Second},
		{suite: one, name: "C", took: 90 * time.Millisecond, reaches: reaches},
		{suite: one, name: "D", took: 200 * time.Millisecond, reaches: reaches},
		{suite: other, name: "E", took: 300 * time.Millisecond, reaches: reaches, started: time.Second},
	}
	var got []string
	for _, each := range batches(tests, "7") {
		got = append(got, fmt.Sprint(each.path, " ", each.names, " ", each.takes))
	}
	if diff := cmp.Diff([]string{"one [A C] 100ms", "other [B E] 1.32s", "one [D] 200ms"}, got); diff != "" {
		t.Error(diff)
	}
}
