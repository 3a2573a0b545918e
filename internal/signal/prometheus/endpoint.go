package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"

	"github.com/gopacer/gopacer/internal/signal"
)

// concurrency is how many queries run at once at one provider.
const concurrency = 4

// endpoint is one provider.
type endpoint struct {
	name           string
	scrapeInterval time.Duration
	timeout        time.Duration
	client         *http.Client
	api            v1.API
	metrics        *metrics
	now            func() time.Time
	turns          chan struct{}
	fleet          *fleet
	// answered counts the questions that Prometheus answered well.
	answered atomic.Int64
}

func newEndpoint(provider Provider, metrics *metrics, now func() time.Time) (*endpoint, error) {
	client, err := config.NewClientFromConfig(provider.HTTPConfig, provider.Name, config.WithUserAgent("gopacer"))
	if err != nil {
		return nil, fmt.Errorf("httpConfig: %w", err)
	}
	client.Transport = &completeTransport{next: &boundedTransport{next: client.Transport, limit: maxAnswerBytes}}
	queries, err := newAPI(provider.Address, client)
	if err != nil {
		return nil, err
	}
	e := &endpoint{
		name: provider.Name, client: client, api: queries, metrics: metrics, now: now, turns: make(chan struct{}, concurrency),
		scrapeInterval: time.Duration(provider.ScrapeInterval), timeout: time.Duration(provider.Timeout),
	}
	e.fleet = newFleet(e)
	return e, nil
}

func newAPI(address string, client *http.Client) (v1.API, error) {
	apiClient, err := api.NewClient(api.Config{Address: address, Client: client})
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	return v1.NewAPI(apiClient), nil
}

// question is a query at a time, and what reads its answer.
type question struct {
	query signal.QueryName
	text  string
	at    time.Time
	read  func(model.Value) error
}

// ask asks one query when its turn comes, counts how it went, and gives the error its type.
func (e *endpoint) ask(ctx context.Context, q question) error {
	select {
	case e.turns <- struct{}{}:
		defer func() { <-e.turns }()
	case <-ctx.Done():
		return fmt.Errorf("ask Prometheus provider %s for %s: %w", e.name, q.query, ctx.Err())
	}
	started := e.now()
	err := e.askTwice(ctx, q)
	outcome := classify(err)
	if err != nil && ctx.Err() != nil {
		// Nobody waits for it any more, or another query of the snapshot failed: this one says nothing about Prometheus.
		outcome = resultCanceled
	}
	e.metrics.observe(e.name, outcome, e.now().Sub(started))
	switch outcome {
	case resultSuccess:
		e.answered.Add(1)
		return nil
	case resultCanceled:
		return fmt.Errorf("ask Prometheus provider %s for %s: %w", e.name, q.query, err)
	case resultRejected:
		return &RejectedError{Provider: e.name, Query: q.query, Err: describe(err)}
	default:
		return &UnavailableError{Provider: e.name, Query: q.query, Err: describe(err)}
	}
}

// askTwice tries again once where the connection failed, which a Prometheus that restarts, or an idle connection that it closed, is
// enough for. A server that answered, or took too long, is not asked again.
func (e *endpoint) askTwice(ctx context.Context, q question) error {
	err := e.askOnce(ctx, q)
	if transportFailed(err) && ctx.Err() == nil {
		return e.askOnce(ctx, q)
	}
	return err
}

func (e *endpoint) askOnce(ctx context.Context, q question) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	value, warnings, _, err := e.api.Query(ctx, q.text, q.at)
	if err != nil {
		return err
	}
	warnings = slices.DeleteFunc(warnings, harmless)
	if len(warnings) > 0 {
		return fmt.Errorf("%w: it came with the warning %q", ErrPartial, strings.Join(warnings, "; "))
	}
	return q.read(value)
}

// harmless is what Prometheus says where one of several native histograms that it adds up was reset and another was not. Their sum is right;
// only a rate over such sums would not be, and none is asked for.
func harmless(warning string) bool {
	return strings.Contains(warning, "conflicting counter resets during histogram")
}

// transportFailed says that there was no complete answer, but not for want of time or space.
func transportFailed(err error) bool {
	var answered *v1.Error
	return classify(err) == resultUnavailable && !errors.As(err, &answered) && !errors.Is(err, ErrAnswerTooLarge)
}
