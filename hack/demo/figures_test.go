package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

func TestQuestionsParse(t *testing.T) {
	asks := meter{latency: objective{edge: "0.01"}}
	texts := []string{breachQuery, answeredQuery}
	for _, asked := range questions {
		texts = append(texts, asked.promQL)
	}
	for _, text := range texts {
		promQL := asks.fill(text, []string{"checkout-a", "checkout-b"}, time.Minute)
		if _, err := parser.NewParser(parser.Options{}).ParseExpr(promQL); err != nil {
			t.Errorf("%s: %v", promQL, err)
		}
		if strings.Contains(promQL, "$") || !strings.Contains(promQL, `pod=~"checkout-a|checkout-b"`) {
			t.Errorf("%s is not filled in", promQL)
		}
	}
}

func TestNumber(t *testing.T) {
	for answer, want := range map[string]struct {
		number  float64
		missing bool
		ok      bool
	}{
		`[{"metric":{},"value":[1,"2.5"]}]`:  {2.5, false, true},
		`[]`:                                 {0, true, false},
		`[{"metric":{},"value":[1,"NaN"]}]`:  {0, true, false},
		`[{"metric":{},"value":[1,"+Inf"]}]`: {0, true, false},
		`[{"metric":{"pod":"a"},"value":[1,"1"]},{"metric":{},"value":[1,"1"]}]`: {0, false, false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(response, `{"status":"success","data":{"resultType":"vector","result":%s}}`, json.RawMessage(answer))
		}))
		asks, err := newMeter(server.URL, objective{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := asks.number(t.Context(), "up", time.Unix(1, 0))
		server.Close()
		if got != want.number || (err == nil) != want.ok || errors.Is(err, errNoSample) != want.missing {
			t.Errorf("%s: %v, %v", answer, got, err)
		}
	}
}

// TestScript holds the sample policy to what the demonstration needs of it.
func TestScript(t *testing.T) {
	read, err := readScript()
	if err != nil {
		t.Fatal(err)
	}
	if read.latency.edge == "" || read.latency.allowed <= 0 || read.latency.allowed >= 1 {
		t.Errorf("%+v", read.latency)
	}
	if !strings.Contains(read.text, "max: 35") {
		t.Error("without a bound of one step another trial follows the promotion, and the second act comes too late")
	}
}
