package controllers

import (
	"context"
	"errors"
	"sync"
	"time"

	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/signal/prometheus"
)

// Observer measures a target's pods.
type Observer interface {
	// ScrapeInterval of a provider.
	ScrapeInterval(provider string) (time.Duration, error)
	// Observe gives one window, or an error where any part of it is missing.
	Observe(ctx context.Context, request signal.Request) (signal.Window, error)
}

// observeTimeout bounds all questions of one look together: a look must come round again soon, if only for the guardrails.
const observeTimeout = 15 * time.Second

func (r *Reconciler) observe(ctx context.Context, p *pass, length time.Duration) (signal.Window, error) {
	request := p.request(length)
	done, ok := r.silences.ask(request.Provider)
	if !ok {
		return signal.Window{}, errSilent
	}
	window, err := r.Observer.Observe(ctx, request)
	done(errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, prometheus.ErrGathering))
	if err != nil {
		return signal.Window{}, err
	}
	r.Metrics.sawWindow(p.name(), p.now)
	return window, nil
}

// tryObserve gives nil where Prometheus gives no whole answer: the verdict then is Invalid, and the trial holds.
func (r *Reconciler) tryObserve(ctx context.Context, p *pass, length time.Duration) *signal.Window {
	window, err := r.observe(ctx, p, length)
	if err != nil {
		logf.FromContext(ctx).V(1).Info("Prometheus gave no window", "error", err.Error())
		return nil
	}
	return &window
}

func (p *pass) request(length time.Duration) signal.Request {
	return signal.Request{
		Provider: p.policy.Spec.Metrics.Provider, Namespace: p.policy.Namespace, PodPrefix: p.policy.Spec.TargetRef.Name + "-",
		Container: p.target.Container, Latency: signal.LatencyOf(p.policy.Spec.Metrics.Latency), Queries: p.plan.queries, Length: length, End: p.now,
	}
}

// errSilent stands for a provider that is not asked, since it left others waiting.
var errSilent = errors.New("the Prometheus provider does not answer in time; one look at a time asks it")

// silentAfter is how many questions in a row go unanswered until a provider counts as silent. A single target whose queries are too
// heavy does not reach it: others are answered in between.
const silentAfter = 3

// silences keeps a Prometheus that swallows questions from holding up all policies: their looks share a few workers, and a guardrail
// must not wait behind a hundred timeouts.
type silences struct {
	mutex sync.Mutex
	of    map[string]silence
}

type silence struct{ inARow, asking int }

// ask says whether a provider may be asked now. Whoever asks it must say afterwards whether it kept silent.
func (s *silences) ask(provider string) (done func(silent bool), ok bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	state := s.of[provider]
	if state.inARow >= silentAfter && state.asking > 0 {
		return nil, false
	}
	state.asking++
	s.set(provider, state)
	return func(silent bool) { s.heard(provider, silent) }, true
}

func (s *silences) heard(provider string, silent bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	state := s.of[provider]
	state.asking--
	state.inARow++
	if !silent {
		state.inARow = 0
	}
	s.set(provider, state)
}

func (s *silences) set(provider string, state silence) {
	if s.of == nil {
		s.of = map[string]silence{}
	}
	if s.of[provider] = state; state == (silence{}) {
		delete(s.of, provider)
	}
}
