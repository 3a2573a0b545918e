package main

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
)

func TestShareIsExactAndSpread(t *testing.T) {
	for _, fraction := range []float64{0, 0.001, 0.1, 1.0 / 3, 0.5, 0.999, 1} {
		picked, gap := newShare(fraction), 0
		taken := 0
		for range 10_000 {
			gap++
			if picked.take() {
				taken++
				gap = 0
			}
			if fraction > 0 && float64(gap) > math.Ceil(1/fraction)+1 {
				t.Fatalf("share %v leaves a gap of %d requests", fraction, gap)
			}
		}
		if want := 10_000 * fraction; math.Abs(float64(taken)-want) > 1 {
			t.Errorf("share %v takes %d of 10000, want %v", fraction, taken, want)
		}
	}
}

func TestShareCountsEveryRequestOnce(t *testing.T) {
	picked := newShare(0.1)
	var taken atomic.Int64
	var requests sync.WaitGroup
	for range 10 {
		requests.Go(func() {
			for range 1000 {
				if picked.take() {
					taken.Add(1)
				}
			}
		})
	}
	requests.Wait()
	if taken.Load() != 1000 {
		t.Errorf("took %d of 10000 requests, want 1000", taken.Load())
	}
}
