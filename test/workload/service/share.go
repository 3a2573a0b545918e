package main

import (
	"math"
	"sync/atomic"
)

// shareScale is the precision of a share: one in a million.
const shareScale = 1_000_000

// share picks a fixed part of the requests, spread evenly: the same requests in every run, so that a test knows how many.
// The zero share picks none.
type share struct {
	parts   uint64 // of shareScale
	counted atomic.Uint64
}

func newShare(fraction float64) *share {
	return &share{parts: uint64(math.Round(fraction * shareScale))}
}

// take counts one request and tells whether it belongs to the share.
func (s *share) take() bool {
	if s.parts == 0 {
		return false
	}
	count := s.counted.Add(1)
	return count*s.parts/shareScale > (count-1)*s.parts/shareScale
}
