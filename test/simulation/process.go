package simulation

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/gopacer/gopacer/internal/settings"
)

// Edges of the latency histogram in seconds, those of client_golang by default (prometheus.DefBuckets).
var Edges = [...]float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, math.Inf(1)}

// runtimeEdges are those to which client_golang cuts the runtime's own histograms.
var runtimeEdges = [...]float64{6.4e-08, 6.4e-07, 7.168e-06, 8.192e-05, 0.000917504, 0.010485760, 0.11744051, math.Inf(1)}

// sample is what a scrape shows of a process: counters since its start, and gauges.
type sample struct {
	requests, failed, requestSeconds              float64
	latency                                       [len(Edges)]float64
	gcSeconds, assistSeconds, cpuSeconds          float64
	cycles, pauseSeconds, allocated, limiterCycle float64
	throttled, periods                            float64
	pauses, waits                                 [len(runtimeEdges)]float64
	resident, marked, goal, longest               float64
}

// swayOf are the measurements of a pod that sway over time.
const (
	swayOfLatency = iota
	swayOfCPU
	swayOfGC
	sways
)

// process is one pod's.
type process struct {
	name      string
	service   Service
	settings  settings.Settings
	traffic   float64
	startedAt time.Time
	sway      [sways]float64
	// pending is CPU time of the cycle under way: the runtime's counters advance only when it ends. phase is the part of it that is done.
	pending, phase float64
	killed         bool
	history        []sample
}

// run lets the process work until the next scrape.
func (p *process) run(random *rand.Rand, noise Noise, requestsPerSecond float64, now time.Time) {
	seconds := ScrapeInterval.Seconds()
	next := p.history[len(p.history)-1]
	b := p.service.Under(p.settings, requestsPerSecond)
	young := 1 + youngBy*math.Exp(-float64(max(0, now.Sub(p.startedAt)))/float64(ripensIn))
	scale := p.swayOn(random, noise)
	requests := poisson(random, requestsPerSecond*seconds)
	p.serve(random, &next, b, requests, young*scale[swayOfLatency])
	gc := b.GCSecondsPerRequest * requests * scale[swayOfGC]
	p.collect(&next, b, requests/requestsPerSecond, gc)
	next.cpuSeconds += gc + requests*p.service.RequestCPUSeconds*young*scale[swayOfCPU]*spread(random, 1, requests)
	next.allocated += requests * p.service.AllocatedPerRequestBytes
	next.periods += 10 * seconds
	next.throttled += 10 * seconds * math.Max(0, math.Min(1, 5*(b.Utilization-0.9)))
	next.resident, next.marked, next.goal = b.ResidentBytes, b.MarkedBytes, b.GoalBytes
	p.killed = p.killed || b.Killed
	p.history = append(p.history, next)
}

// swayOn draws the factors of the interval: a first-order autoregressive process, as it is from scrape to scrape.
func (p *process) swayOn(random *rand.Rand, noise Noise) [sways]float64 {
	keep := math.Pow(math.Max(0, noise.Autocorrelation), ScrapeInterval.Seconds()/30)
	var factors [sways]float64
	for i := range p.sway {
		p.sway[i] = keep*p.sway[i] + math.Sqrt(1-keep*keep)*random.NormFloat64()
		factors[i] = math.Exp(noise.WithinPod*p.sway[i] - noise.WithinPod*noise.WithinPod/2)
	}
	return factors
}

// serve counts the requests into the histogram, where each of them falls by its own chance.
func (p *process) serve(random *rand.Rand, next *sample, b Behaviour, requests, scale float64) {
	left, below := requests, 0.0
	sum := 0.0
	for i, edge := range Edges {
		within := b.latency.within(edge, scale)
		n := left
		if chance := (within - below) / math.Max(1e-12, 1-below); chance < 1 {
			n = binomial(random, left, chance)
		}
		left -= n
		sum += n
		next.latency[i] += sum
		below = within
	}
	variation := math.Sqrt(math.Exp(p.service.Sigma*p.service.Sigma) - 1)
	next.requests += requests
	next.requestSeconds += requests * b.latency.mean() * scale * spread(random, variation, requests)
	next.failed += binomial(random, requests, p.service.FailedShare)
}

// collect lets the collector work for as many seconds at the mean rate, with so much CPU time in all.
func (p *process) collect(next *sample, b Behaviour, seconds, gcSeconds float64) {
	p.pending += gcSeconds
	p.phase += b.CyclesPerSecond * seconds
	ended := math.Floor(p.phase)
	if ended == 0 {
		return
	}
	done := p.pending * ended / p.phase
	p.pending -= done
	p.phase -= ended
	next.cycles += ended
	next.gcSeconds += done
	next.assistSeconds += done * b.AssistShare
	next.pauseSeconds += ended * p.service.PauseSeconds
	next.longest = 2 * p.service.PauseSeconds
	if b.Limited {
		next.limiterCycle = next.cycles
	}
	for i, edge := range runtimeEdges {
		// Two stops a cycle; exponential times, as a rough picture of what the histogram's edges can tell.
		next.pauses[i] += 2 * ended * (1 - math.Exp(-2*edge/p.service.PauseSeconds))
		next.waits[i] += 10 * ended * (1 - math.Exp(-edge/(1e-5+1e-3*b.Utilization*b.Utilization)))
	}
}
