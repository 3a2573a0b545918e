package main

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestGoroutinesLeakAtTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(t.Context())
		go leakGoroutines(ctx, 5)
		timer := time.NewTimer(10*time.Second + leakEvery/2)
		<-timer.C
		synctest.Wait()
		grown := runtime.NumGoroutine() - before - 1 // the leak itself is one
		cancel()
		synctest.Wait()
		if left := runtime.NumGoroutine() - before; grown < 49 || grown > 51 || left > 0 {
			t.Errorf("in 10 s it starts %d goroutines, want 50, and leaves %d at its end", grown, left)
		}
	})
}

func TestBytesLeakAtTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perSecond = 8 << 20
		before := liveHeap()
		ctx, cancel := context.WithCancel(t.Context())
		go leakBytes(ctx, perSecond)
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
