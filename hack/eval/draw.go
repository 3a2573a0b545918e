package main

import (
	"math"
	"math/rand/v2"

	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
	"github.com/gopacer/gopacer/test/simulation"
)

// rungs are what Feedback may try with the bounds that it has by default.
var rungs = []settings.GOGC{25, 35, 50, 75, 100, 150, 200}

// bound is what keeps the highest rung from being the best one.
type bound string

const (
	// boundNone: every rung is feasible.
	boundNone bound = "none"
	// boundPressure: from some rung on the kernel reclaims pages that requests wait for, and the objective for latency is broken.
	boundPressure bound = "latency"
	// boundQuery: the policy's own objective bounds the resident memory.
	boundQuery bound = "memory objective"
	// boundLimit: the container has too little memory.
	boundLimit bound = "memory limit"
)

// memoryObjective is the name of the objective that bounds memory by a query of the policy's own.
const memoryObjective = "memory"

// drawn is a service with its policy and its truth.
type drawn struct {
	service  simulation.Service
	noise    simulation.Noise
	replicas int
	start    settings.Settings
	slos     []verdict.SLO
	bound    bound
}

// drawer makes services from a seed.
type drawer struct{ random *rand.Rand }

func (d drawer) between(low, high float64) float64 { return low + (high-low)*d.random.Float64() }
func (d drawer) wide(low, high float64) float64 {
	return low * math.Exp(d.random.Float64()*math.Log(high/low))
}

// draw makes services until one is no question of luck: where a rung lies within a hair of an objective, nobody could tell within a trial on
// which side, and no answer is right or wrong.
func (d drawer) draw() drawn {
	for {
		one := d.once()
		if one.clear() {
			return one
		}
	}
}

func (d drawer) once() drawn {
	one := drawn{
		service: simulation.Service{
			LiveHeapBytes: d.wide(10, 400) * mebibyte, RootBytes: d.wide(0.5, 8) * mebibyte, AllocatedPerRequestBytes: d.wide(100<<10, 4<<20),
			MarkSecondsPerByte: d.wide(0.4e-9, 2e-9), CycleSeconds: d.between(1e-4, 6e-4), Processors: []float64{1, 2, 4}[d.random.IntN(3)],
			RuntimeBytes: d.between(6, 20) * mebibyte, OtherBytes: d.between(5, 40) * mebibyte, Sigma: d.between(0.5, 0.9), PauseSeconds: d.between(5e-5, 4e-4),
			FailedShare: d.between(0, 0.001),
		},
		noise: simulation.Noise{
			PodSpread: d.between(0.002, 0.025), WithinPod: withinPod, Autocorrelation: d.between(0, 0.8), TrafficSpread: 0.02, SharedLoad: 0.10,
		},
		replicas: 8 + d.random.IntN(9), start: settings.Settings{GOGC: 100},
	}
	if d.random.Float64() >= 0.7 {
		one.start.GOGC = []settings.GOGC{25, 50, 200, settings.Off}[d.random.IntN(4)]
	}
	d.giveWork(&one.service)
	d.bind(&one)
	return one
}

// giveWork chooses how much else a request takes so that the collector has its share of the CPU time at GOGC=100, and how many requests come.
func (d drawer) giveWork(s *simulation.Service) {
	share := d.wide(0.05, 0.40)
	s.RequestCPUSeconds, s.RequestsPerSecond = 1, 1e-3 // of no consequence for the collector's time, while hardly anything is asked
	gc := s.AllocatedPerRequestBytes / (s.LiveHeapBytes + s.RootBytes) * ((s.LiveHeapBytes+s.RootBytes)*s.MarkSecondsPerByte + s.CycleSeconds)
	s.RequestCPUSeconds = gc * (1 - share) / share
	s.RequestsPerSecond = d.between(0.15, 0.45) * s.Processors / (gc / share)
	s.MedianSeconds = math.Max(1.5*s.RequestCPUSeconds, d.wide(0.004, 0.06))
}

// bind chooses memory and objectives.
func (d drawer) bind(one *drawn) {
	roomy := one.under(settings.Settings{GOGC: 200}).ResidentBytes
	if one.start.GOGC == settings.Off {
		one.start.MemoryLimitBytes = int64(one.under(settings.Settings{GOGC: settings.GOGC(d.wide(60, 250))}).ResidentBytes - one.service.OtherBytes)
		roomy = math.Max(roomy, one.under(one.start).ResidentBytes)
	}
	one.service.MemoryLimitBytes = roomy / d.between(0.5, 0.75)
	last, next := d.lastFeasible(*one)
	switch {
	case next == 0:
		one.bound = boundNone
	case d.random.Float64() < 0.4:
		one.bound = boundPressure
		one.service.PressureFrom = d.amid(*one, last, next) / one.service.MemoryLimitBytes
		one.service.PressureShare = d.between(0.5, 1)
	case d.random.Float64() < 0.6:
		one.bound = boundQuery
		one.slos = append(one.slos, verdict.SLO{Name: memoryObjective, Query: true, Max: d.amid(*one, last, next)})
	default:
		one.bound = boundLimit
		one.service.MemoryLimitBytes = one.under(settings.Settings{GOGC: last}).ResidentBytes / d.between(0.78, 0.84)
	}
	one.slos = append(one.slos, d.latencyObjective(*one), verdict.SLO{Name: "errors", AllowedShare: 0.01})
}

