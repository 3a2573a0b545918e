package simulation

import "math"

// busiest bounds how near to full a queue is taken to be: beyond, it would have no end.
const busiest = 0.97

// latency is a mixture of lognormal distributions: requests that meet no marking, requests that do, and outliers of both.
type latency struct {
	median, sigma float64
	// calm and marking are the factors on the median, markingShare the share of requests that meet marking.
	calm, marking, markingShare float64
	outliers                    float64
}

// latencyUnder: time is service time and waiting, which grows as 1/(1-u²) with the share u of the processors in use, the waiting of a
// queue with two servers. While the collector marks, it has a quarter of the processors, and goroutines that allocate must assist.
func (s Service) latencyUnder(b Behaviour, requestsPerSecond float64) latency {
	busy := math.Min(busiest, s.RequestCPUSeconds*requestsPerSecond/s.Processors)
	whileMarking := math.Min(busiest, busy/(1-backgroundShare))
	backgroundSeconds := b.CycleSeconds * (1 - b.AssistShare) / (backgroundShare * s.Processors)
	marking := math.Min(1, b.CyclesPerSecond*backgroundSeconds)
	l := latency{
		median: s.MedianSeconds, sigma: s.Sigma, calm: 1 / (1 - busy*busy), marking: 1 / (1 - whileMarking*whileMarking),
		markingShare: math.Min(1, marking+b.CyclesPerSecond*s.MedianSeconds), outliers: s.OutlierShare + s.pressure(b),
	}
	if marking > 0 {
		l.marking += b.AssistShare * b.GCSecondsPerRequest / marking / s.MedianSeconds
	}
	return l
}

// pressure is the share of requests that wait for pages that the kernel took.
func (s Service) pressure(b Behaviour) float64 {
	if s.MemoryLimitBytes <= 0 || s.PressureShare <= 0 {
		return 0
	}
	over := (b.ResidentBytes/s.MemoryLimitBytes - s.PressureFrom) / (1 - s.PressureFrom)
	return s.PressureShare * math.Max(0, math.Min(1, over))
}

// within is the share of requests that take at most so long, where all take scale times their usual time.
func (l latency) within(seconds, scale float64) float64 {
	if math.IsInf(seconds, 1) {
		return 1
	}
	at := math.Log(seconds / (l.median * scale))
	calm, marking, slow := math.Log(l.calm), math.Log(l.marking), math.Log(outlierFactor)
	usual := (1-l.markingShare)*normal((at-calm)/l.sigma) + l.markingShare*normal((at-marking)/l.sigma)
	if l.outliers <= 0 {
		return usual
	}
	outliers := (1-l.markingShare)*normal((at-calm-slow)/l.sigma) + l.markingShare*normal((at-marking-slow)/l.sigma)
	return (1-l.outliers)*usual + l.outliers*outliers
}

// mean of the time of a request.
func (l latency) mean() float64 {
	factor := (1-l.markingShare)*l.calm + l.markingShare*l.marking
	return l.median * math.Exp(l.sigma*l.sigma/2) * factor * (1 + (outlierFactor-1)*l.outliers)
}

// SlowShare is the share of requests that take longer than so many seconds.
func (b Behaviour) SlowShare(seconds float64) float64 { return 1 - b.latency.within(seconds, 1) }

// MeanSeconds is the mean time of a request.
func (b Behaviour) MeanSeconds() float64 { return b.latency.mean() }

// normal is the distribution function of the standard normal distribution.
func normal(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }
