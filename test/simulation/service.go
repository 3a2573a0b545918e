// Package simulation models Go services under garbage collection, and fleets of their pods as Prometheus would see them. It holds
// the product against a world whose truth is known.
//
// The model is that of the Go guide to the garbage collector (https://go.dev/doc/gc-guide), with what the runtime's source adds:
// the trigger and the share of background marking (runtime/mgcpacer.go), the heap goal under a memory limit (memoryLimitHeapGoal, ibid.),
// the limiter of the collector's CPU time (runtime/mgclimit.go), the memory that the scavenger keeps (runtime/mgcscavenge.go,
// retainExtraPercent), and the collection that is forced every two minutes (runtime/proc.go, forcegcperiod).
package simulation

import (
	"math"

	"github.com/gopacer/gopacer/internal/settings"
)

const (
	// backgroundShare of the processors that mark in the background (gcBackgroundUtilization).
	backgroundShare = 0.25
	// A cycle starts when at most mostRunway and at least leastRunway of the way from the live heap to the goal is left, or leastRunwayBytes
	// where that is less (minTriggerRatioNum, maxTriggerRatioNum and defaultHeapMinimum in runtime/mgcpacer.go).
	mostRunway, leastRunway = 19.0 / 64, 3.0 / 64
	leastRunwayBytes        = 4 << 20
	// limitHeadroom of the memory limit that the heap goal stays below (memoryLimitHeapGoalHeadroomPercent), minLimitHeadroomBytes at least.
	limitHeadroom         = 0.03
	minLimitHeadroomBytes = 1 << 20
	// heapMinimumBytes is the least heap goal at GOGC=100; it scales with GOGC.
	heapMinimumBytes = 4 << 20
	// limiterShare of the processors is the most that the collector gets; beyond, the heap outgrows its goal.
	limiterShare = 0.5
	// retained is memory over heap: the scavenger keeps a tenth.
	retained = 1.1
	// forcedCyclesPerSecond: a process that does not collect is made to every two minutes, but for GOGC=off.
	forcedCyclesPerSecond = 1.0 / 120
	// outlierFactor is how many times longer an outlier takes.
	outlierFactor = 10
)

// Service is what a Go process is to its garbage collector, and to those who wait for its answers. Bytes and seconds are of one pod.
type Service struct {
	// LiveHeapBytes are reachable, RootBytes are stacks and globals.
	LiveHeapBytes, RootBytes float64
	// AllocatedPerRequestBytes on the heap.
	AllocatedPerRequestBytes float64
	// MarkSecondsPerByte is CPU time for a byte of live heap or roots, CycleSeconds what a cycle takes beside marking.
	MarkSecondsPerByte, CycleSeconds float64
	// RequestCPUSeconds of a request without the collector.
	RequestCPUSeconds float64
	// RequestsPerSecond to a pod, the mean.
	RequestsPerSecond float64
	// Processors that the container may use.
	Processors float64
	// MemoryLimitBytes of the container; 0 for none.
	MemoryLimitBytes float64
	// RuntimeBytes are counted by GOMEMLIMIT beside the heap, OtherBytes are not: cgo, mapped files.
	RuntimeBytes, OtherBytes float64
	// MedianSeconds of a request that nothing slows, Sigma the standard deviation of its logarithm: times are lognormal.
	MedianSeconds, Sigma float64
	// PressureFrom is the share of the memory limit from which on the kernel reclaims pages that requests wait for, PressureShare the share of
	// requests that take ten times as long where memory is full.
	PressureFrom, PressureShare float64
	// OutlierShare of requests take ten times as long whatever the settings, FailedShare fail.
	OutlierShare, FailedShare float64
	// PauseSeconds of a collection, both stops together.
	PauseSeconds float64
}

// Behaviour is what settings make of a service, in the mean.
type Behaviour struct {
	// MarkedBytes is the live heap as the runtime reports it: what was allocated during marking counts.
	MarkedBytes, GoalBytes float64
	// ResidentBytes of the process.
	ResidentBytes   float64
	CyclesPerSecond float64
	// CycleSeconds is the CPU time of a cycle, AssistShare the part of it that goroutines had to do.
	CycleSeconds, AssistShare float64
	// Limited says that the limiter is on.
	Limited bool
	// EffectiveGOGC that the goal amounts to, in percent.
	EffectiveGOGC float64
	// GCSecondsPerSecond is the CPU time of the collector.
	GCSecondsPerSecond float64
	// GCSecondsPerRequest and CPUSecondsPerRequest are CPU time; the latter holds the former.
	GCSecondsPerRequest, CPUSecondsPerRequest float64
	// Utilization of the processors, 1 for all.
	Utilization float64
	// Killed says that the process outgrows its container.
	Killed bool

	latency latency
}