// amid is an amount of memory between those of two rungs.
func (d drawer) amid(of drawn, last, next settings.GOGC) float64 {
	low, high := of.under(settings.Settings{GOGC: last}).ResidentBytes, of.under(settings.Settings{GOGC: next}).ResidentBytes
	return low + d.between(0.4, 0.6)*(high-low)
}

// lastFeasible is the rung beyond which the service shall not go, and the next one: at or above the start. In half of the services there is none.
func (d drawer) lastFeasible(of drawn) (last, next settings.GOGC) {
	if of.start.GOGC == settings.Off || of.start.GOGC >= 200 || d.random.Float64() < 0.4 {
		return 0, 0
	}
	var possible []int
	for i, gogc := range rungs[:len(rungs)-1] {
		if gogc >= of.start.GOGC {
			possible = append(possible, i)
		}
	}
	at := possible[d.random.IntN(len(possible))]
	return rungs[at], rungs[at+1]
}

// latencyObjective is at an edge above most requests, and allows somewhat more than the service is slow at the start.
func (d drawer) latencyObjective(of drawn) verdict.SLO {
	b := of.under(of.start)
	for _, edge := range simulation.Edges {
		if slow := b.SlowShare(edge); slow < 0.01 {
			return verdict.SLO{Name: "latency", ThresholdSeconds: edge, AllowedShare: 0.002 + d.between(1.5, 2.5)*slow}
		}
	}
	return verdict.SLO{Name: "latency", ThresholdSeconds: 10, AllowedShare: 0.01}
}

func (o drawn) under(set settings.Settings) simulation.Behaviour {
	return o.service.Under(set, o.service.RequestsPerSecond)
}

// at is what the product makes of a rung: GOMEMLIMIT is nine tenths of the memory limit where the process is predicted to stay below.
func (o drawn) at(gogc settings.GOGC) settings.Settings {
	backstop := int64(0.9 * o.service.MemoryLimitBytes)
	set := settings.Settings{GOGC: gogc, MemoryLimitBytes: backstop}
	if o.under(settings.Settings{GOGC: gogc}).ResidentBytes > float64(backstop) {
		set.MemoryLimitBytes = 0
	}
	return set
}

// excesses are how far the service is beyond each of its limits with the settings: above 1 is beyond.
func (o drawn) excesses(set settings.Settings) (objectives, memory float64) {
	b := o.under(set)
	memory = b.ResidentBytes / (verdict.MaxMemoryShare * o.service.MemoryLimitBytes)
	if b.Limited {
		memory = math.Inf(1)
	}
	for _, slo := range o.slos {
		switch {
		case slo.Query:
			objectives = math.Max(objectives, b.ResidentBytes/slo.Max)
		case slo.ThresholdSeconds > 0:
			objectives = math.Max(objectives, b.SlowShare(slo.ThresholdSeconds)/slo.AllowedShare)
		default:
			objectives = math.Max(objectives, o.service.FailedShare/slo.AllowedShare)
		}
	}
	return objectives, memory
}

func (o drawn) feasible(set settings.Settings) bool {
	objectives, memory := o.excesses(set)
	return objectives <= 1 && memory <= 1
}

// clear says that the start is well within its limits, and that no rung above is within a hair of one.
func (o drawn) clear() bool {
	if objectives, memory := o.excesses(o.start); objectives > 0.9 || memory > 0.96 {
		return false
	}
	for _, gogc := range rungs {
		objectives, memory := o.excesses(o.at(gogc))
		if gogc > o.start.GOGC && (near(objectives, 0.9, 1.3) && !o.queryNear(gogc) || near(memory, 0.97, 1.04)) {
			return false
		}
	}
	return true
}

// queryNear: a level of memory hardly sways, so that a bound that is a twentieth off is not near.
func (o drawn) queryNear(gogc settings.GOGC) bool {
	objectives, _ := o.excesses(o.at(gogc))
	return o.bound == boundQuery && !near(objectives, 0.95, 1.05)
}

func near(value, low, high float64) bool { return value > low && value < high }
