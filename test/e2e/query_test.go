//go:build e2e

package e2e_test

import (
	"strings"
	"testing"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/stage"
)

// meanMilliseconds is an objective's own PromQL: the mean time of a request, by pod. It names no namespace, since gopacer does.
const meanMilliseconds = "1000 * sum by (pod) (rate(http_request_duration_seconds_sum[30s])) / sum by (pod) (rate(http_request_duration_seconds_count[30s]))"

// ownQuery tries a candidate under which half of the requests take longer, though still within the latency objective. The objective with a
// query of its own is what they break.
func ownQuery(t *testing.T) {
	s := play(t, "query", stage.Workload{Env: map[string]string{"SLOW_WHEN": "GOGC>100", "SLOW_SHARE": "0.5", "SLOW_BY": "150ms"}})
	wanted := spec()
	wanted.Strategy = manual(badGOGC)
	wanted.SLOs = append(wanted.SLOs, v1alpha1.SLO{Name: "mean", Query: &v1alpha1.QuerySLO{PromQL: meanMilliseconds, Max: "50"}})
	s.create(wanted)
	s.awaitTrial("trial 1 to start", 1, startLimit, started)
	record := s.awaitEnd(1, v1alpha1.TrialReverted, v1alpha1.ReasonQueryBreached)
	t.Logf("%s: %s", s.namespace, record.Message)
	s.checkReverted()
	for _, check := range record.Verdict.Checks {
		if check.Name == "mean" {
			if check.Outcome != v1alpha1.OutcomeFail || check.Canary == "" || !strings.Contains(record.Message, "mean") {
				t.Errorf("the check is %+v, the message %q; want a failure that says by how much", check, record.Message)
			}
			return
		}
	}
	t.Errorf("the verdict has no check of the objective: %+v", record.Verdict.Checks)
}
