package simulation

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/gopacer/gopacer/internal/settings"
)

// ScrapeInterval of the Prometheus that watches the fleet.
const ScrapeInterval = 15 * time.Second

const (
	// youngBy is how much longer and dearer the very first requests of a process are, ripensIn the time in which that fades to a third.
	youngBy  = 0.5
	ripensIn = 20 * time.Second
	// loadAutocorrelation of the load that all pods share, from scrape to scrape.
	loadAutocorrelation = 0.9
	day                 = 24 * time.Hour
)

// Noise is how unlike the pods are, and how much the world sways. Spreads are standard deviations of logarithms.
type Noise struct {
	// PodSpread is that of the lasting differences between pods, in each of latency, CPU time, collector's CPU time and live heap.
	PodSpread float64
	// WithinPod is that of a pod's measurements over time, Autocorrelation the correlation of two of them that are 30 seconds apart.
	WithinPod, Autocorrelation float64
	// TrafficSpread is how unevenly requests reach the pods.
	TrafficSpread float64
	// SharedLoad is that of the load that all pods share, Diurnal the amplitude of its daily swing: 0.5 for from half to one and a half.
	SharedLoad, Diurnal float64
}

// Fleet is the pods of one service. It is driven scrape by scrape, and the same seed gives the same fleet.
type Fleet struct {
	service   Service
	noise     Noise
	replicas  int
	random    *rand.Rand
	begin     time.Time
	scrapes   int
	load      float64 // logarithm of the shared load
	processes map[string]*process
	order     []*process
	custom    string
}

// NewFleet makes a fleet without a process. Its replicas share the load, however many of them serve.
func NewFleet(service Service, noise Noise, replicas int, begin time.Time, seed uint64) *Fleet {
	return &Fleet{
		service: service, noise: noise, replicas: replicas, random: rand.New(rand.NewPCG(seed, 0x5eed)), begin: begin, processes: map[string]*process{},
	}
}

// MeasureMemoryAs answers an objective's own query, by its name, with the resident bytes of each pod.
func (f *Fleet) MeasureMemoryAs(name string) { f.custom = name }

// Start begins a process at the time, which lies between the latest scrape and the next, and which its first sample will show; it serves from
// the latest scrape on. Its pod's lasting differences are drawn anew, as for any new pod.
func (f *Fleet) Start(name string, at time.Time, set settings.Settings, fault Fault) {
	draw := func(spread float64) float64 { return math.Exp(spread * f.random.NormFloat64()) }
	own := fault.applied(f.service)
	own.MedianSeconds *= draw(f.noise.PodSpread)
	own.RequestCPUSeconds *= draw(f.noise.PodSpread)
	gc := draw(f.noise.PodSpread)
	own.MarkSecondsPerByte *= gc
	own.CycleSeconds *= gc
	own.LiveHeapBytes *= draw(f.noise.PodSpread)
	p := &process{
		name: name, service: own, settings: set, traffic: draw(f.noise.TrafficSpread), startedAt: at,
		history: []sample{{}},
	}
	for i := range p.sway {
		p.sway[i] = f.random.NormFloat64()
	}
	f.Stop(name)
	f.processes[name] = p
	f.order = append(f.order, p)
}

// Stop ends a process; its series end with it.
func (f *Fleet) Stop(name string) {
	gone := f.processes[name]
	if gone == nil {
		return
	}
	delete(f.processes, name)
	for i, p := range f.order {
		if p == gone {
			f.order = append(f.order[:i], f.order[i+1:]...)
			return
		}
	}
}

// Killed says that a process has outgrown its container.
func (f *Fleet) Killed(name string) bool {
	p := f.processes[name]
	return p != nil && p.killed
}

// Now is the time of the latest scrape.
func (f *Fleet) Now() time.Time { return f.begin.Add(time.Duration(f.scrapes) * ScrapeInterval) }

// Advance lets the fleet run until the last scrape that is not after the time.
func (f *Fleet) Advance(to time.Time) {
	for !f.Now().Add(ScrapeInterval).After(to) {
		f.scrape()
	}
}

func (f *Fleet) scrape() {
	f.load = loadAutocorrelation*f.load + math.Sqrt(1-loadAutocorrelation*loadAutocorrelation)*f.noise.SharedLoad*f.random.NormFloat64()
	phase := 2 * math.Pi * float64(f.Now().Sub(f.begin)) / float64(day)
	load := (1 + f.noise.Diurnal*math.Sin(phase)) * math.Exp(f.load-f.noise.SharedLoad*f.noise.SharedLoad/2)
	traffic := 0.0
	for _, p := range f.order {
		traffic += p.traffic
	}
	perTraffic := f.service.RequestsPerSecond * load * float64(f.replicas) / traffic
	for _, p := range f.order {
		p.run(f.random, f.noise, perTraffic*p.traffic, f.Now())
	}
	f.scrapes++
}
