package main

import (
	"github.com/gopacer/gopacer/internal/verdict"
	"github.com/gopacer/gopacer/test/simulation"
)

const mebibyte = 1 << 20

// shop is the service of the statistical figures: a usual one, whose collector takes about a seventh of its CPU time at GOGC=100.
func shop() simulation.Service {
	return simulation.Service{
		LiveHeapBytes: 80 * mebibyte, RootBytes: 3 * mebibyte, AllocatedPerRequestBytes: 500 << 10, MarkSecondsPerByte: 1e-9, CycleSeconds: 3e-4,
		RequestCPUSeconds: 0.003, RequestsPerSecond: 100, Processors: 2, MemoryLimitBytes: 512 * mebibyte, RuntimeBytes: 12 * mebibyte, OtherBytes: 15 * mebibyte,
		MedianSeconds: 0.03, Sigma: 0.7, PauseSeconds: 2e-4, FailedShare: 0.0005,
	}
}

// shopObjectives leave room: a tenth of what is allowed is slow, or fails.
func shopObjectives() []verdict.SLO {
	return []verdict.SLO{{Name: "latency", ThresholdSeconds: 0.25, AllowedShare: 0.02}, {Name: "errors", AllowedShare: 0.005}}
}

// withinPod is how much what a pod shows sways over time, beside what the number of its requests makes of it.
const withinPod = 0.02

// noiseOf is a fleet whose pods differ by so much, under a load that swings with the day.
func noiseOf(podSpread, autocorrelation float64) simulation.Noise {
	return simulation.Noise{
		PodSpread: podSpread, WithinPod: withinPod, Autocorrelation: autocorrelation, TrafficSpread: 0.02, SharedLoad: 0.10, Diurnal: 0.5,
	}
}
