package prometheus

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	instrument "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"

	"github.com/gopacer/gopacer/internal/signal"
)

const at = 1_790_000_000

func exampleRequest() signal.Request {
	return signal.Request{
		Provider: "default", Namespace: "shop", PodPrefix: "checkout-", Container: "app",
		Latency: signal.Latency{Histogram: "http_request_duration_seconds", CodeLabel: "code"},
		Length:  50 * time.Second, End: time.Unix(at, 0),
	}
}

// newTestSource asks the handler. Its clock stands still.
func newTestSource(t testing.TB, handler http.Handler, timeout time.Duration) *Source {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	source, err := NewSource([]Provider{{
		Name: "default", Address: server.URL, ScrapeInterval: defaultScrapeInterval, Timeout: model.Duration(timeout),
		HTTPConfig: config.DefaultHTTPClientConfig,
	}}, instrument.NewPedanticRegistry(), func() time.Time { return time.Unix(at, 0) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	return source
}

func answer(result string) string { return `{"status":"success","data":` + result + `}` }

func vector(samples ...string) string {
	return answer(`{"resultType":"vector","result":[` + strings.Join(samples, ",") + `]}`)
}

func sample(pod, value string) string {
	return fmt.Sprintf(`{"metric":{"__name__":"process_resident_memory_bytes","namespace":"shop","pod":%q},"value":[%d,%q]}`, pod, at, value)
}

func respond(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func (s *Source) counted(outcome result) float64 {
	return testutil.ToFloat64(s.endpoints["default"].metrics.queries.WithLabelValues("default", string(outcome)))
}

// cutOff promises more than it sends.
func cutOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, vector()[:20])
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func gigantic(w http.ResponseWriter, _ *http.Request) {
	block := []byte(strings.Repeat(" ", 1<<20))
	for range 17 {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, vector())
}

// askedPerQuery answers the first time as told, then well.
type askedPerQuery struct {
	first http.HandlerFunc
	mutex sync.Mutex
	times map[string]int
}

func (a *askedPerQuery) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.FormValue("time") + " " + r.FormValue("query")
	a.mutex.Lock()
	a.times[query]++
	times := a.times[query]
	a.mutex.Unlock()
	if times == 1 {
		a.first(w, r)
		return
	}
	_, _ = io.WriteString(w, vector(sample("checkout-a", "1")))
}
