package main

import (
	"fmt"
	"io"
	"time"
)

// tellEvery is how often progress is told.
const tellEvery = 5 * time.Second

// progress tells a person how far the runs are. Whoever adds does so one at a time.
type progress struct {
	out         io.Writer
	total, done int
	began, told time.Time
}

func newProgress(out io.Writer, total int) *progress {
	now := time.Now()
	return &progress{out: out, total: total, began: now, told: now}
}

func (p *progress) add() {
	p.done++
	now := time.Now()
	if now.Sub(p.told) < tellEvery && p.done < p.total {
		return
	}
	p.told = now
	spent := now.Sub(p.began)
	left := time.Duration(float64(spent) / float64(p.done) * float64(p.total-p.done))
	fmt.Fprintf(p.out, "%5d of %d runs, %s spent, about %s left\n", p.done, p.total, spent.Round(time.Second), left.Round(time.Second))
}
