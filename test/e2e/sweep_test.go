//go:build e2e

package e2e_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/test/stage"
)

// sweepLimit is for all rungs: each takes a restart of the canary pods, a warm-up of ten collections, a hold, and the way back.
const sweepLimit = 20 * time.Minute

// sweep measures each rung of a ladder that has the declared GOGC in it, and promotes the best. The heap is larger than usual, so that memory
// shows the rung.
func sweep(t *testing.T) {
	s := play(t, "sweep", stage.Workload{Env: map[string]string{"LIVE_HEAP_MB": "8", "DOCUMENT_LINES": "40"}})
	ladder := []int32{declaredGOGC, 50, 100, 200}
	wanted := spec()
	wanted.Strategy = v1alpha1.Strategy{Type: v1alpha1.StrategySweep, Sweep: &v1alpha1.SweepStrategy{Ladder: ladder}}
	s.create(wanted)
	table := s.awaitTable(len(ladder))
	s.checkTable(table, ladder)
	s.checkMeasuredOnly(int64(len(ladder)))

	number := int64(len(ladder)) + 1
	s.awaitTrial("the best rung to be tried", number, startLimit, started)
	record := s.awaitEnd(number, v1alpha1.TrialPromoted, v1alpha1.ReasonPromoted)
	tuned := s.checkPromoted(record)
	if tuned.GOGC != settings.GOGC(*table.Picked) {
		t.Errorf("%s was promoted, picked was %d", tuned.Canonical(), *table.Picked)
	}
	s.awaitReason(v1alpha1.ReasonTuned, startLimit)
	s.checkQuiet()
	s.checkTemplate()
}

// awaitTable waits until all rungs are measured and one is picked.
func (s *scene) awaitTable(rungs int) *v1alpha1.Sweep {
	s.t.Helper()
	var table *v1alpha1.Sweep
	s.awaitPolicy("all rungs to be measured", sweepLimit, func(policy *v1alpha1.RuntimeTuningPolicy) error {
		for _, record := range policy.Status.History {
			if record.Purpose == v1alpha1.PurposeMeasure && record.Result != v1alpha1.TrialMeasured {
				s.t.Fatalf("rung %+v was not measured: %s: %s", record.Candidate, record.Reason, record.Message)
			}
		}
		table = policy.Status.Sweep
		if table == nil || len(table.Rungs) < rungs || table.Picked == nil {
			ready := readyOf(policy)
			return fmt.Errorf("the table is %+v; ready is %s, %s: %s", table, ready.Status, ready.Reason, ready.Message)
		}
		return nil
	})
	return table
}

// checkTable holds the table against the cost model: the collector's CPU time of a request goes with 1/GOGC, memory with 1+GOGC/100.
func (s *scene) checkTable(table *v1alpha1.Sweep, ladder []int32) {
	s.t.Helper()
	s.t.Logf("%s: measured in the order %v, picked %d", s.namespace, table.Order, *table.Picked)
	var measured []int32
	for i, rung := range table.Rungs {
		s.t.Logf("%s: GOGC=%d: GC %s a request, %s of CPU; %s requests a CPU second; p99 %s; %s slow; memory %v; %s %s", s.namespace, rung.GOGC,
			rung.GCCPUPerRequest, rung.GCCPU, rung.RequestsPerCPUSecond, rung.P99, rung.SlowRequests, rung.Memory, rung.Standing, rung.AgainstModel)
		measured = append(measured, rung.GOGC)
		if rung.Result != v1alpha1.ReasonMeasured || rung.AgainstModel != "" || rung.Standing == "" || rung.Memory == nil || rung.P99 == "" || rung.RequestsPerCPUSecond == "" {
			s.t.Errorf("rung %d is %+v, want all figures, and nothing against the model", rung.GOGC, rung)
			continue
		}
		if i > 0 && s.milliseconds(rung.GCCPUPerRequest) >= s.milliseconds(table.Rungs[i-1].GCCPUPerRequest) {
			s.t.Errorf("GC takes %s of CPU time a request at rung %d, and %s at rung %d", rung.GCCPUPerRequest, rung.GOGC,
				table.Rungs[i-1].GCCPUPerRequest, table.Rungs[i-1].GOGC)
		}
	}
	if !slices.Equal(measured, ladder) {
		s.t.Fatalf("rungs %v were measured, want %v", measured, ladder)
	}
	first, last := table.Rungs[0].Memory, table.Rungs[len(ladder)-1].Memory
	if first != nil && last != nil && first.Cmp(*last) >= 0 {
		s.t.Errorf("a pod has %s resident at rung %d, and %s at rung %d", first, ladder[0], last, ladder[len(ladder)-1])
	}
}

// milliseconds reads a figure such as 0.25ms.
func (s *scene) milliseconds(figure string) float64 {
	s.t.Helper()
	value, err := strconv.ParseFloat(strings.TrimSuffix(figure, "ms"), 64)
	if err != nil || !strings.HasSuffix(figure, "ms") {
		s.t.Fatalf("read %q as milliseconds: %v", figure, err)
	}
	return value
}

// checkMeasuredOnly wants the rungs to have changed nothing: the baseline is the declared one, and each rung went back.
func (s *scene) checkMeasuredOnly(rungs int64) {
	s.t.Helper()
	policy := s.policy()
	if baseline := policy.Status.Baseline; baseline == nil || baseline.Source != v1alpha1.BaselineDeclared {
		s.t.Errorf("after %d rungs the baseline is %+v, want the declared one", rungs, baseline)
	}
	for number := int64(1); number <= rungs; number++ {
		record := recordOf(policy, number)
		if record == nil || record.Result != v1alpha1.TrialMeasured || record.Purpose != v1alpha1.PurposeMeasure {
			s.t.Errorf("trial %d is %+v, want it to have measured a rung", number, record)
		}
	}
}
