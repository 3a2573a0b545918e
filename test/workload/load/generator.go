package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// generator sends a request whenever the schedule says so, whatever became of those before.
type generator struct {
	schedule  *schedule
	endpoints *ring
	metrics   *metrics
	client    *http.Client
	path      string
	timeout   time.Duration
	slots     chan struct{} // one for each request that may be under way
	now       func() time.Time
}

// run sends until the context ends, and then waits for the requests that are under way: at most their timeout.
func (g *generator) run(ctx context.Context) {
	var underWay sync.WaitGroup
	defer underWay.Wait()
	requests := context.WithoutCancel(ctx) // the end of the run is no failure of a request
	for {
		due, isDue, changed := g.schedule.next()
		if !g.await(ctx, due, isDue, changed) {
			if ctx.Err() != nil {
				return
			}
			continue // the rate changed
		}
		g.schedule.advance(changed)
		select {
		case g.slots <- struct{}{}:
			underWay.Go(func() {
				defer func() { <-g.slots }()
				g.request(requests, due)
			})
		default:
			g.metrics.dropped.Inc()
		}
	}
}

// await returns true when the request is due, false when the context ended or the rate changed before.
func (g *generator) await(ctx context.Context, due time.Time, isDue bool, changed <-chan struct{}) bool {
	var elapsed <-chan time.Time
	if isDue {
		timer := time.NewTimer(due.Sub(g.now()))
		defer timer.Stop()
		elapsed = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-changed:
		return false
	case <-elapsed:
		return ctx.Err() == nil
	}
}

// request sends one request. Its latency counts from when it was due, so that time which it spent waiting for a slow
// generator or service is not left out.
func (g *generator) request(ctx context.Context, due time.Time) {
	g.metrics.lateness.Observe(g.now().Sub(due).Seconds())
	endpoint, found := g.endpoints.take()
	if !found {
		g.metrics.failed.WithLabelValues(reasonNoEndpoint).Inc()
		return
	}
	g.metrics.sent.Inc()
	g.metrics.inFlight.Inc()
	defer g.metrics.inFlight.Dec()
	reason := g.send(ctx, "http://"+endpoint+g.path)
	g.metrics.latency.Observe(g.now().Sub(due).Seconds())
	if reason != "" {
		g.metrics.failed.WithLabelValues(reason).Inc()
		return
	}
	g.metrics.succeeded.Inc()
}

// send returns why the request failed, or nothing.
func (g *generator) send(ctx context.Context, address string) (reason string) {
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return reasonConnection
	}
	response, err := g.client.Do(request)
	if err != nil {
		return failure(err)
	}
	defer func() { _ = response.Body.Close() }() // it was read to its end
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return failure(err)
	}
	switch response.StatusCode / 100 {
	case 2:
		return ""
	case 4:
		return reasonClientSide
	case 5:
		return reasonServerSide
	default:
		return reasonOther
	}
}

func failure(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return reasonTimeout
	}
	return reasonConnection
}
