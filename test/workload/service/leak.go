package main

import (
	"context"
	"runtime"
	"time"
)

// leakEvery is how often a leak grows: often enough to look steady in a scrape.
const leakEvery = 100 * time.Millisecond

// leakBytes keeps so many more bytes every second until the context ends. It writes to them, for memory that was never
// written to takes none.
func leakBytes(ctx context.Context, perSecond int) {
	var kept [][]byte
	leak(ctx, perSecond, func(count int) {
		grown := make([]byte, count)
		for index := range grown {
			grown[index] = 1
		}
		kept = append(kept, grown)
	})
	runtime.KeepAlive(kept)
}

// leakGoroutines starts so many more goroutines every second, as a service does whose handlers wait for an answer that never comes.
func leakGoroutines(ctx context.Context, perSecond int) {
	leak(ctx, perSecond, func(count int) {
		for range count {
			go func() { <-ctx.Done() }()
		}
	})
}

// leak calls grow with how many more it takes to keep the rate, until the context ends.
func leak(ctx context.Context, perSecond int, grow func(count int)) {
	ticker := time.NewTicker(leakEvery)
	defer ticker.Stop()
	last, owed := time.Now(), 0.0
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			owed += now.Sub(last).Seconds() * float64(perSecond)
			last = now
			count := int(owed)
			owed -= float64(count)
			grow(count)
		}
	}
}
