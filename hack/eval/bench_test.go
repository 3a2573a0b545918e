package main

import (
	"testing"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
	"github.com/gopacer/gopacer/test/simulation"
)

// TestBenchEndsAsRollout: the bench moves pods by itself, for the sake of speed and of layouts that rollout does not take. On the same services it
// must end trials as the product's own state machine does.
func TestBenchEndsAsRollout(t *testing.T) {
	tests := map[string]struct {
		gogc   settings.GOGC
		fault  simulation.Fault
		result v1alpha1.TrialResult
		reason string
	}{
		"a gain":             {gogc: 150, result: v1alpha1.TrialPromoted, reason: v1alpha1.ReasonPromoted},
		"nothing":            {gogc: 101, result: v1alpha1.TrialReverted, reason: v1alpha1.ReasonNoGain},
		"dearer collections": {gogc: 150, fault: simulation.Fault{GCCPU: 0.6}, result: v1alpha1.TrialReverted, reason: v1alpha1.ReasonNoGain},
		"slower":             {gogc: 150, fault: simulation.Fault{Latency: 0.3}, result: v1alpha1.TrialReverted, reason: v1alpha1.ReasonHarmed},
		"dearer":             {gogc: 150, fault: simulation.Fault{CPU: 0.4}, result: v1alpha1.TrialReverted, reason: v1alpha1.ReasonHarmed},
		"outliers":           {gogc: 150, fault: simulation.Fault{SlowRequests: 0.02}, result: v1alpha1.TrialReverted, reason: v1alpha1.ReasonHarmed},
		"beyond objectives":  {gogc: 150, fault: simulation.Fault{SlowRequests: 0.3}, result: v1alpha1.TrialReverted, reason: v1alpha1.ReasonLatencyBreached},
		"out of memory":      {gogc: 1000, result: v1alpha1.TrialReverted, reason: v1alpha1.ReasonOOMKilled},
	}
	noise := noiseOf(0.002, 0)
	for name, test := range tests {
		for seed := range uint64(3) {
			candidate := settings.Settings{GOGC: test.gogc}
			b := bench{
				service: shop(), noise: noise, steps: layouts["3v3"], baseline: settings.Settings{GOGC: 100}, candidate: candidate, fault: test.fault,
				slos: shopObjectives(), tier: standardTier, seed: seed,
			}
			if got := b.run(); got.result != test.result || got.reason != test.reason {
				t.Errorf("%s, seed %d: the bench ends %s %s, want %s %s", name, seed, got.result, got.reason, test.result, test.reason)
			}
			o := newTarget(shop(), noise, 6, settings.Settings{GOGC: 100}, seed)
			o.fault, o.plan.SLOs = test.fault, shopObjectives()
			margins, shortage := o.marginsNow()
			if shortage != nil {
				t.Fatalf("%s, seed %d: not started: %+v", name, seed, shortage)
			}
			record, err := o.try(candidate, margins)
			if err != nil {
				t.Fatal(err)
			}
			if record.Result != test.result || record.Reason != test.reason {
				t.Errorf("%s, seed %d: rollout ends %s %s (%s), want %s %s", name, seed, record.Result, record.Reason, record.Message, test.result, test.reason)
			}
			checkPods(t, name, o, test.result == v1alpha1.TrialPromoted, candidate)
		}
	}
}

// checkPods: after a promotion all pods run the candidate, after a revert none.
func checkPods(t *testing.T, name string, o *target, tuned bool, candidate settings.Settings) {
	t.Helper()
	o.run(interval)
	for _, pod := range o.pods {
		if (pod.Settings == candidate) != tuned {
			t.Errorf("%s: pod %s runs %s", name, pod.Name, pod.Settings.Canonical())
		}
	}
}

// TestSameSeedSameEnding: a figure can be made again from its seeds.
func TestSameSeedSameEnding(t *testing.T) {
	c := cell{layout: "4v8", podSpread: 0.02, gogc: gainGOGC, slos: shopObjectives()}
	if first, second := c.trial(5, 1), c.trial(5, 1); first != second {
		t.Errorf("%+v, then %+v", first, second)
	}
}

// TestNotStarted: pods that are too unlike each other are counted apart.
func TestNotStarted(t *testing.T) {
	c := cell{layout: "3v3", podSpread: 0.2, gogc: gainGOGC, slos: shopObjectives()}
	got := c.trial(1, 0)
	if got.reason != notStarted || got.looks != 0 || promoted(got) || harmed(got) {
		t.Errorf("%+v", got)
	}
	g := tally(c, []ending{got, {result: v1alpha1.TrialPromoted, reason: v1alpha1.ReasonPromoted}}, promoted)
	if g.N != 1 || g.NotStarted != 1 || g.Share != 1 {
		t.Errorf("%+v", g)
	}
}

func TestDearer(t *testing.T) {
	now := shop().Under(settings.Settings{GOGC: 100}, shop().RequestsPerSecond)
	s := shop()
	s.RequestCPUSeconds *= 1 + dearer(0.1)
	then := s.Under(settings.Settings{GOGC: gainGOGC}, s.RequestsPerSecond)
	if ratio := then.CPUSecondsPerRequest / now.CPUSecondsPerRequest; ratio < 1.095 || ratio > 1.105 {
		t.Errorf("a request is %v times as dear, want 1.1", ratio)
	}
	if gain := 1 - then.GCSecondsPerRequest/now.GCSecondsPerRequest; gain < 0.18 || gain > 0.22 {
		t.Errorf("the collector's gain is %v, want 0.2", gain)
	}
}

func TestHarmful(t *testing.T) {
	for reason, want := range map[string]bool{
		v1alpha1.ReasonHarmed: true, v1alpha1.ReasonLatencyBreached: true, v1alpha1.ReasonOOMKilled: true, v1alpha1.ReasonNoGain: false,
		v1alpha1.ReasonGainUnproven: false, v1alpha1.ReasonNotProvenHarmless: false, v1alpha1.ReasonTooFewPods: false, v1alpha1.ReasonPromoted: false,
		v1alpha1.ReasonNoData: false,
	} {
		if got := harmful(reason); got != want {
			t.Errorf("%s: %t", reason, got)
		}
	}
}

// TestShopIsWell: what the statistical figures are made on is within its objectives, with room, at both settings.
func TestShopIsWell(t *testing.T) {
	for _, gogc := range []settings.GOGC{100, gainGOGC} {
		b := shop().Under(settings.Settings{GOGC: gogc}, 1.6*shop().RequestsPerSecond)
		for _, slo := range shopObjectives() {
			share := shop().FailedShare
			if slo.ThresholdSeconds > 0 {
				share = b.SlowShare(slo.ThresholdSeconds)
			}
			if share > slo.AllowedShare/2 {
				t.Errorf("GOGC=%d: %s: %v, allowed %v", gogc, slo.Name, share, slo.AllowedShare)
			}
		}
		if b.ResidentBytes > verdict.MaxMemoryShare*shop().MemoryLimitBytes || b.Utilization > 0.6 {
			t.Errorf("GOGC=%d: %+v", gogc, b)
		}
	}
}
