//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/stage"
)

const (
	// gainWindow is what the service is measured over, before and after.
	gainWindow = time.Minute
	// neededGain is by how much the collector's CPU time of a request must fall. It goes with 1/GOGC, so that two rungs, from 25 to 35 and on to
	// 50, are good for a half.
	neededGain = 0.30
	gainGOGC   = 50
)

// gain lets the Feedback strategy go on from trial to trial, and measures by itself what came of it. The machine may be busier before than
// after, so that the trials' own comparisons, of pods at the same time, have to agree.
func gain(t *testing.T) {
	s := play(t, "gain", stage.Workload{})
	began := time.Now()
	s.awaitAge(gainWindow)
	before := s.gcSecondsPerRequest()
	wanted := spec()
	wanted.Knobs.GOGC = v1alpha1.GOGCKnob{Max: gainGOGC}
	wanted.Rollout.Steps = []v1alpha1.Step{step(3, longHold)}
	s.create(wanted)
	left := 1.0
	for number := int64(1); number <= 2; number++ {
		s.awaitTrial(fmt.Sprintf("trial %d to start", number), number, startLimit, started)
		left *= s.checkGain(s.awaitEnd(number, v1alpha1.TrialPromoted, v1alpha1.ReasonPromoted))
	}
	s.awaitReason(v1alpha1.ReasonTuned, startLimit)
	s.awaitGauge("go_gc_gogc_percent", gainGOGC)
	s.awaitAge(gainWindow)
	after := s.gcSecondsPerRequest()

	t.Logf("GC CPU time of a request: %.3g ms with GOGC=%d, %.3g ms with GOGC=%d: %+.0f%%; beside control pods, at the same times: %+.0f%%", 1000*before,
		declaredGOGC, 1000*after, gainGOGC, 100*(after/before-1), 100*(left-1))
	if !(after <= (1-neededGain)*before) || !(left <= 1-neededGain) {
		t.Errorf("GC CPU time of a request went from %.3g to %.3g s, and came to %.2f of that of the control pods; want at least %.0f%% less in both",
			before, after, left, 100*neededGain)
	}
	s.checkObjectivesKept(time.Since(began))
	s.checkTemplate()
}

// awaitAge waits until every pod has been ready for so long: its start then lies outside of a window of that length.
func (s *scene) awaitAge(age time.Duration) {
	s.t.Helper()
	s.await(fmt.Sprintf("every pod to have been ready for %s", age), age+readyLimit, func(ctx context.Context) error {
		pods, err := s.pods(ctx)
		if err != nil {
			return err
		}
		for i := range pods {
			if since := readySince(&pods[i]); !isReady(&pods[i]) || time.Since(since) < age {
				return fmt.Errorf("pod %s is ready since %s", pods[i].Name, since)
			}
		}
		return nil
	})
}

func readySince(pod *corev1.Pod) time.Time {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// gcSecondsPerRequest is the collector's CPU time of a request over the last window, without marking on processors that are idle anyway.
func (s *scene) gcSecondsPerRequest() float64 {
	s.t.Helper()
	increase := func(metric string) string {
		return fmt.Sprintf("sum(increase(%s{namespace=%q}[%s]))", metric, s.namespace, model.Duration(gainWindow))
	}
	return s.number(fmt.Sprintf("(%s - %s) / %s", increase("go_cpu_classes_gc_total_cpu_seconds_total"),
		increase("go_cpu_classes_gc_mark_idle_cpu_seconds_total"), increase("http_request_duration_seconds_count")))
}

// number asks Prometheus for one number.
func (s *scene) number(query string) float64 {
	s.t.Helper()
	answer, err := s.ask(s.t.Context(), query)
	if err != nil {
		s.t.Fatal(err)
	}
	value, found := answer[""]
	if len(answer) != 1 || !found || math.IsNaN(value) {
		s.t.Fatalf("Prometheus answers %s with %v, want one number", query, answer)
	}
	return value
}

// checkObjectivesKept wants the objectives to have held over the whole of a scenario, over all pods, minute by minute, and no trial to have broken any.
func (s *scene) checkObjectivesKept(length time.Duration) {
	s.t.Helper()
	const rate = "sum(rate(http_request_duration_seconds_%s{namespace=%q%s}[1m]))"
	requests := fmt.Sprintf(rate, "count", s.namespace, "")
	for _, objective := range []struct {
		name, bad string
		allowed   float64
	}{
		{"slow requests", fmt.Sprintf("1 - "+rate+" / ", "bucket", s.namespace, `,le="0.25"`), 0.05},
		{"failed requests", fmt.Sprintf("("+rate+" or vector(0)) / ", "count", s.namespace, `,code=~"5.."`), 0.05},
	} {
		worst := s.number(fmt.Sprintf("max_over_time((%s%s)[%s:5s])", objective.bad, requests, model.Duration(length.Truncate(time.Second))))
		s.t.Logf("%s: %s were at most %.2f%%, allowed %.0f%%", s.namespace, objective.name, 100*worst, 100*objective.allowed)
		if worst > objective.allowed {
			s.t.Errorf("%s were %.2f%% of a minute's, allowed %.0f%%", objective.name, 100*worst, 100*objective.allowed)
		}
	}
	for _, record := range s.policy().Status.History {
		if strings.Contains(record.Reason, "Breach") {
			s.t.Errorf("trial %d broke an objective: %s: %s", record.Number, record.Reason, record.Message)
		}
	}
}