// Under says how the service behaves with the settings at so many requests a second.
func (s Service) Under(set settings.Settings, requestsPerSecond float64) Behaviour {
	allocating := s.AllocatedPerRequestBytes * requestsPerSecond
	b := s.cycle(set, allocating)
	b.GCSecondsPerSecond = b.CyclesPerSecond * b.CycleSeconds
	b.GCSecondsPerRequest = b.GCSecondsPerSecond / requestsPerSecond
	b.CPUSecondsPerRequest = s.RequestCPUSeconds + b.GCSecondsPerRequest
	b.Utilization = b.CPUSecondsPerRequest * requestsPerSecond / s.Processors
	s.setMemory(&b, float64(set.MemoryLimitBytes))
	b.latency = s.latencyUnder(b, requestsPerSecond)
	return b
}

// cycle finds the steady state of the pacer. What is allocated while a cycle marks survives it and counts as live in the next goal; how
// much that is depends on the goal again, so it is iterated.
func (s Service) cycle(set settings.Settings, allocating float64) Behaviour {
	b := Behaviour{CycleSeconds: (s.LiveHeapBytes+s.RootBytes)*s.MarkSecondsPerByte + s.CycleSeconds}
	during, grown := 0.0, 0.0
	for range 30 {
		b.MarkedBytes = s.LiveHeapBytes + during
		b.GoalBytes = s.goal(set, b.MarkedBytes)
		way := b.GoalBytes - b.MarkedBytes
		var runway float64
		runway, b.AssistShare = s.runway(way, allocating, b.CycleSeconds)
		during = b.AssistShare * runway
		grown = way - runway + during
	}
	b.EffectiveGOGC = 100 * (b.GoalBytes - b.MarkedBytes) / (b.MarkedBytes + s.RootBytes)
	b.CyclesPerSecond = allocating / grown
	if most := limiterShare * s.Processors / b.CycleSeconds; b.CyclesPerSecond > most {
		b.CyclesPerSecond, b.Limited = most, true
		b.GoalBytes = b.MarkedBytes + allocating/most
	}
	if set.GOGC != settings.Off {
		b.CyclesPerSecond = math.Max(b.CyclesPerSecond, forcedCyclesPerSecond)
	}
	return b
}

// runway is how many bytes below its goal a cycle starts, and the share of the marking that goroutines do as they allocate. They pay for the
// whole of it within the runway (assistWorkPerByte), while the background workers mark at their own pace and so end the cycle sooner: if A
// bytes are allocated while these alone would mark everything, the share is A/(runway+A), and the pacer, which wants a quarter of the
// processors for marking altogether, comes to rest at a runway of 4/3·A. Goroutines that find no processor beside the workers allocate less.
func (s Service) runway(way, allocating, cycleSeconds float64) (runway, assistShare float64) {
	most, least := mostRunway*way, math.Min(leastRunway*way, leastRunwayBytes)
	meanwhile := allocating * cycleSeconds / (backgroundShare * s.Processors)
	inMarkTime := s.AllocatedPerRequestBytes / s.RequestCPUSeconds * cycleSeconds
	const workers = (1 - backgroundShare) / backgroundShare
	runway = math.Max(least, math.Min(most, math.Min(meanwhile/(1-backgroundShare), workers*inMarkTime)))
	return runway, math.Min(meanwhile/(runway+meanwhile), workers*inMarkTime/(runway+inMarkTime/backgroundShare))
}

// goal is the heap size at which a cycle should end.
func (s Service) goal(set settings.Settings, marked float64) float64 {
	goal := math.Inf(1)
	if gogc := set.EffectiveGOGC(); gogc != settings.Off {
		goal = math.Max(marked+(marked+s.RootBytes)*float64(gogc)/100, heapMinimumBytes*float64(gogc)/100)
	}
	if set.MemoryLimitBytes > 0 {
		limited := float64(set.MemoryLimitBytes) - s.RuntimeBytes
		limited -= math.Max(minLimitHeadroomBytes, limitHeadroom*limited)
		goal = math.Min(goal, math.Max(limited, marked))
	}
	if math.IsInf(goal, 1) { // GOGC=off without a limit: nothing ends the growth but the kernel
		return math.MaxFloat64
	}
	return goal
}

// setMemory: the scavenger gives back what lies above a memory limit, as far as the heap itself does not.
func (s Service) setMemory(b *Behaviour, limit float64) {
	mapped := retained*b.GoalBytes + s.RuntimeBytes
	if limit > 0 {
		mapped = math.Min(mapped, math.Max(limit, b.GoalBytes+s.RuntimeBytes))
	}
	b.ResidentBytes = mapped + s.OtherBytes
	b.Killed = s.MemoryLimitBytes > 0 && b.ResidentBytes > s.MemoryLimitBytes
}
