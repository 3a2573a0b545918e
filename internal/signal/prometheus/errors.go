package prometheus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/gopacer/gopacer/internal/signal"
)

// ErrUnknownProvider says that a request names a provider that the configuration lacks.
var ErrUnknownProvider = errors.New("unknown Prometheus provider")

// ErrAnswerTooLarge says that an answer was cut off at its bound.
var ErrAnswerTooLarge = errors.New("answer larger than 16 MiB")

// ErrPartial says that Prometheus, or a system that speaks its API, warned that the answer is not all there is.
var ErrPartial = errors.New("partial answer")

// ErrGathering says that Prometheus answers, but that the first window of a target takes more questions than could be asked in time. What was
// answered is kept, so that asking again soon gets further.
var ErrGathering = errors.New("the first window of samples is still being gathered")

// UnavailableError says that there was no usable answer for now: the connection failed, the query timed out, the server failed,
// or what it sent is cut off, partial, or no answer to the query. Asking again later may help.
type UnavailableError struct {
	Provider string
	Query    signal.QueryName
	Err      error
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("ask Prometheus provider %s for %s: %v: see that it is up, that its address is right, and that it answers in time",
		e.Provider, e.Query, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// RejectedError says that Prometheus refuses the query. Asking again won't help until somebody changes the configuration.
type RejectedError struct {
	Provider string
	Query    signal.QueryName
	Err      error
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("Prometheus provider %s refuses the query for %s: %v: see that the address is that of a Prometheus API, and that "+
		"httpConfig has the credentials it asks for", e.Provider, e.Query, e.Err)
}

func (e *RejectedError) Unwrap() error { return e.Err }

// QueryError says that a policy's own query can't be asked, or does not answer with what it should. Its author has to change it.
type QueryError struct {
	// Name of the query in the policy.
	Name string
	Err  error
}

func (e *QueryError) Error() string {
	return fmt.Sprintf("the policy's query %q can't be used: %v", e.Name, e.Err)
}

func (e *QueryError) Unwrap() error { return e.Err }

// result names the outcome of a query; the names are the values of a metric's label.
type result string

const (
	resultSuccess     result = "success"
	resultUnavailable result = "unavailable"
	resultTimeout     result = "timeout"
	resultRejected    result = "rejected"
	resultMalformed   result = "malformed"
	resultPartial     result = "partial"
	resultCanceled    result = "canceled"
)

func results() []result {
	return []result{resultSuccess, resultUnavailable, resultTimeout, resultRejected, resultMalformed, resultPartial, resultCanceled}
}

// tooManyRequests is how the client words a status of 429, which is a 4xx that passes with time.
const tooManyRequests = "client error: 429"

// classify says what an error of the client means.
func classify(err error) result {
	var answered *v1.Error
	switch {
	case err == nil:
		return resultSuccess
	case errors.Is(err, context.DeadlineExceeded):
		return resultTimeout
	case errors.Is(err, signal.ErrMalformed):
		return resultMalformed
	case errors.Is(err, ErrPartial):
		return resultPartial
	case !errors.As(err, &answered):
		return resultUnavailable
	}
	switch answered.Type {
	case v1.ErrBadData, v1.ErrExec:
		return resultRejected
	case v1.ErrClient:
		if answered.Msg == tooManyRequests {
			return resultUnavailable
		}
		return resultRejected
	case v1.ErrBadResponse:
		return resultMalformed
	case v1.ErrTimeout:
		return resultTimeout
	default:
		return resultUnavailable
	}
}

// maxDetail bounds what is repeated of a server's page in a message that may end up in a status.
const maxDetail = 200

// describe adds the beginning of what the server said.
func describe(err error) error {
	var answered *v1.Error
	if !errors.As(err, &answered) || answered.Detail == "" {
		return err
	}
	detail := strings.Join(strings.Fields(answered.Detail), " ")
	if len(detail) > maxDetail {
		detail = strings.ToValidUTF8(detail[:maxDetail], "") + "…"
	}
	return fmt.Errorf("%w: %q", err, detail)
}
