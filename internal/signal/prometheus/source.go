package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	instrument "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/config"
	"golang.org/x/sync/errgroup"

	"github.com/gopacer/gopacer/internal/signal"
)

// concurrency is how many queries of one window run at once.
const concurrency = 4

// Source asks the configured providers. It is safe for concurrent use; connections are kept per provider.
type Source struct {
	endpoints map[string]*endpoint
	metrics   *metrics
	now       func() time.Time
}

type endpoint struct {
	name           string
	scrapeInterval time.Duration
	timeout        time.Duration
	client         *http.Client
	api            v1.API
}

// NewSource makes a source of what Load or Parse returned. Its metrics are registered with registerer; now is the clock that they use.
func NewSource(providers []Provider, registerer instrument.Registerer, now func() time.Time) (*Source, error) {
	source := &Source{endpoints: make(map[string]*endpoint, len(providers)), now: now}
	names := make([]string, 0, len(providers))
	for _, provider := range providers {
		endpoint, err := newEndpoint(provider)
		if err != nil {
			return nil, fmt.Errorf("Prometheus provider %s: %w", provider.Name, err)
		}
		source.endpoints[provider.Name] = endpoint
		names = append(names, provider.Name)
	}
	metrics, err := newMetrics(registerer, names)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of the Prometheus client: %w", err)
	}
	source.metrics = metrics
	return source, nil
}

func newEndpoint(provider Provider) (*endpoint, error) {
	client, err := config.NewClientFromConfig(provider.HTTPConfig, provider.Name, config.WithUserAgent("gopacer"))
	if err != nil {
		return nil, fmt.Errorf("httpConfig: %w", err)
	}
	client.Transport = &completeTransport{next: &boundedTransport{next: client.Transport, limit: maxAnswerBytes}}
	queries, err := newAPI(provider.Address, client)
	if err != nil {
		return nil, err
	}
	return &endpoint{
		name: provider.Name, client: client, api: queries,
		scrapeInterval: time.Duration(provider.ScrapeInterval), timeout: time.Duration(provider.Timeout),
	}, nil
}

func newAPI(address string, client *http.Client) (v1.API, error) {
	apiClient, err := api.NewClient(api.Config{Address: address, Client: client})
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	return v1.NewAPI(apiClient), nil
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

// Observe asks for one window. It answers all or nothing: where one query fails there is no window, since a missing answer would look
// like a metric that is not exposed.
func (s *Source) Observe(ctx context.Context, request signal.Request) (signal.Window, error) {
	endpoint, err := s.endpoint(request.Provider)
	if err != nil {
		return signal.Window{}, err
	}
	queries, err := signal.Queries(request)
	if err != nil {
		return signal.Window{}, err
	}
	answers := make([]signal.Answer, len(queries))
	group, groupContext := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for i, query := range queries {
		group.Go(func() error {
			answer, err := s.ask(groupContext, endpoint, request, query)
			answers[i] = answer
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return signal.Window{}, err
	}
	return signal.Assemble(request, endpoint.scrapeInterval, answers...), nil
}

// ask asks one query, counts how it went, and gives the error its type.
func (s *Source) ask(ctx context.Context, endpoint *endpoint, request signal.Request, query signal.Query) (signal.Answer, error) {
	started := s.now()
	answer, err := endpoint.ask(ctx, request, query)
	outcome := classify(err)
	if err != nil && ctx.Err() != nil {
		// The caller gave up, or another query of the window failed: this one says nothing about Prometheus.
		outcome = resultCanceled
	}
	s.metrics.observe(endpoint.name, outcome, s.now().Sub(started))
	switch outcome {
	case resultSuccess:
		return answer, nil
	case resultCanceled:
		return signal.Answer{}, fmt.Errorf("ask Prometheus provider %s for %s: %w", endpoint.name, query.Name, err)
	case resultRejected:
		return signal.Answer{}, &RejectedError{Provider: endpoint.name, Query: query.Name, Err: describe(err)}
	default:
		return signal.Answer{}, &UnavailableError{Provider: endpoint.name, Query: query.Name, Err: describe(err)}
	}
}

// ask tries again once where the connection failed, which a Prometheus that restarts, or an idle connection that it closed, is enough for.
// A server that answered, or took too long, is not asked again.
func (e *endpoint) ask(ctx context.Context, request signal.Request, query signal.Query) (signal.Answer, error) {
	answer, err := e.askOnce(ctx, request, query)
	if transportFailed(err) && ctx.Err() == nil {
		return e.askOnce(ctx, request, query)
	}
	return answer, err
}

func (e *endpoint) askOnce(ctx context.Context, request signal.Request, query signal.Query) (signal.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	value, warnings, _, err := e.api.Query(ctx, query.PromQL, request.End)
	if err != nil {
		return signal.Answer{}, err
	}
	if len(warnings) > 0 {
		return signal.Answer{}, fmt.Errorf("%w: it came with the warning %q", ErrPartial, strings.Join(warnings, "; "))
	}
	return signal.ReadAnswer(request, query, value)
}

// transportFailed says that there was no complete answer, but not for want of time or space.
func transportFailed(err error) bool {
	var answered *v1.Error
	return classify(err) == resultUnavailable && !errors.As(err, &answered) && !errors.Is(err, ErrAnswerTooLarge)
}

// Close drops the connections that are kept.
func (s *Source) Close() {
	for _, endpoint := range s.endpoints {
		endpoint.client.CloseIdleConnections()
	}
}
