package controllers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/signal/prometheus"
)

func TestSilences(t *testing.T) {
	var s silences
	answer := func(provider string, silent bool) {
		t.Helper()
		done, ok := s.ask(provider)
		if !ok {
			t.Fatalf("%s may not be asked", provider)
		}
		done(silent)
	}
	for range silentAfter - 1 {
		answer("a", true)
	}
	answer("a", false) // one heavy query among others
	for range silentAfter {
		answer("a", true)
	}
	probe, ok := s.ask("a")
	if !ok {
		t.Fatal("nobody asks a silent provider any more")
	}
	if _, ok := s.ask("a"); ok {
		t.Error("two looks at a time wait for a silent provider")
	}
	answer("b", true)
	answer("b", false)
	probe(false)
	first, ok := s.ask("a")
	second, alsoOK := s.ask("a")
	if !ok || !alsoOK {
		t.Fatal("it answers again, and is not asked")
	}
	first(false)
	second(false)
	if len(s.of) > 0 {
		t.Errorf("it remembers providers that answer: %v", s.of)
	}
}

// blackHole swallows every question until its time is over.
type blackHole struct {
	deadlines []time.Time
}

func (b *blackHole) ScrapeInterval(string) (time.Duration, error) { return 5 * time.Second, nil }

func (b *blackHole) Observe(ctx context.Context, _ signal.Request) (signal.Window, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return signal.Window{}, errors.New("a question without a deadline")
	}
	b.deadlines = append(b.deadlines, deadline)
	return signal.Window{}, context.DeadlineExceeded
}

// TestObserveDeadline: all questions of one look share one deadline.
func TestObserveDeadline(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	policy := w.run(slotsTaken)
	warm := policy.Status.Trial.VerifiedAt.DeepCopy()
	policy.Status.Trial.WarmAt = warm
	w.must(w.server.Status().Update(t.Context(), policy))
	w.pass(time.Minute)
	hole := &blackHole{}
	w.reconciler.Observer = hole
	w.mustTurn()
	if len(hole.deadlines) != 2 || !hole.deadlines[0].Equal(hole.deadlines[1]) || time.Until(hole.deadlines[0]) > observeTimeout {
		t.Errorf("the deadlines are %v", hole.deadlines)
	}
}

// TestGathering: while the first window is being gathered nothing is wrong with Prometheus, and the next look comes soon.
func TestGathering(t *testing.T) {
	w := newWorldInMemory(t)
	w.tune(nil)
	w.prometheus.down = fmt.Errorf("%w: %w", prometheus.ErrGathering, context.DeadlineExceeded)
	for range 2 * silentAfter {
		policy := w.rest()
		ready := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionReady)
		if ready.Reason != v1alpha1.ReasonWaitingForTarget || ready.Status != metav1.ConditionUnknown || ready.Message != "gathering the first window of samples" {
			t.Fatalf("Ready is %s", dump(ready))
		}
		if wait := w.mustTurn().RequeueAfter; wait != gatherWait {
			t.Errorf("it looks again after %s", wait)
		}
	}
	if len(w.reconciler.silences.of) > 0 {
		t.Errorf("a provider that answers counts as silent: %v", w.reconciler.silences.of)
	}
}
