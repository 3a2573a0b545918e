package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWilson(t *testing.T) {
	for _, test := range []struct {
		hits, n   int
		low, high float64
	}{{0, 0, 0, 1}, {0, 100, 0, 0.037}, {5, 100, 0.0215, 0.1118}, {100, 100, 0.963, 1}} {
		low, high := wilson(test.hits, test.n)
		if math.Abs(low-test.low) > 5e-4 || math.Abs(high-test.high) > 5e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", test.hits, test.n, low, high, test.low, test.high)
		}
	}
}

func TestJudged(t *testing.T) {
	tests := map[string]struct {
		f    figure
		want bool
	}{
		"no bound":     {figure{Value: 7}, true},
		"at the most":  {figure{Value: 0.05, AtMost: atMost(0.05)}, true},
		"above":        {figure{Value: 0.051, AtMost: atMost(0.05)}, false},
		"at the least": {figure{Value: 0.9, AtLeast: atLeast(0.9)}, true},
		"below":        {figure{Value: 0.89, AtLeast: atLeast(0.9)}, false},
		"no number":    {figure{Value: math.NaN(), AtLeast: atLeast(0.9)}, false},
	}
	for name, test := range tests {
		if got := test.f.judged().Passed; got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestQuantile(t *testing.T) {
	values := []float64{4, 1, 3, 2}
	for share, want := range map[float64]float64{0: 1, 0.5: 2.5, 1: 4, 0.1: 1.3} {
		if got := quantile(values, share); math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %v: %v, want %v", share, got, want)
		}
	}
	if !math.IsNaN(quantile(nil, 0.5)) || values[0] != 4 {
		t.Error("nothing has no median, and the values stay in their order")
	}
}

// TestEach gives every number once, in order, whoever did the work.
func TestEach(t *testing.T) {
	var told bytes.Buffer
	for i, got := range each(100, newProgress(&told, "squares", 100), func(i int) int { return i * i }) {
		if got != i*i {
			t.Fatalf("%d: %d", i, got)
		}
	}
	if !strings.Contains(told.String(), "100 of 100") {
		t.Errorf("progress: %q", told.String())
	}
}

func TestTable(t *testing.T) {
	spread := 0.03
	var out strings.Builder
	printTable(&out, result{Figures: []figure{
		{Name: "good", Value: 0.01, AtMost: atMost(0.05), Passed: true, Interval: &[2]float64{0, 0.02}},
		{Name: "bad", What: "how bad", Value: 0.7, AtLeast: atLeast(0.9), Groups: []group{{Layout: "4v8", PodSpread: &spread, N: 7, NotStarted: 2, Reasons: map[string]int{"NoGain": 7}}}},
		{Name: "beside", Value: 3},
	}})
	for _, want := range []string{"<= 0.05 PASS", ">= 0.9 MISS", "bad: how bad", "SD 3%", "2 not started", "NoGain 7"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
	if strings.Count(out.String(), "PASS")+strings.Count(out.String(), "MISS") != 2 {
		t.Errorf("a figure without a bound neither passes nor misses:\n%s", out.String())
	}
}

// TestResult: what is written holds all that it takes to make it again.
func TestResult(t *testing.T) {
	e := &evaluation{seed: 11, scale: 0.02, progress: func(name string, total int) *progress { return newProgress(io.Discard, name, total) }}
	r := newResult(t.Context(), 11, 0.02)
	r.Figures = e.outliers()
	path := filepath.Join(t.TempDir(), "eval", "result.json")
	if err := r.write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var back result
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	f := back.Figures[0]
	if back.Seed != 11 || back.GoVersion == "" || f.Seeds != (seeds{11, 24}) || len(f.Groups) != 24 || f.Groups[4].Steps[2] != "3v3" || f.AtLeast == nil {
		t.Errorf("%s", text)
	}
	if e.seed != 35 {
		t.Errorf("the next figure begins with seed %d, want 35", e.seed)
	}
}
