package cluster

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// step is one part of starting a cluster. Steps run as soon as those before them are done, so
// what does not depend on each other starts at the same time.
type step struct {
	name  string
	after []string
	run   func(ctx context.Context) error
}

// runSteps runs all steps, and prints one line when each is done. The first failure stops the rest.
func runSteps(ctx context.Context, output io.Writer, started time.Time, steps []step) error {
	done := map[string]chan struct{}{}
	for _, s := range steps {
		done[s.name] = make(chan struct{})
	}
	var printing sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range steps {
		group.Go(func() error {
			for _, name := range s.after {
				select {
				case <-done[name]:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			began := time.Now()
			if err := s.run(ctx); err != nil {
				return err
			}
			printing.Lock()
			fmt.Fprintf(output, "%5.1f s  %s (%.1f s)\n", time.Since(started).Seconds(), s.name, time.Since(began).Seconds())
			printing.Unlock()
			close(done[s.name])
			return nil
		})
	}
	return group.Wait()
}
