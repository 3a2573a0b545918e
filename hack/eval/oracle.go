package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/test/simulation"
)

const (
	services = 240
	// patience is how much simulated time a service gets to converge.
	patience = 96 * time.Hour
	// drawing keeps the draws of services apart from the noise of their fleets.
	drawing = 0xd1a3
)

// tuned is how the product did on one service.
type tuned struct {
	drawn
	err               error
	final             settings.Settings
	trials, shortages int
	// cpuRatio and gcRatio are of the best feasible rung over the final one, worthGCRatio of the best that a policy's least gain admits.
	cpuRatio, gcRatio, worthGCRatio float64
	// breaches are promoted settings that in truth are not feasible.
	breaches           int
	unconstrainedFails bool
	endings            map[string]int
}

// feedback lets the product tune services whose best rung is known.
func (e *evaluation) feedback() []figure {
	n := e.scaled(services)
	taken := e.take(n)
	all := each(n, e.progress("oracle_ratio", n), func(i int) tuned { return tune(taken.First + uint64(i)) })
	var cpu, gc, worth, trials []float64
	breaches, constrained, stuck, short := 0, 0, 0, 0
	reasons := map[string]int{}
	for _, one := range all {
		if one.err != nil {
			stuck++
			continue
		}
		cpu, gc, trials = append(cpu, one.cpuRatio), append(gc, one.gcRatio), append(trials, float64(one.trials))
		worth = append(worth, one.worthGCRatio)
		breaches += one.breaches
		constrained += count(one.unconstrainedFails)
		short += count(one.shortages > 0 && one.trials == 0)
		for reason, n := range one.endings {
			reasons[reason] += n
		}
	}
	share := float64(constrained) / float64(max(1, len(cpu)))
	number := func(name, what string, value float64) figure {
		return figure{Name: name, What: what, Value: value, N: len(cpu), Seeds: taken, Passed: true}
	}
	figures := []figure{
		bounded(number("oracle_ratio_cpu_median", "CPU time of a request at the best feasible rung over that at the final one", quantile(cpu, 0.5)), atLeast(0.95), nil),
		bounded(number("oracle_ratio_cpu_tenth", "the same, of the worst tenth", quantile(cpu, 0.1)), atLeast(0.85), nil),
		bounded(number("oracle_ratio_gc_median", "the collector's CPU time of a request at the best feasible rung over that at the final one", quantile(gc, 0.5)), atLeast(0.95), nil),
		bounded(number("oracle_ratio_gc_tenth", "the same, of the worst tenth", quantile(gc, 0.1)), atLeast(0.85), nil),
		number("oracle_ratio_gc_worth_tenth", "the same, where rungs that save less than 1 % of all CPU time against the one before are no candidates", quantile(worth, 0.1)),
		bounded(number("trials_to_converge", "trials until there is nothing more to try, the median", quantile(trials, 0.5)), nil, atMost(4)),
		bounded(number("slo_breaches", "promoted settings that in truth break an objective, or outgrow nine tenths of the memory limit", float64(breaches)), nil, atMost(0)),
		bounded(number("oracle_constrained", "share of services whose best rung, were there no objectives, breaks one", share), atLeast(0.3), nil),
		number("oracle_never_started", "services without a trial, since the pods are too unlike each other", float64(short)),
		bounded(number("oracle_failed", "services whose trials did not end", float64(stuck)), nil, atMost(0)),
	}
	figures[0].Groups = []group{{Case: "ends of all trials", N: sumOf(reasons), Reasons: reasons}}
	return figures
}

func bounded(f figure, least, most *float64) figure {
	f.AtLeast, f.AtMost = least, most
	return f.judged()
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func sumOf(counts map[string]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}

// quantile interpolates; NaN of nothing.
func quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.SortedFunc(slices.Values(values), cmp.Compare[float64])
	position := share * float64(len(sorted)-1)
	below := int(position)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (position-float64(below))*(sorted[above]-sorted[below])
}

// tune draws a service and lets the product tune it.
func tune(seed uint64) tuned {
	one := tuned{drawn: drawer{rand.New(rand.NewPCG(seed, drawing))}.draw(), endings: map[string]int{}}
	o := one.operator(seed, v1alpha1.MinimizeGCCPU)
	one.err = o.converge(patience)
	one.final, one.trials, one.shortages = o.settings(), len(o.ended), o.shortages
	for _, record := range o.ended {
		one.endings[string(record.Result)+" "+record.Reason]++
	}
	for _, set := range o.promotions() {
		if !one.feasible(set) {
			one.breaches++
		}
	}
	one.compare()
	return one
}

func (o drawn) operator(seed uint64, minimize v1alpha1.Minimize) *operator {
	op := &operator{target: newTarget(o.service, o.noise, o.replicas, o.start, seed), minimize: minimize}
	op.plan.SLOs, op.plan.Gain.Minimize = o.slos, minimize
	op.fleet.MeasureMemoryAs(memoryObjective)
	return op
}

// compare holds the final settings against the best that there are.
func (t *tuned) compare() {
	cpu := func(b simulation.Behaviour) float64 { return b.CPUSecondsPerRequest }
	gc := func(b simulation.Behaviour) float64 { return b.GCSecondsPerRequest }
	final := t.under(t.final)
	t.cpuRatio = cpu(t.best(cpu, t.feasible)) / cpu(final)
	t.gcRatio = gc(t.best(gc, t.feasible)) / gc(final)
	t.worthGCRatio = gc(t.best(gc, t.worth())) / gc(final)
	unconstrained := t.bestSettings(gc, func(settings.Settings) bool { return true })
	objectives, _ := t.excesses(unconstrained)
	t.unconstrainedFails = objectives > 1
}

// best behaviour among the start and all rungs that will do.
func (t *tuned) best(of func(simulation.Behaviour) float64, will func(settings.Settings) bool) simulation.Behaviour {
	return t.under(t.bestSettings(of, will))
}

func (t *tuned) bestSettings(of func(simulation.Behaviour) float64, will func(settings.Settings) bool) settings.Settings {
	best := t.start
	for _, gogc := range rungs {
		if set := t.at(gogc); will(set) && of(t.under(set)) < of(t.under(best)) {
			best = set
		}
	}
	return best
}

// worth says which feasible rungs save enough: from the start up, each against the one before.
func (t *tuned) worth() func(settings.Settings) bool {
	worth := map[settings.Settings]bool{}
	last := t.under(t.start)
	for _, gogc := range rungs {
		next := t.under(t.at(gogc))
		if next.GCSecondsPerRequest >= last.GCSecondsPerRequest {
			continue
		}
		if !t.feasible(t.at(gogc)) || last.GCSecondsPerRequest-next.GCSecondsPerRequest < standardGain.MinCPUShare*t.under(t.start).CPUSecondsPerRequest {
			break
		}
		worth[t.at(gogc)] = true
		last = next
	}
	return func(set settings.Settings) bool { return worth[set] }
}
