package verdict

import (
	"math"

	"github.com/gopacer/gopacer/internal/signal"
)

// measured is how many of a cohort's requests were bad. A threshold between two edges of a histogram leaves a range.
type measured struct {
	requests float64
	badLow   float64
	badHigh  float64
	// unusable says what is missing of at least one pod; the numbers are those of the others.
	unusable       string
	belowEdge      float64
	aboveEdge      float64
	betweenBuckets bool
}

func (m measured) shareLow() float64  { return m.badLow / m.requests }
func (m measured) shareHigh() float64 { return m.badHigh / m.requests }

func measure(slo SLO, pods []signal.Pod) measured {
	var sum measured
	if len(pods) == 0 {
		return measured{unusable: "there is no pod to measure"}
	}
	for i := range pods {
		one := measureFailed(&pods[i])
		if slo.ThresholdSeconds > 0 {
			one = measureSlow(&pods[i], slo.ThresholdSeconds)
		}
		if one.unusable != "" {
			sum.unusable = one.unusable
			continue
		}
		sum.requests += one.requests
		sum.badLow += one.badLow
		sum.badHigh += one.badHigh
		if one.betweenBuckets {
			sum.betweenBuckets, sum.belowEdge, sum.aboveEdge = true, one.belowEdge, one.aboveEdge
		}
	}
	if sum.requests <= 0 && sum.unusable == "" {
		sum.unusable = "no request in the window"
	}
	return sum
}

// usable asks for a finite number that is not negative, though Present promises it: what a number decides is too much for a promise.
func usable(value signal.Value) bool {
	return value.OK() && finite(value.Number)
}

func finite(number float64) bool { return number >= 0 && !math.IsInf(number, 1) }

func measureFailed(pod *signal.Pod) measured {
	if !usable(pod.Requests) || !usable(pod.FailedRequests) {
		return measured{unusable: "requests are not counted"}
	}
	failed := math.Min(pod.FailedRequests.Number, pod.Requests.Number)
	return measured{requests: pod.Requests.Number, badLow: failed, badHigh: failed}
}

// relativeTolerance absorbs rounding: of an edge that was written as 0.1 and one computed from 100ms, and of extrapolated counts.
const relativeTolerance = 1e-9

func measureSlow(pod *signal.Pod, thresholdSeconds float64) measured {
	if pod.LatencyState != signal.Present || !sound(pod.Latency) {
		return measured{unusable: "no usable latency histogram"}
	}
	total := pod.Latency[len(pod.Latency)-1].Count
	m := measured{requests: total, badLow: total, badHigh: total, aboveEdge: math.Inf(1)}
	for _, bucket := range pod.Latency {
		slower := math.Max(0, total-bucket.Count)
		if bucket.UpperBoundSeconds <= thresholdSeconds*(1+relativeTolerance) {
			m.badHigh, m.belowEdge = slower, bucket.UpperBoundSeconds
		}
		if bucket.UpperBoundSeconds >= thresholdSeconds*(1-relativeTolerance) {
			m.badLow, m.aboveEdge = slower, bucket.UpperBoundSeconds
			break
		}
	}
	m.betweenBuckets = m.belowEdge < m.aboveEdge
	return m
}

// sound says that edges ascend to +Inf and that counts never fall. Without the last bucket the slowest requests would not be seen.
func sound(buckets []signal.Bucket) bool {
	if len(buckets) == 0 || !math.IsInf(buckets[len(buckets)-1].UpperBoundSeconds, 1) {
		return false
	}
	before := signal.Bucket{UpperBoundSeconds: math.Inf(-1)}
	for _, bucket := range buckets {
		if !finite(bucket.Count) || !(bucket.UpperBoundSeconds > before.UpperBoundSeconds) || bucket.Count < before.Count*(1-relativeTolerance) {
			return false
		}
		before = bucket
	}
	return true
}
