package proof

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/test/virtual/cluster"
)

var errUnreachable = errors.New("the API server is out of reach")

// observer is a manager's Prometheus. What it answers is kept with the pass.
type observer struct{ manager *manager }

func (o observer) prometheus() cluster.Prometheus {
	return cluster.Prometheus{Cluster: o.manager.run.cluster}
}

// ScrapeInterval implements controllers.Observer.
func (o observer) ScrapeInterval(provider string) (time.Duration, error) {
	return o.prometheus().ScrapeInterval(provider)
}

// Observe implements controllers.Observer.
func (o observer) Observe(ctx context.Context, request signal.Request) (signal.Window, error) {
	if o.manager.dead {
		return signal.Window{}, errKilled
	}
	window, err := o.prometheus().Observe(ctx, request)
	if err == nil {
		kept := window
		kept.Pods = maps.Clone(window.Pods) // whoever is given the window may change it
		o.manager.pass.windows = append(o.manager.pass.windows, kept)
	}
	return window, err
}
