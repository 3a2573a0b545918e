package proof

import (
	"runtime"
	"sync"
)

// Total is what many runs have shown together.
type Total struct {
	Runs          int
	Calls, Passes int
	Handovers     int
	Faults        map[string]int
	Transitions   map[Transition]int
	Endings       map[string]int
	// Violations by invariant, each with the seed.
	Violations map[string][]Seeded
}

// Seeded is a violation and the seed that shows it.
type Seeded struct {
	Seed uint64
	Violation
}

// NewTotal is of no runs.
func NewTotal() *Total {
	return &Total{Faults: map[string]int{}, Transitions: map[Transition]int{}, Endings: map[string]int{}, Violations: map[string][]Seeded{}}
}

// Add one run.
func (t *Total) Add(outcome Outcome) {
	t.Runs++
	t.Calls += outcome.Calls
	t.Passes += outcome.Passes
	t.Handovers += outcome.Handovers
	sum(t.Faults, outcome.Faults)
	sum(t.Transitions, outcome.Transitions)
	sum(t.Endings, outcome.Endings)
	for _, found := range outcome.Violations {
		t.Violations[found.Invariant] = append(t.Violations[found.Invariant], Seeded{outcome.Seed, found})
	}
}

func sum[K comparable](into, from map[K]int) {
	for key, count := range from {
		into[key] += count
	}
}

// RunMany plays runs on all processors, and hands on each outcome, one at a time. It ends early where done says so.
func RunMany(runs []Options, done func(Outcome) bool) {
	var lock sync.Mutex
	var group sync.WaitGroup
	next, over := 0, false
	take := func() (Options, bool) {
		lock.Lock()
		defer lock.Unlock()
		if over || next == len(runs) {
			return Options{}, false
		}
		next++
		return runs[next-1], true
	}
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for options, ok := take(); ok; options, ok = take() {
				outcome := Run(options)
				lock.Lock()
				over = done(outcome) || over
				lock.Unlock()
			}
		})
	}
	group.Wait()
}

// Seeds are so many runs from a seed on.
func Seeds(first uint64, count int) []Options {
	runs := make([]Options, count)
	for i := range runs {
		runs[i].Seed = first + uint64(i)
	}
	return runs
}
