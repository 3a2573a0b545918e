package verdict

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

func TestLatencyAtEdges(t *testing.T) {
	tenth := time.Duration(100) * time.Millisecond
	tests := map[string]struct {
		threshold float64
		buckets   []signal.Bucket
		want      v1alpha1.Outcome
		reason    string
		canary    string
	}{
		"exact edge, within":              {0.25, buckets(9000, 900, 100, 0), v1alpha1.OutcomePass, v1alpha1.ReasonPassed, "1%"},
		"exact edge, one too many":        {0.25, buckets(9000, 899, 101, 0), v1alpha1.OutcomeInconclusive, v1alpha1.ReasonInconclusive, "1.01%"},
		"exact edge, far too many":        {0.25, buckets(9000, 800, 100, 100), v1alpha1.OutcomeFail, v1alpha1.ReasonLatencyBreached, "2%"},
		"0.1 and 100ms are one edge":      {tenth.Seconds(), buckets(9900, 100, 0, 0), v1alpha1.OutcomePass, v1alpha1.ReasonPassed, "1%"},
		"0.1 from above":                  {math.Nextafter(0.1, 1), buckets(9900, 100, 0, 0), v1alpha1.OutcomePass, v1alpha1.ReasonPassed, "1%"},
		"0.1 from below":                  {math.Nextafter(0.1, 0), buckets(9900, 100, 0, 0), v1alpha1.OutcomePass, v1alpha1.ReasonPassed, "1%"},
		"between, lower edge passes":      {0.2, buckets(9900, 100, 0, 0), v1alpha1.OutcomePass, v1alpha1.ReasonPassed, "0% to 1%"},
		"between, upper edge fails":       {0.2, buckets(9000, 800, 100, 100), v1alpha1.OutcomeFail, v1alpha1.ReasonLatencyBreached, "2% to 10%"},
		"between, it depends":             {0.2, buckets(9000, 950, 50, 0), v1alpha1.OutcomeInconclusive, v1alpha1.ReasonCoarseBuckets, "0.5% to 10%"},
		"between, upper edge near":        {0.2, buckets(9000, 899, 101, 0), v1alpha1.OutcomeInconclusive, v1alpha1.ReasonInconclusive, "1.01% to 10%"},
		"below the first edge, unknown":   {0.01, buckets(10000, 0, 0, 0), v1alpha1.OutcomeInconclusive, v1alpha1.ReasonCoarseBuckets, "0% to 100%"},
		"below the first edge, breached":  {0.01, buckets(9000, 1000, 0, 0), v1alpha1.OutcomeFail, v1alpha1.ReasonLatencyBreached, "10% to 100%"},
		"above the last edge, within":     {5, buckets(9900, 0, 0, 100), v1alpha1.OutcomePass, v1alpha1.ReasonPassed, "0% to 1%"},
		"above the last edge, unknown":    {5, buckets(9000, 0, 0, 1000), v1alpha1.OutcomeInconclusive, v1alpha1.ReasonCoarseBuckets, "0% to 10%"},
		"the last edge itself":            {1, buckets(9000, 0, 0, 1000), v1alpha1.OutcomeFail, v1alpha1.ReasonLatencyBreached, "10%"},
		"only the last bucket":            {1, []signal.Bucket{bucket(math.Inf(1), 10000)}, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonCoarseBuckets, "0% to 100%"},
		"rounded counts that fall a hair": {0.25, []signal.Bucket{bucket(0.25, 10000.0000001), bucket(math.Inf(1), 10000)}, v1alpha1.OutcomePass, v1alpha1.ReasonPassed, "0%"},
		"counts that fall":                {0.25, []signal.Bucket{bucket(0.25, 10001), bucket(math.Inf(1), 10000)}, v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData, ""},
		"no last bucket":                  {0.25, []signal.Bucket{bucket(0.25, 10000)}, v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData, ""},
		"an edge given twice":             {0.25, []signal.Bucket{bucket(0.25, 1), bucket(0.25, 2), bucket(math.Inf(1), 10000)}, v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData, ""},
		"no request":                      {0.25, buckets(0, 0, 0, 0), v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData, ""},
		"too few requests":                {0.25, buckets(99, 0, 0, 0), v1alpha1.OutcomeInvalid, v1alpha1.ReasonTooFewRequests, "0%"},
		"few requests, but a breach":      {0.25, buckets(10, 0, 5, 5), v1alpha1.OutcomeFail, v1alpha1.ReasonLatencyBreached, "50%"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			slo := SLO{Name: "latency", ThresholdSeconds: test.threshold, AllowedShare: 0.01}
			got := sloOn(slo, []signal.Pod{{Latency: test.buckets, LatencyState: signal.Present}})
			if got.Outcome != test.want || got.Reason != test.reason || got.Canary != test.canary || got.Limit != "1%" {
				t.Errorf("%+v, want %s %s %s", got, test.want, test.reason, test.canary)
			}
			if coarse := test.reason == v1alpha1.ReasonCoarseBuckets; coarse != strings.Contains(got.Message, "has no edge between") {
				t.Errorf("message %q", got.Message)
			}
		})
	}
}

