package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func sampleSheet(settings string, values ...float64) sheet {
	made := sheet{Settings: settings, Pods: []string{"a", "b"}, Window: "1m"}
	for i, asked := range questions {
		made.Figures = append(made.Figures, figure{Name: asked.name, Unit: asked.kind.unit(), Value: values[i], PromQL: asked.promQL})
	}
	return made
}

func sampleResult() *result {
	return &result{
		Promotion: promotionResult{
			Control: sampleSheet("GOGC=25", 0.0008, 0.004, 0.1, 0.02, 50<<20, 10800),
			Canary:  sampleSheet("GOGC=50", 0.0004, 0.003, 0.05, 0.015, 75<<20, 10790),
		},
		Revert: revertResult{
			Trial:   v1alpha1.TrialRecord{Number: 2, Candidate: gogc(1), Reason: v1alpha1.ReasonLatencyBreached, Message: "latency: 98% of 300 requests took longer"},
			Witness: testimony{FirstBreach: noon, Worst: 0.98, Pods: []canaryPod{{Name: "c", Born: noon, Gone: noon.Add(41 * time.Second)}}},
			Seconds: 41, WarmAt: noon.Add(22 * time.Second),
		},
	}
}

func TestTable(t *testing.T) {
	got := sampleResult().table(objective{edge: "0.01", threshold: "10ms", allowed: 0.4})
	for _, want := range []string{
		"GOGC=25", "GOGC=50", "0.80 ms", "0.40 ms", "-50 %", "10.0 %", "5.0 %", "slow requests, over 10ms", "allowed 40.0 %",
		"50 MiB", "75 MiB", "+50 %", "10800", "over the same 1m, to 2 and 2 pods", "1 of 4 ever ran it", "41.0 s from the first breaching sample", "was 22s of that",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, got)
		}
	}
}

func TestChange(t *testing.T) {
	for _, test := range []struct {
		was, is float64
		want    string
	}{{2, 1, "-50 %"}, {1, 2, "+100 %"}, {0, 1, ""}, {math.NaN(), 1, ""}, {1, math.NaN(), ""}} {
		if got := change(test.was, test.is); got != test.want {
			t.Errorf("from %v to %v: %q, want %q", test.was, test.is, got, test.want)
		}
	}
}

// TestResultIsJSON: a figure that is no number could not be written, so none may get there.
func TestResultIsJSON(t *testing.T) {
	text, err := json.Marshal(sampleResult())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"secondsFromBreachToGone":41`, `"promql"`, `"unit":"seconds"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestTestimony(t *testing.T) {
	var seen testimony
	seen.note("first", 0.2, 5, false, noon)
	seen.note("second", 0.6, 10, true, noon.Add(time.Second))
	seen.note("third", 0.9, 20, true, noon.Add(2*time.Second))
	if seen.Polls != 3 || !seen.FirstBreach.Equal(noon.Add(time.Second)) || seen.Query != "second" || seen.Share != 0.6 || seen.Worst != 0.9 {
		t.Errorf("%+v", seen)
	}
	if _, err := seen.lastGone(); err == nil {
		t.Error("no pod was seen, but all are gone")
	}
	seen.Pods = []canaryPod{{Name: "a", Gone: noon.Add(time.Minute)}, {Name: "b"}}
	if _, err := seen.lastGone(); err == nil {
		t.Error("b still runs, but all are gone")
	}
	seen.Pods[1].Gone = noon
	if last, err := seen.lastGone(); err != nil || !last.Equal(noon.Add(time.Minute)) {
		t.Errorf("%v, %v", last, err)
	}
}
