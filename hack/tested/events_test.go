package main

import (
	"bufio"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// said is what `go test -json` says of two packages: one whose test passes, fails and is skipped in its parts, and one that dies.
const said = `{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestOne"}
{"Action":"output","Package":"a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"run","Package":"a","Test":"TestOne/good"}
{"Action":"run","Package":"a","Test":"TestOne/bad"}
{"Action":"output","Package":"a","Test":"TestOne/bad","Output":"    one_test.go:7: \u003cbad\u003e\n"}
{"Action":"pass","Package":"a","Test":"TestOne/good","Elapsed":1.25}
{"Action":"fail","Package":"a","Test":"TestOne/bad","Elapsed":0.5}
{"Action":"fail","Package":"a","Test":"TestOne","Elapsed":1.75}
{"Action":"run","Package":"a","Test":"TestTwo"}
{"Action":"pause","Package":"a","Test":"TestTwo"}
{"Action":"skip","Package":"a","Test":"TestTwo","Elapsed":0}
{"Action":"output","Package":"a","Output":"FAIL\n"}
{"Action":"fail","Package":"a","Elapsed":2}
# b
{"not": "an event"}
{"Action":"start","Package":"b"}
{"Action":"run","Package":"b","Test":"TestOne"}
{"Action":"build-output","ImportPath":"c","Output":"c.go:1: no\n"}`

func TestRead(t *testing.T) {
	var one run
	var shown strings.Builder
	if err := one.read(bufio.NewReader(strings.NewReader(said)), &shown); err != nil {
		t.Fatal(err)
	}
	wanted := "=== RUN   TestOne\n    one_test.go:7: <bad>\nFAIL\n# b\n{\"not\": \"an event\"}\nc.go:1: no\n"
	if diff := cmp.Diff(wanted, shown.String()); diff != "" {
		t.Errorf("it shows %s", diff)
	}
	if diff := cmp.Diff([]outcome{
		{Package: "a", Result: failed, Seconds: 2},
		{Package: "a", Test: "TestOne", Result: failed, Seconds: 1.75},
		{Package: "a", Test: "TestOne/good", Result: passed, Seconds: 1.25},
		{Package: "a", Test: "TestOne/bad", Result: failed, Seconds: 0.5},
		{Package: "a", Test: "TestTwo", Result: skipped},
		{Package: "b", Result: unfinished},
		{Package: "b", Test: "TestOne", Result: unfinished},
	}, one.Outcomes); diff != "" {
		t.Error(diff)
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Read([]byte) (int, error)  { return 0, errBroken }
func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestReadSaysWhatIsBroken(t *testing.T) {
	var one run
	if err := one.read(bufio.NewReader(broken{}), &strings.Builder{}); !errors.Is(err, errBroken) {
		t.Errorf("a reader that fails: %v", err)
	}
	if err := one.read(bufio.NewReader(strings.NewReader("text\n")), broken{}); !errors.Is(err, errBroken) {
		t.Errorf("a writer that fails: %v", err)
	}
}

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		arguments string
		want      [][]string
	}{
		{"./a -full", [][]string{{"./a", "-full"}}},
		{"-count 1 ./a then ./b -full", [][]string{{"-count", "1", "./a"}, {"./b", "-full"}}},
		{"./a then", [][]string{{"./a"}, {}}},
	} {
		if diff := cmp.Diff(test.want, split(strings.Fields(test.arguments))); diff != "" {
			t.Errorf("%s: %s", test.arguments, diff)
		}
	}
}
