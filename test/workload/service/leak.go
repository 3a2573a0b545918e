package main

import (
	"context"
	"runtime"
	"time"
)

// leakEvery is how often a leak grows: often enough to look steady in a scrape.
const leakEvery = 100 * time.Millisecond

// leak keeps so many more bytes every second until the context ends. It writes to them, for memory that was never
// written to takes none.
func leak(ctx context.Context, bytesPerSecond int) {
	ticker := time.NewTicker(leakEvery)
	defer ticker.Stop()
	var kept [][]byte
	last, owed := time.Now(), 0.0
	for {
		select {
		case <-ctx.Done():
			runtime.KeepAlive(kept)
			return
		case now := <-ticker.C:
			owed += now.Sub(last).Seconds() * float64(bytesPerSecond)
			last = now
			grown := make([]byte, int(owed))
			owed -= float64(len(grown))
			for index := range grown {
				grown[index] = 1
			}
			kept = append(kept, grown)
		}
	}
}
