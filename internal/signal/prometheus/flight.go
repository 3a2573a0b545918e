package prometheus

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// flight is one errand to Prometheus that several wait for. It ends early when the last of them gives up.
type flight struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int
}

// failure is how an errand of a slot went wrong. Until the slot is over nobody tries again: this is what keeps many policies from asking a
// failing Prometheus once each.
type failure struct {
	slot time.Time
	err  error
}

// errand is something to fetch once for all who want it.
type errand struct {
	key  string
	slot time.Time
	// ready says that it is there already.
	ready func() bool
	// plan says how to fetch it, and fetching gives what then keeps it. plan, keep and ready are called under the fleet's lock.
	plan func() func(context.Context) (keep func(), err error)
}

var errClosed = errors.New("the source of measurements is closed")

// await returns once the errand is done, by somebody else if need be. Who stops waiting does not end it for the others.
func (f *fleet) await(ctx context.Context, e errand) error {
	for {
		f.mutex.Lock()
		running, err := f.join(e)
		f.mutex.Unlock()
		if running == nil || err != nil {
			return err
		}
		select {
		case <-running.done:
		case <-ctx.Done():
			f.leave(running)
			return fmt.Errorf("wait for Prometheus provider %s: %w", f.endpoint.name, ctx.Err())
		}
	}
}

// join gives no flight where there is nothing to wait for.
func (f *fleet) join(e errand) (*flight, error) {
	if e.ready() {
		return nil, nil
	}
	if failed, ok := f.failures[e.key]; ok && failed.slot.Equal(e.slot) {
		return nil, failed.err
	}
	if f.ctx.Err() != nil {
		return nil, errClosed
	}
	running, ok := f.flights[e.key]
	if !ok {
		running = f.depart(e)
	}
	running.waiting++
	return running, nil
}

func (f *fleet) leave(running *flight) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	running.waiting--
	if running.waiting == 0 {
		running.cancel()
	}
}

func (f *fleet) depart(e errand) *flight {
	ctx, cancel := context.WithCancel(f.ctx)
	running := &flight{done: make(chan struct{}), cancel: cancel}
	f.flights[e.key] = running
	fetch := e.plan()
	f.running.Go(func() {
		defer cancel()
		keep, err := fetch(ctx)
		f.mutex.Lock()
		defer f.mutex.Unlock()
		switch {
		case err == nil:
			keep()
		case ctx.Err() == nil:
			f.failures[e.key] = failure{e.slot, err}
		}
		delete(f.flights, e.key)
		close(running.done)
	})
	return running
}

// close ends all flights and waits for them.
func (f *fleet) close() {
	f.stop()
	f.running.Wait()
}
