package tuning

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

const mebibyte = 1 << 20

var now = time.Date(2026, time.October, 1, 12, 0, 0, 0, time.UTC)

// input is a service that spends a quarter of its CPU time on the collector, with memory to spare: 1 GiB allowed, 200 MiB used, of
// which the live heap is 100 MiB.
func input() Input {
	return Input{
		Now: now, Baseline: settings.Settings{GOGC: 50}, Footing: settings.Footing{Declared: settings.Settings{GOGC: 50}, MemoryLimitBytes: 1024 * mebibyte},
		Knobs:     Knobs{TuneGOGC: true, MinGOGC: 25, MaxGOGC: 200, TuneMemoryLimit: true, MemoryLimitShare: 0.9},
		Objective: Objective{Minimize: v1alpha1.MinimizeGCCPU, MinGain: 0.05, MinCPUGain: 0.01},
		Observed: Observation{
			Pods: 4, GCShare: present(0.25), LiveHeapBytes: present(100 * mebibyte), RootBytes: present(2 * mebibyte), ResidentBytes: present(200 * mebibyte),
		},
		Rules:  Rules{LongPauseSeconds: 0.005, RunnablePerProcessor: 2, QuotaUse: 0.8},
		Streak: DeadbandLooks,
	}
}

// ended is a record of a trial on the footing of in, an hour ago.
func ended(in Input, candidate settings.Settings, result v1alpha1.TrialResult, reason string) v1alpha1.TrialRecord {
	return v1alpha1.TrialRecord{
		Candidate: candidate.API(), Footing: in.Footing.API(), Result: result, Reason: reason, EndedAt: metav1.NewTime(now.Add(-time.Hour)),
	}
}

func listed(candidates ...settings.Settings) Strategy {
	return Strategy{Type: v1alpha1.StrategyManual, Manual: candidates}
}

func later() metav1.Time { return metav1.NewTime(now.Add(time.Second)) }
