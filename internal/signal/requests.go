package signal

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"
)

// countRequests adds up the requests of a pod by status. A pod that never failed has no series of a 5xx and has 0 failures, but only
// where some series has a status at all: without that label nothing says what failed, and failures are Absent.
// A few series without status are tolerated, since OpenTelemetry leaves it out where a connection broke before the response.
func countRequests(samples []*model.Sample, codeLabel model.LabelName) (requests, failed Value) {
	if len(samples) == 0 {
		return Value{}, Value{}
	}
	if state := conflict(samples, codeLabel); state != Present {
		return Value{State: state}, Value{State: state}
	}
	requests, failed = Value{State: Present}, Value{}
	for _, sample := range samples {
		count, code := number(sample), string(sample.Metric[codeLabel])
		requests.Number += count.Number
		if isStatus(code) {
			failed.State = Present
			if code[0] == '5' {
				failed.Number += count.Number
			}
		}
	}
	if math.IsInf(requests.Number, 0) {
		return Value{State: NotFinite}, Value{State: NotFinite}
	}
	return requests, failed
}

// isStatus says that a label's value is an HTTP status, or the class of one such as 5xx.
func isStatus(code string) bool { return len(code) == 3 && code[0] >= '1' && code[0] <= '5' }

// conflict is Present where the samples are of one scraped endpoint, differ in their own label, and are numbers.
func conflict(samples []*model.Sample, own model.LabelName) State {
	seen := make(map[model.LabelValue]bool, len(samples))
	var endpoint model.Metric
	for _, sample := range samples {
		rest := sample.Metric.Clone()
		delete(rest, own)
		if endpoint == nil {
			endpoint = rest
		}
		if value := sample.Metric[own]; seen[value] || !rest.Equal(endpoint) {
			return Ambiguous
		}
		seen[sample.Metric[own]] = true
	}
	for _, sample := range samples {
		if value := number(sample); !value.OK() {
			return value.State
		}
	}
	return Present
}

// readHistogram orders the buckets of a pod. Only a whole histogram is Present: of one endpoint, with a last edge at +Inf, and
// with counts that never fall from edge to edge. Where label sets of one histogram have different edges, their sum counts
// too few at some edges, so a share of fast requests read from it errs towards slow.
func readHistogram(samples []*model.Sample) ([]Bucket, State) {
	if len(samples) == 0 {
		return nil, Absent
	}
	if state := conflict(samples, model.BucketLabel); state != Present {
		return nil, state
	}
	buckets := make([]Bucket, 0, len(samples))
	for _, sample := range samples {
		edge, err := strconv.ParseFloat(string(sample.Metric[model.BucketLabel]), 64)
		if err != nil || math.IsNaN(edge) || math.IsInf(edge, -1) {
			return nil, NotFinite
		}
		buckets = append(buckets, Bucket{UpperBoundSeconds: edge, Count: number(sample).Number})
	}
	slices.SortFunc(buckets, func(a, b Bucket) int { return cmp.Compare(a.UpperBoundSeconds, b.UpperBoundSeconds) })
	if state := checkBuckets(buckets); state != Present {
		return nil, state
	}
	return buckets, Present
}

// checkBuckets evens out counts that fall by a rounding error, as Prometheus' own histogram_quantile does. A real fall, or one edge twice
// (le="1" and le="1.0"), says that the buckets are not of one histogram.
func checkBuckets(buckets []Bucket) State {
	total := buckets[len(buckets)-1]
	if !math.IsInf(total.UpperBoundSeconds, 1) {
		return NotFinite
	}
	slack := roundingSlack * max(total.Count, 1)
	for i := 1; i < len(buckets); i++ {
		lower, upper := buckets[i-1], &buckets[i]
		if lower.UpperBoundSeconds == upper.UpperBoundSeconds || upper.Count < lower.Count-slack {
			return Ambiguous
		}
		upper.Count = max(upper.Count, lower.Count)
	}
	return Present
}
