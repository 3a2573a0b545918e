package main

import (
	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
	"github.com/gopacer/gopacer/test/simulation"
)

// cell is a kind of trial that is run many times.
type cell struct {
	layout    string
	podSpread float64
	// name of the case, for people.
	name  string
	gogc  settings.GOGC
	fault simulation.Fault
	slos  []verdict.SLO
	// tier of the policy; Standard where it is nil.
	tier *tier
	n    int
}

// autocorrelations that the trials of a cell take in turn.
var autocorrelations = []float64{0, 0.4, 0.8}

// gainGOGC saves a fifth of the collector's CPU time against 100.
const gainGOGC = 125

// evaluation runs figures one after another; each takes the seeds that follow on those of the one before.
type evaluation struct {
	progress func(name string, total int) *progress
	seed     uint64
	scale    float64
}

// take reserves seeds.
func (e *evaluation) take(n int) seeds {
	taken := seeds{First: e.seed, Count: n}
	e.seed += uint64(n)
	return taken
}

// scaled is how many runs are done instead of n.
func (e *evaluation) scaled(n int) int { return max(1, int(e.scale*float64(n)+0.5)) }

// run does all trials of the cells, and gives their endings by cell.
func (e *evaluation) run(name string, cells []cell) ([][]ending, seeds) {
	var of []int
	for i, c := range cells {
		for range e.scaled(c.n) {
			of = append(of, i)
		}
	}
	taken := e.take(len(of))
	all := each(len(of), e.progress(name, len(of)), func(i int) ending { return cells[of[i]].trial(taken.First+uint64(i), i) })
	endings := make([][]ending, len(cells))
	for i, one := range all {
		endings[of[i]] = append(endings[of[i]], one)
	}
	return endings, taken
}

func (c cell) trial(seed uint64, turn int) ending {
	b := bench{
		service: shop(), noise: noiseOf(c.podSpread, autocorrelations[turn%len(autocorrelations)]), steps: layouts[c.layout],
		baseline: settings.Settings{GOGC: 100}, candidate: settings.Settings{GOGC: c.gogc}, fault: c.fault, slos: c.slos, tier: standardTier, seed: seed,
	}
	if c.tier != nil {
		b.tier = *c.tier
	}
	return b.run()
}

// tally counts among the trials that were started those that ended so.
func tally(c cell, endings []ending, so func(ending) bool) group {
	g := group{Layout: c.layout, Case: c.name, PodSpread: &c.podSpread, Reasons: map[string]int{}}
	for _, step := range layouts[c.layout] {
		g.Steps = append(g.Steps, step.String())
	}
	hits := 0
	for _, one := range endings {
		if one.reason == notStarted {
			g.NotStarted++
			continue
		}
		g.N++
		g.Reasons[one.reason]++
		if so(one) {
			hits++
		}
	}
	g.count(hits)
	return g
}

func (g *group) count(hits int) {
	if g.N > 0 {
		g.Share = float64(hits) / float64(g.N)
	}
	low, high := wilson(hits, g.N)
	g.Interval = [2]float64{low, high}
}

// merge pools groups into one.
func merge(groups []group) group {
	var all group
	hits := 0.0
	for _, g := range groups {
		all.N += g.N
		all.NotStarted += g.NotStarted
		hits += g.Share * float64(g.N)
	}
	all.count(int(hits + 0.5))
	return all
}

func promoted(e ending) bool { return e.result == v1alpha1.TrialPromoted }
func reverted(e ending) bool { return !promoted(e) }
func harmed(e ending) bool   { return reverted(e) && harmful(e.reason) }

// shareFigure is a figure of pooled groups.
func shareFigure(name, what string, groups []group, taken seeds) figure {
	all := merge(groups)
	return figure{Name: name, What: what, Value: all.Share, Interval: &all.Interval, N: all.N, Seeds: taken, Groups: groups}
}
