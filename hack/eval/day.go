package main

import (
	"math/rand/v2"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// daySeeds is how many services are watched for a day, with each objective.
const daySeeds = 8

// day watches services under a load that swings by half, for 24 hours.
func (e *evaluation) day() []figure {
	objectives := []v1alpha1.Minimize{v1alpha1.MinimizeGCCPU, v1alpha1.MinimizeMemory, v1alpha1.MinimizeLatency}
	n := e.scaled(daySeeds) * len(objectives)
	taken := e.take(n)
	type watched struct {
		reversals, promotions int
		err                   error
	}
	all := each(n, e.progress("reversals_24h", n), func(i int) watched {
		service := drawer{rand.New(rand.NewPCG(taken.First+uint64(i), drawing))}.draw()
		service.noise.Diurnal = 0.5
		o := service.operator(taken.First+uint64(i), objectives[i%len(objectives)])
		err := o.watch(24 * time.Hour)
		return watched{reversals(o.ended), len(o.promotions()), err}
	})
	most, failed, promotions := 0, 0, 0
	groups := make([]group, len(objectives))
	for i, one := range all {
		most = max(most, one.reversals)
		failed += count(one.err != nil)
		promotions += one.promotions
		g := &groups[i%len(objectives)]
		g.Case, g.N = string(objectives[i%len(objectives)]), g.N+1
		if g.Reasons == nil {
			g.Reasons = map[string]int{}
		}
		g.Reasons["promotions"] += one.promotions
		g.Reasons["reversals"] += one.reversals
	}
	f := figure{Name: "reversals_24h", What: "promotions against the direction of the one before, within a day, the most of any service", Value: float64(most),
		N: n - failed, AtMost: atMost(2), Seeds: taken, Groups: groups}
	return []figure{f.judged()}
}

// watch lets the operator look at every interval.
func (o *operator) watch(length time.Duration) error {
	for end := o.now.Add(length); o.now.Before(end); {
		if _, err := o.step(); err != nil {
			return err
		}
		o.run(interval)
	}
	return nil
}

// reversals counts the promotions that go the other way than the promotion before.
func reversals(records []v1alpha1.TrialRecord) int {
	turns, before := 0, 0.0
	for _, record := range records {
		if record.Result != v1alpha1.TrialPromoted {
			continue
		}
		from, err := settings.FromAPI(record.Previous.Settings)
		to, alsoErr := settings.FromAPI(record.Candidate)
		if err != nil || alsoErr != nil || from.GOGC == settings.Off {
			continue
		}
		direction := float64(to.EffectiveGOGC() - from.EffectiveGOGC())
		if direction*before < 0 {
			turns++
		}
		before = direction
	}
	return turns
}
