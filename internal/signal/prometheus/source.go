package prometheus

import (
	"context"
	"errors"
	"fmt"
	"time"

	instrument "github.com/prometheus/client_golang/prometheus"

	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/signal/promql"
)

// maxSettle is how long after the time that it is asked about Prometheus is asked at the earliest, at most: a scrape carries the time at
// which it began, and one that was not stored yet would be in the answer to one query of a snapshot and not in that to another.
const maxSettle = time.Second

// slotBefore is the latest slot that has settled.
func (f *fleet) slotBefore(end time.Time) time.Time {
	return end.Add(-min(maxSettle, f.slot/2)).Truncate(f.slot)
}

// Source asks the configured providers. It is safe for concurrent use; connections and snapshots are kept per provider.
type Source struct {
	endpoints map[string]*endpoint
}

// NewSource makes a source of what Load or Parse returned. Its metrics are registered with registerer; now is the clock that they use.
// Close ends it.
func NewSource(providers []Provider, registerer instrument.Registerer, now func() time.Time) (*Source, error) {
	source := &Source{endpoints: make(map[string]*endpoint, len(providers))}
	names := make([]string, 0, len(providers))
	for _, provider := range providers {
		names = append(names, provider.Name)
	}
	metrics, err := newMetrics(registerer, names)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of the Prometheus client: %w", err)
	}
	for _, provider := range providers {
		endpoint, err := newEndpoint(provider, metrics, now)
		if err != nil {
			return nil, fmt.Errorf("Prometheus provider %s: %w", provider.Name, err)
		}
		source.endpoints[provider.Name] = endpoint
	}
	return source, nil
}

// ScrapeInterval is the interval at which a provider scrapes its targets.
func (s *Source) ScrapeInterval(provider string) (time.Duration, error) {
	endpoint, err := s.endpoint(provider)
	if err != nil {
		return 0, err
	}
	return endpoint.scrapeInterval, nil
}

func (s *Source) endpoint(provider string) (*endpoint, error) {
	endpoint, ok := s.endpoints[provider]
	if !ok {
		return nil, fmt.Errorf("%w %q: name one of the manager's configuration in spec.metrics.provider", ErrUnknownProvider, provider)
	}
	return endpoint, nil
}

// Observe gives one window, of which the end is cut down to the grid of snapshots that all policies share. It is all or nothing: where
// one query fails there is no window, since a missing answer would look like a metric that is not exposed. Only a policy's own query that
// can't be used is left out, and named in the window: the guards of its trial must not be blind for its author's mistake.
func (s *Source) Observe(ctx context.Context, request signal.Request) (signal.Window, error) {
	endpoint, err := s.endpoint(request.Provider)
	if err != nil {
		return signal.Window{}, err
	}
	if err := request.Validate(); err != nil {
		return signal.Window{}, fmt.Errorf("measure pods %s* of namespace %s: %w", request.PodPrefix, request.Namespace, err)
	}
	end := endpoint.fleet.slotBefore(request.End)
	moments, err := endpoint.fleet.window(ctx, targetOf(request), end, request.Length)
	if err != nil {
		return signal.Window{}, err
	}
	answers, faults, err := endpoint.customs(ctx, request, end)
	if err != nil {
		return signal.Window{}, err
	}
	window := signal.Assemble(request, endpoint.scrapeInterval, moments, answers)
	window.QueryFaults = faults
	return window, nil
}

// customs asks the request's own queries, each held to its namespace. What is the query's own fault is told by its name.
func (e *endpoint) customs(ctx context.Context, request signal.Request, at time.Time) (map[string]signal.Answer, map[string]string, error) {
	answers := make(map[string]signal.Answer, len(request.Queries))
	faults := make(map[string]string)
	for _, query := range request.Queries {
		held, err := promql.EnforceNamespace(query.PromQL, request.Namespace)
		if err == nil {
			answers[query.Name], err = e.custom(ctx, request, query.Name, held, at)
		} else {
			err = &QueryError{Name: query.Name, Err: err}
		}
		var fault *QueryError
		switch {
		case errors.As(err, &fault):
			faults[query.Name] = fault.Error()
		case err != nil:
			return nil, nil, err
		}
	}
	return answers, faults, nil
}

// custom asks a policy's own query. Where Prometheus answers everything else and refuses it, it is the query's fault.
func (e *endpoint) custom(ctx context.Context, request signal.Request, name, held string, at time.Time) (signal.Answer, error) {
	value, err := e.fleet.custom(ctx, held, at)
	var rejected *RejectedError
	switch {
	case errors.As(err, &rejected):
		return nil, &QueryError{Name: name, Err: err}
	case err != nil:
		return nil, err
	}
	answer, err := signal.ReadAnswer(request, name, at, value)
	if err != nil {
		return nil, &UnavailableError{Provider: e.name, Query: signal.QueryCustom, Err: err}
	}
	return answer, nil
}

// Close ends what is still being asked, and drops the connections that are kept.
func (s *Source) Close() {
	for _, endpoint := range s.endpoints {
		endpoint.fleet.close()
		endpoint.client.CloseIdleConnections()
	}
}
