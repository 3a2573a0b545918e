package prometheus

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/internal/signal"
)

// TestCustom holds that a policy's own query is asked once in a slot, within the policy's namespace.
func TestCustomQuery(t *testing.T) {
	var asked atomic.Int32
	server := &shop{alter: func(w http.ResponseWriter, query string) bool {
		if !strings.Contains(query, "queue_depth") {
			return false
		}
		asked.Add(1)
		if query != `max by (pod) (queue_depth{namespace="ns0"})` {
			t.Errorf("asked %s", query)
		}
		_, _ = io.WriteString(w, vector(`{"metric":{"pod":"checkout-1"},"value":[1789999995,"-4"]}`, `{"metric":{"pod":"payment-1"},"value":[1789999995,"9"]}`))
		return true
	}}
	source := newTestSource(t, server, 10*time.Second)
	request := requestFor(0, time.Unix(at, 0))
	request.Queries = []signal.CustomQuery{{Name: "depth", PromQL: "max by (pod) (queue_depth)"}}
	for _, length := range []time.Duration{time.Minute, 2 * time.Minute} {
		request.Length = length
		window, err := source.Observe(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]signal.Value{"depth": {Number: -4, State: signal.Present}}
		if diff := cmp.Diff(want, window.Pods["checkout-1"].Custom); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times, want once", asked.Load())
	}
}

func TestCustomRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		promQL string
		alter  func(w http.ResponseWriter, query string) bool
		words  []string
	}{
		"no PromQL":         {"queue_depth{", nil, []string{`"depth"`, "not PromQL"}},
		"another namespace": {`queue_depth{namespace="bank"}`, nil, []string{`"depth"`, "another namespace"}},
		"a number":          {"time()", nil, []string{"scalar", "instant vector"}},
		"refused by Prometheus": {"queue_depth * on (pod) queue_length", func(w http.ResponseWriter, query string) bool {
			if strings.Contains(query, "queue_depth") {
				respond(422, `{"status":"error","errorType":"execution","error":"many-to-many matching not allowed"}`)(w, nil)
				return true
			}
			return false
		}, []string{`"depth"`, "many-to-many"}},
	} {
		t.Run(name, func(t *testing.T) {
			source := newTestSource(t, &shop{alter: tc.alter}, 10*time.Second)
			request := requestFor(0, time.Unix(at, 0))
			request.Queries = []signal.CustomQuery{{Name: "depth", PromQL: tc.promQL}}
			window, err := source.Observe(t.Context(), request)
			if err != nil {
				t.Fatalf("the author's mistake cost all measurements: %v", err)
			}
			for _, word := range tc.words {
				if fault := window.QueryFaults["depth"]; !strings.Contains(fault, word) {
					t.Errorf("fault %q does not name %q", fault, word)
				}
			}
			for name, pod := range window.Pods {
				if value := pod.Custom["depth"]; value.State != signal.Absent || !pod.Sampled {
					t.Errorf("pod %s has depth %+v, sampled %t", name, value, pod.Sampled)
				}
			}
			if len(window.Pods) == 0 {
				t.Error("no pod is measured")
			}
		})
	}
}

func TestHarmlessWarning(t *testing.T) {
	source := newTestSource(t, respond(200, `{"status":"success","warnings":["PromQL warning: conflicting counter resets during histogram aggregation"],`+
		`"data":{"resultType":"vector","result":[]}}`), 10*time.Second)
	if _, err := source.Observe(t.Context(), exampleRequest()); err != nil {
		t.Errorf("error %v", err)
	}
}

// TestCustomUnavailable holds that an answer that is none to the query is Prometheus' fault, not that of the query's author.
func TestCustomUnavailable(t *testing.T) {
	for name, body := range map[string]string{
		"a matrix":     answer(`{"resultType":"matrix","result":[]}`),
		"of yesterday": vector(`{"metric":{"pod":"checkout-1"},"value":[1789913600,"1"]}`),
		"no JSON":      "{",
	} {
		t.Run(name, func(t *testing.T) {
			source := newTestSource(t, &shop{alter: func(w http.ResponseWriter, query string) bool {
				if !strings.Contains(query, "queue_depth") {
					return false
				}
				_, _ = io.WriteString(w, body)
				return true
			}}, 10*time.Second)
			request := requestFor(0, time.Unix(at, 0))
			request.Queries = []signal.CustomQuery{{Name: "depth", PromQL: "queue_depth"}}
			var unavailable *UnavailableError
			if _, err := source.Observe(t.Context(), request); !errors.As(err, &unavailable) {
				t.Errorf("error %v (%T), want unavailable", err, err)
			}
		})
	}
}