func TestCoarseBucketsNameTheEdges(t *testing.T) {
	tests := map[float64]string{0.01: "between 0s and 100ms", 0.2: "between 100ms and 250ms", 5: "between 1s and infinity"}
	fine := signal.Pod{Latency: []signal.Bucket{bucket(0.01, 10), bucket(0.2, 10), bucket(5, 10), bucket(math.Inf(1), 10)}, LatencyState: signal.Present}
	for threshold, want := range tests {
		coarse := signal.Pod{Latency: buckets(9000, 500, 400, 100), LatencyState: signal.Present}
		if threshold != 5 {
			coarse.Latency = buckets(9980, 20, 0, 0)
		}
		slo := SLO{Name: "latency", ThresholdSeconds: threshold, AllowedShare: 0.001}
		if threshold == 0.01 {
			coarse.Latency = buckets(10000, 0, 0, 0)
		}
		for _, pods := range [][]signal.Pod{{coarse}, {fine, coarse}, {coarse, fine}} {
			if got := sloOn(slo, pods); got.Reason != v1alpha1.ReasonCoarseBuckets || !strings.Contains(got.Message, want) {
				t.Errorf("threshold %v: %s %q, want %q", threshold, got.Reason, got.Message, want)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	tests := map[string]struct {
		requests, failed, allowed float64
		want                      v1alpha1.Outcome
		reason                    string
	}{
		"none":                           {1000, 0, 0.01, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"as many as allowed":             {1000, 10, 0.01, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"one more":                       {1000, 11, 0.01, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonInconclusive},
		"21 of 1000 may be chance":       {1000, 21, 0.01, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonInconclusive},
		"22 of 1000 are not":             {1000, 22, 0.01, v1alpha1.OutcomeFail, v1alpha1.ReasonErrorsBreached},
		"one of ten is no breach":        {10, 1, 0.01, v1alpha1.OutcomeInvalid, v1alpha1.ReasonTooFewRequests},
		"two of ten may be chance":       {10, 2, 0.01, v1alpha1.OutcomeInvalid, v1alpha1.ReasonTooFewRequests},
		"three of ten are a breach":      {10, 3, 0.01, v1alpha1.OutcomeFail, v1alpha1.ReasonErrorsBreached},
		"no traffic":                     {0, 0, 0.01, v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData},
		"99 requests":                    {99, 0, 0.01, v1alpha1.OutcomeInvalid, v1alpha1.ReasonTooFewRequests},
		"99.9 requests":                  {99.9, 0, 0.01, v1alpha1.OutcomeInvalid, v1alpha1.ReasonTooFewRequests},
		"100 requests":                   {100, 0, 0.01, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"none allowed, none seen":        {100, 0, 0, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"none allowed, one seen":         {100000, 1, 0, v1alpha1.OutcomeFail, v1alpha1.ReasonErrorsBreached},
		"none allowed, one extrapolated": {1003.7, 1.0037, 0, v1alpha1.OutcomeFail, v1alpha1.ReasonErrorsBreached},
		"none allowed, a part of one":    {1000, 0.4, 0, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonInconclusive},
		"all allowed":                    {1000, 1000, 1, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"extrapolated past all":          {1000, 1000.3, 1, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"parts of requests, within":      {1000.7, 9.9, 0.01, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"parts of requests, just above":  {1000.7, 10.2, 0.01, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonInconclusive},
		"0.05% needs 2000 requests":      {1999, 0, 0.0005, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonTooFewRequests},
		"and has them":                   {2000, 0, 0.0005, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"one of 2000 is within 0.05%":    {2000, 1, 0.0005, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"0.0001% needs no more than":     {9999, 0, 0.000001, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonTooFewRequests},
		"ten thousand":                   {10000, 0, 0.000001, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"50% needs 100 all the same":     {99, 0, 0.5, v1alpha1.OutcomeInvalid, v1alpha1.ReasonTooFewRequests},
		"many requests, a hair above":    {1e7, 1.0005e5, 0.01, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonInconclusive},
		"many requests, surely above":    {1e7, 1.01e5, 0.01, v1alpha1.OutcomeFail, v1alpha1.ReasonErrorsBreached},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := signal.Pod{Requests: present(test.requests), FailedRequests: present(test.failed)}
			got := sloOn(SLO{Name: "errors", AllowedShare: test.allowed}, []signal.Pod{pod})
			if got.Outcome != test.want || got.Reason != test.reason {
				t.Errorf("%s %s %q, want %s %s", got.Outcome, got.Reason, got.Message, test.want, test.reason)
			}
		})
	}
}

// TestPodsAreSummed: requests of a cohort count together, and one that is not measured takes nothing from the others' breach.
func TestPodsAreSummed(t *testing.T) {
	good := signal.Pod{Requests: present(60), FailedRequests: present(0)}
	bad := signal.Pod{Requests: present(60), FailedRequests: present(30)}
	tests := map[string]struct {
		pods   []signal.Pod
		want   v1alpha1.Outcome
		canary string
	}{
		"good alone has too few":     {[]signal.Pod{good}, v1alpha1.OutcomeInvalid, "0%"},
		"two good pods":              {[]signal.Pod{good, good}, v1alpha1.OutcomePass, "0%"},
		"good and bad":               {[]signal.Pod{good, bad}, v1alpha1.OutcomeFail, "25%"},
		"good and unmeasured":        {[]signal.Pod{good, good, {}}, v1alpha1.OutcomeInvalid, "0%"},
		"bad and unmeasured":         {[]signal.Pod{bad, {}}, v1alpha1.OutcomeFail, "50%"},
		"unmeasured and bad":         {[]signal.Pod{{}, bad}, v1alpha1.OutcomeFail, "50%"},
		"unmeasured alone":           {[]signal.Pod{{}}, v1alpha1.OutcomeInvalid, ""},
		"no traffic and no measure":  {[]signal.Pod{{}, {Requests: present(0), FailedRequests: present(0)}}, v1alpha1.OutcomeInvalid, ""},
		"one idle pod among good":    {[]signal.Pod{good, good, {Requests: present(0), FailedRequests: present(0)}}, v1alpha1.OutcomePass, "0%"},
		"failures without requests":  {[]signal.Pod{{FailedRequests: present(10)}}, v1alpha1.OutcomeInvalid, ""},
		"requests without a failure": {[]signal.Pod{{Requests: present(1000)}}, v1alpha1.OutcomeInvalid, ""},
	}
	for name, test := range tests {
		if got := sloOn(errorsSLO, test.pods); got.Outcome != test.want || got.Canary != test.canary {
			t.Errorf("%s: %+v, want %s %s", name, got, test.want, test.canary)
		}
	}
}

func TestSharedBreachOfAnObjective(t *testing.T) {
	some := func(failed float64) func(*signal.Pod) {
		return func(p *signal.Pod) { p.FailedRequests = present(failed) }
	}
	tests := map[string]struct {
		recentCanary, canary, recentControl, control float64
		want                                         v1alpha1.Outcome
		reason                                       string
	}{
		"all well":                               {1, 1, 1, 1, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"canary alone":                           {50, 50, 1, 1, v1alpha1.OutcomeFail, v1alpha1.ReasonErrorsBreached},
		"both, all along":                        {50, 50, 50, 50, v1alpha1.OutcomeFail, v1alpha1.ReasonSharedBreach},
		"both, recently":                         {50, 1, 50, 1, v1alpha1.OutcomeFail, v1alpha1.ReasonSharedBreach},
		"canary recently, control before":        {50, 1, 1, 50, v1alpha1.OutcomeFail, v1alpha1.ReasonSharedBreach},
		"canary before, control recently":        {1, 50, 50, 1, v1alpha1.OutcomeFail, v1alpha1.ReasonSharedBreach},
		"control alone is no harm to the canary": {1, 1, 50, 50, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"control near the limit is no excuse":    {50, 50, 11, 11, v1alpha1.OutcomeFail, v1alpha1.ReasonErrorsBreached},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := passing()
			changeAll(in.Recent, in.Canary, some(test.recentCanary))
			changeAll(in.Evidence, in.Canary, some(test.canary))
			changeAll(in.Recent, in.Control, some(test.recentControl))
			changeAll(in.Evidence, in.Control, some(test.control))
			got := Judge(in).Verdict
			check := checkNamed(t, got, "errors")
			if got.Outcome != test.want || check.Outcome != test.want || check.Reason != test.reason {
				t.Errorf("%+v, want %s %s", check, test.want, test.reason)
			}
			if shared := test.reason == v1alpha1.ReasonSharedBreach; shared != strings.Contains(check.Message, "control pods break it too") {
				t.Errorf("message %q", check.Message)
			}
		})
	}
}

func TestRecentWindowDecides(t *testing.T) {
	quiet := func(p *signal.Pod) {
		p.Requests, p.FailedRequests, p.Latency = present(0), present(0), buckets(0, 0, 0, 0)
	}
	few := func(p *signal.Pod) {
		p.Requests, p.FailedRequests, p.Latency = present(2), present(0), buckets(2, 0, 0, 0)
	}
	tests := map[string]struct {
		edit   func(*signal.Pod)
		want   v1alpha1.Outcome
		reason string
	}{
		"no request lately":   {quiet, v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData},
		"few requests lately": {few, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
	}
	for name, test := range tests {
		in := passing()
		changeAll(in.Recent, in.Canary, test.edit)
		if got := Judge(in).Verdict; got.Outcome != test.want || got.Reason != test.reason {
			t.Errorf("%s: %s %s %q", name, got.Outcome, got.Reason, got.Message)
		}
	}
}

// TestObjectivesTellWhatTheyCount, and with which query.
func TestObjectivesTellWhatTheyCount(t *testing.T) {
	in := passing()
	in.Evidence.Queries = map[v1alpha1.SignalName]string{v1alpha1.SignalSlowRequests: "slow()", v1alpha1.SignalErrors: "failed()"}
	verdict := Judge(in).Verdict
	got := []string{}
	for _, name := range []string{"latency", "errors"} {
		check := checkNamed(t, verdict, name)
		got = append(got, check.Message+", by "+check.Query)
	}
	changeAll(in.Evidence, in.Canary, func(p *signal.Pod) { p.Requests, p.FailedRequests = present(0), present(0) })
	got = append(got, sloOn(errorsSLO, podsOf(in.Evidence, in.Canary)).Message)
	want := []string{
		"latency: 0.2% of 30000 requests took longer than 250ms, allowed 1%, by slow()", "errors: 0.1% of 3000 requests failed, allowed 1%, by failed()",
		"errors: no request in the window",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
