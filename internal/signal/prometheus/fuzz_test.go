package prometheus

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// roundTrip answers without a network, so that the fuzzer is fast.
type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request), nil }

// FuzzObserve sends arbitrary bodies through the client. Pods come only out of what is an answer, and nothing crashes.
func FuzzObserve(f *testing.F) {
	for _, body := range []string{"", "{}", "null", vector(), vector("null"), vector(sample("checkout-a", "1")), vector(sample("checkout-a", "NaN")),
		answer(`{"resultType":"matrix","result":[{"metric":{},"values":[[1,"1"]]}]}`), answer(`{"resultType":"scalar","result":[1,"1"]}`)} {
		f.Add(200, []byte(body))
		f.Add(422, []byte(body))
	}
	source := newTestSource(f, respond(500, ""), time.Second)
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		source.endpoints["default"].replaceTransport(t, roundTrip(func(request *http.Request) *http.Response {
			return &http.Response{StatusCode: status, Request: request, Body: io.NopCloser(strings.NewReader(string(body)))}
		}))
		source.endpoints["default"].fleet = newFleet(source.endpoints["default"])
		window, err := source.Observe(t.Context(), exampleRequest())
		if err != nil && len(window.Pods) > 0 {
			t.Errorf("pods %v beside the error %v", window.Pods, err)
		}
		for name, pod := range window.Pods {
			if !strings.HasPrefix(name, "checkout-") || pod.CPUSeconds.Number < 0 {
				t.Errorf("pod %s: %+v", name, pod)
			}
		}
	})
}

func (e *endpoint) replaceTransport(t *testing.T, transport http.RoundTripper) {
	t.Helper()
	api, err := newAPI("http://prometheus", &http.Client{Transport: &boundedTransport{next: transport, limit: maxAnswerBytes}})
	if err != nil {
		t.Fatal(err)
	}
	e.api = api
}
