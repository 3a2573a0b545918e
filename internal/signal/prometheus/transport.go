package prometheus

import (
	"io"
	"net/http"
)

// maxAnswerBytes bounds an answer, so that a Prometheus that lies can't use up the manager's memory. The largest honest one, all
// buckets of a thousand pods, takes about 3 MiB.
const maxAnswerBytes = 16 << 20

// completeTransport asks systems that put answers together from several stores to fail rather than to leave one out: Thanos by
// partial_response, VictoriaMetrics' cluster by deny_partial_response. Prometheus itself ignores both.
type completeTransport struct{ next http.RoundTripper }

func (t *completeTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	parameters := request.URL.Query()
	parameters.Set("partial_response", "false")
	parameters.Set("deny_partial_response", "1")
	request.URL.RawQuery = parameters.Encode()
	return t.next.RoundTrip(request)
}

// CloseIdleConnections is what http.Client looks for.
func (t *completeTransport) CloseIdleConnections() { closeIdleConnections(t.next) }

// boundedTransport cuts off bodies. The transport below has unpacked them already, so the bound holds for compressed ones too.
type boundedTransport struct {
	next  http.RoundTripper
	limit int64
}

func (t *boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = &boundedBody{body: response.Body, left: t.limit}
	return response, nil
}

// CloseIdleConnections is what http.Client looks for.
func (t *boundedTransport) CloseIdleConnections() { closeIdleConnections(t.next) }

func closeIdleConnections(transport http.RoundTripper) {
	if closer, ok := transport.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

type boundedBody struct {
	body io.ReadCloser
	left int64
}

// Read fails once more than the limit came; io.LimitReader would end there as if the body had.
func (b *boundedBody) Read(buffer []byte) (int, error) {
	n, err := b.body.Read(buffer)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, ErrAnswerTooLarge
	}
	return n, err
}

func (b *boundedBody) Close() error { return b.body.Close() }
