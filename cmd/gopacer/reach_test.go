package main

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// endpoints answers every list with what it holds.
type endpoints struct {
	client.Reader
	answers func() ([]discoveryv1.EndpointSlice, error)
}

func (e endpoints) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	items, err := e.answers()
	list.(*discoveryv1.EndpointSliceList).Items = items
	return err
}

func slice(ready ...*bool) discoveryv1.EndpointSlice {
	var slice discoveryv1.EndpointSlice
	for _, one := range ready {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{Ready: one}})
	}
	return slice
}

func TestReady(t *testing.T) {
	refused := errors.New("forbidden")
	for name, test := range map[string]struct {
		slices []discoveryv1.EndpointSlice
		err    error
		want   error
	}{
		"no slice":             {want: errUnreachable},
		"no endpoint":          {slices: []discoveryv1.EndpointSlice{slice()}, want: errUnreachable},
		"none is ready":        {slices: []discoveryv1.EndpointSlice{slice(ptr.To(false)), slice(ptr.To(false))}, want: errUnreachable},
		"one of two is":        {slices: []discoveryv1.EndpointSlice{slice(ptr.To(false)), slice(ptr.To(false), ptr.To(true))}},
		"unknown is ready":     {slices: []discoveryv1.EndpointSlice{slice(nil)}},
		"they can't be listed": {err: refused, want: refused},
	} {
		reach := &reach{reader: endpoints{answers: func() ([]discoveryv1.EndpointSlice, error) { return test.slices, test.err }}}
		if err := reach.ready(t.Context()); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// leaping is a clock on which a wait takes no time.
type leaping struct{ *clocktesting.FakeClock }

func (l leaping) After(d time.Duration) <-chan time.Time {
	l.SetTime(l.Now().Add(d))
	fired := make(chan time.Time, 1)
	fired <- l.Now()
	return fired
}

func TestWaitForReach(t *testing.T) {
	began := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		readyAfter, want time.Duration
	}{
		"at once":    {0, proxySync},
		"after some": {10 * time.Second, 10*time.Second + proxySync},
		"never":      {time.Hour, reachTimeout},
	} {
		now := leaping{clocktesting.NewFakeClock(began)}
		reader := endpoints{answers: func() ([]discoveryv1.EndpointSlice, error) {
			return []discoveryv1.EndpointSlice{slice(ptr.To(now.Since(began) >= test.readyAfter))}, nil
		}}
		(&reach{reader: reader, clock: now}).wait(t.Context())
		if waited := now.Since(began); waited != test.want {
			t.Errorf("%s: waited %s, want %s", name, waited, test.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	(&reach{reader: endpoints{answers: func() ([]discoveryv1.EndpointSlice, error) { return nil, ended.Err() }}, clock: clock.RealClock{}}).wait(ended)
}

// answering is a webhook server that answers from the start.
type answering struct{ webhook.Server }

func (answering) StartedChecker() healthz.Checker { return func(*http.Request) error { return nil } }

// TestRestComesLast: the probe must succeed before the Service can lead to the pod, and nothing may act before it does.
func TestRestComesLast(t *testing.T) {
	var order []string
	gate := &webhookGate{server: answering{}, started: make(chan struct{})}
	gate.reachable = func(context.Context) {
		if err := gate.check(nil); err != nil {
			t.Errorf("the probe fails while the endpoint is waited for: %v", err)
		}
		order = append(order, "reachable")
	}
	gate.then = func() error { order = append(order, "rest"); return nil }
	if err := gate.startRest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(order) != 2 || order[0] != "reachable" || order[1] != "rest" {
		t.Errorf("order %v", order)
	}
}
