package main

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// each does the work for every number below n, on all processors, and returns the results in order.
func each[T any](n int, done *progress, work func(i int) T) []T {
	results := make([]T, n)
	var group sync.WaitGroup
	var taken atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := taken.Add(1) - 1; i < int64(n); i = taken.Add(1) - 1 {
				results[i] = work(int(i))
				done.add()
			}
		})
	}
	group.Wait()
	return results
}

// progress tells a person how far a figure is.
type progress struct {
	out   io.Writer
	name  string
	total int
	began time.Time

	lock sync.Mutex
	done int
	told time.Time
}

// tellEvery is how often progress is told.
const tellEvery = 5 * time.Second

func newProgress(out io.Writer, name string, total int) *progress {
	now := time.Now()
	return &progress{out: out, name: name, total: total, began: now, told: now}
}

func (p *progress) add() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.done++
	now := time.Now()
	if now.Sub(p.told) < tellEvery && p.done < p.total {
		return
	}
	p.told = now
	spent := now.Sub(p.began)
	left := time.Duration(float64(spent) / float64(p.done) * float64(p.total-p.done))
	fmt.Fprintf(p.out, "%-22s %5d of %d, %s spent, about %s left\n", p.name, p.done, p.total, spent.Round(time.Second), left.Round(time.Second))
}
