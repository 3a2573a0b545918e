package main

import (
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// TestDraws: the services are those that were asked for.
func TestDraws(t *testing.T) {
	const n = 400
	starts, constrained := map[settings.GOGC]int{}, 0
	for seed := range uint64(n) {
		one := tuned{drawn: drawer{rand.New(rand.NewPCG(seed, drawing))}.draw()}
		starts[one.start.GOGC]++
		if !one.feasible(one.start) {
			t.Errorf("seed %d: the start %s breaks a limit", seed, one.start.Canonical())
		}
		one.final = one.start
		one.compare()
		if one.cpuRatio > 1+1e-9 || one.gcRatio > 1+1e-9 || one.worthGCRatio < one.gcRatio-1e-9 {
			t.Errorf("seed %d: ratios %v, %v and %v", seed, one.cpuRatio, one.gcRatio, one.worthGCRatio)
		}
		constrained += count(one.unconstrainedFails)
		if share := one.under(one.at(100)).GCSecondsPerRequest / one.under(one.at(100)).CPUSecondsPerRequest; share < 0.03 || share > 0.6 {
			t.Errorf("seed %d: the collector takes %v of the CPU time at GOGC=100", seed, share)
		}
	}
	if share := float64(starts[100]) / n; share < 0.62 || share > 0.78 {
		t.Errorf("%v of the services start at 100, want 0.7: %v", share, starts)
	}
	if share := float64(constrained) / n; share < 0.3 {
		t.Errorf("the unconstrained best breaks an objective in %v of the services, want at least 0.3", share)
	}
	for _, gogc := range []settings.GOGC{25, 50, 200, settings.Off} {
		if starts[gogc] == 0 {
			t.Errorf("no service starts at %s", gogc)
		}
	}
}

// TestBest: the best rung is the highest that is feasible, and one that saves next to nothing is not worth it.
func TestBest(t *testing.T) {
	one := tuned{drawn: drawn{service: shop(), start: settings.Settings{GOGC: 100}, slos: shopObjectives()}}
	one.service.MemoryLimitBytes = 2048 * mebibyte
	one.final = one.at(150)
	one.compare()
	if one.gcRatio > 0.8 || one.gcRatio < 0.7 || one.worthGCRatio != one.gcRatio || one.cpuRatio < 0.95 || one.cpuRatio >= 1 || one.unconstrainedFails {
		t.Errorf("at 150: %+v", one)
	}
	tight := one
	tight.service.MemoryLimitBytes = one.under(settings.Settings{GOGC: 150}).ResidentBytes / 0.85
	tight.final = tight.at(150)
	tight.compare()
	if tight.gcRatio != 1 || tight.worthGCRatio != 1 {
		t.Errorf("150 is the best where memory ends: %+v", tight)
	}
	light := one
	light.service.RequestCPUSeconds *= 20
	light.service.RequestsPerSecond /= 20
	light.final = light.start
	light.compare()
	if light.worthGCRatio != 1 || light.gcRatio > 0.6 {
		t.Errorf("nothing is worth a trial where the collector takes a hundredth: %+v", light)
	}
}

// TestTune: the product, left alone, takes a service to its best rung.
func TestTune(t *testing.T) {
	one := tune(3)
	if one.err != nil || one.breaches != 0 || one.cpuRatio < 0.9 || len(one.endings) == 0 {
		t.Errorf("%+v", one)
	}
}

func TestReversals(t *testing.T) {
	record := func(from, to settings.GOGC, result v1alpha1.TrialResult) v1alpha1.TrialRecord {
		return v1alpha1.TrialRecord{
			Result: result, Candidate: settings.Settings{GOGC: to}.API(), Previous: &v1alpha1.Baseline{Settings: settings.Settings{GOGC: from}.API()},
			EndedAt: metav1.NewTime(epoch.Add(time.Hour)),
		}
	}
	records := []v1alpha1.TrialRecord{
		record(0, 150, v1alpha1.TrialPromoted), record(150, 100, v1alpha1.TrialReverted), record(150, 200, v1alpha1.TrialPromoted),
		record(200, 150, v1alpha1.TrialPromoted), record(150, 200, v1alpha1.TrialPromoted),
	}
	if got := reversals(records); got != 2 {
		t.Errorf("%d reversals, want 2", got)
	}
}
