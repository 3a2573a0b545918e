package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestLeakKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perSecond = 8 << 20
		before := liveHeap()
		ctx, cancel := context.WithCancel(t.Context())
		go leak(ctx, perSecond)
		timer := time.NewTimer(3 * time.Second)
		<-timer.C
		synctest.Wait()
		grown := liveHeap() - before
		cancel()
		if want := int64(3 * perSecond); grown < want*95/100 || grown > want*110/100 {
			t.Errorf("in 3 s it keeps %d bytes, want about %d", grown, want)
		}
	})
}
