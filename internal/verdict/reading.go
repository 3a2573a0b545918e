package verdict

import (
	"math"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

// reading is what one pod shows of a signal.
type reading struct {
	// log of the measured value.
	log float64
	// bad of so many requests, where the signal is a share of requests.
	bad, of float64
	// shift was added to the share before its logarithm was taken.
	shift float64
	// state says what the reading is good for.
	state readingState
}

type readingState int

const (
	// unmeasured: there is no such series.
	unmeasured readingState = iota
	// unreadable: there is one, but no number that can be used.
	unreadable
	// quiet: the pod had no request, or used no processor time that shows.
	quiet
	// readable: log, bad and of hold.
	readable
)

// pseudoBad is added to the bad requests of each pod, and twice that to all: none of 1000 is no proof of none at all, and has a logarithm
// all the same. Half a request leaves the estimate of the logarithm the least bias (Haldane, Annals of Human Genetics 20, 1956, 309).
const pseudoBad = 0.5

// ratio reads an amount for each of a number of requests.
func ratio(amount, requests signal.Value) reading {
	switch {
	case amount.State == signal.Absent || requests.State == signal.Absent:
		return reading{}
	case !usable(amount) || !usable(requests):
		return reading{state: unreadable}
	case requests.Number <= 0 || amount.Number <= 0:
		return reading{state: quiet}
	}
	return reading{log: math.Log(amount.Number / requests.Number), of: requests.Number, state: readable}
}

// level reads an amount as it is.
func level(amount signal.Value) reading {
	return ratio(amount, signal.Value{Number: 1, State: signal.Present})
}

// share reads bad requests among all.
func share(bad, of float64) reading {
	if of <= 0 {
		return reading{state: quiet}
	}
	bad = math.Min(bad, of)
	return reading{log: math.Log((bad + pseudoBad) / (of + 2*pseudoBad)), bad: bad, of: of, state: readable}
}

func failedShare(p *signal.Pod) reading {
	switch {
	case p.FailedRequests.State == signal.Absent || p.Requests.State == signal.Absent:
		return reading{}
	case !usable(p.FailedRequests) || !usable(p.Requests):
		return reading{state: unreadable}
	}
	return share(p.FailedRequests.Number, p.Requests.Number)
}

// scarceTail is added to a share of slow requests before it is compared, or what an objective allows where that is less. A tail that is far smaller
// is a handful of requests: one hiccup of a node multiplies it, and pods would look too unlike each other for any trial, though nobody waits.
const scarceTail = 0.01

// shiftedShare reads the requests above an edge where they may be few: the logarithm is of their share and the shift.
func shiftedShare(p *signal.Pod, edgeSeconds, shift float64) reading {
	one := slowShare(p, edgeSeconds)
	if one.state == readable {
		one.shift = shift
		one.log = math.Log(math.Exp(one.log) + shift)
	}
	return one
}

// slowShare reads the requests above an edge that the pod's histogram has.
func slowShare(p *signal.Pod, edgeSeconds float64) reading {
	if p.LatencyState == signal.Absent {
		return reading{}
	}
	m := measureSlow(p, edgeSeconds)
	if m.unusable != "" || m.betweenBuckets {
		return reading{state: unreadable}
	}
	return share(m.badLow, m.requests)
}

// tailEdge is the smallest edge below which at least 95% of the requests of the control pods lie: the tail that it cuts off is as large as it
// can be without being the middle, so that outliers and a growing tail show in it, whatever objectives ask. Where the histogram ends before
// that, its last edge has to do. 0 where there is no usable histogram.
func tailEdge(control []signal.Pod) float64 {
	edge := 0.0
	for _, bucket := range mergedBuckets(control) {
		if math.IsInf(bucket.UpperBoundSeconds, 1) {
			break
		}
		edge = bucket.UpperBoundSeconds
		if bucket.Count >= 1-tailShare {
			break
		}
	}
	return edge
}

const tailShare = 0.05

// mergedBuckets sums the histograms of pods up as shares of all requests; nil where they differ in their edges.
func mergedBuckets(pods []signal.Pod) []signal.Bucket {
	var merged []signal.Bucket
	for p := range pods {
		pod := &pods[p]
		if pod.LatencyState != signal.Present || !sound(pod.Latency) {
			continue
		}
		if merged == nil {
			merged = make([]signal.Bucket, len(pod.Latency))
		}
		if len(pod.Latency) != len(merged) {
			return nil
		}
		for i, bucket := range pod.Latency {
			merged[i].UpperBoundSeconds = bucket.UpperBoundSeconds
			merged[i].Count += bucket.Count
		}
	}
	if len(merged) == 0 || merged[len(merged)-1].Count <= 0 {
		return nil
	}
	all := merged[len(merged)-1].Count
	for i := range merged {
		merged[i].Count /= all
	}
	return merged
}

// exactEdge is the largest edge up to a threshold, else the smallest one above it; 0 where there is none.
func exactEdge(pods []signal.Pod, thresholdSeconds float64) float64 {
	edge := 0.0
	for _, bucket := range mergedBuckets(pods) {
		if math.IsInf(bucket.UpperBoundSeconds, 1) || edge > 0 && bucket.UpperBoundSeconds > thresholdSeconds*(1+relativeTolerance) {
			break
		}
		edge = bucket.UpperBoundSeconds
	}
	return edge
}

// cohortReading is what a cohort shows of a signal.
type cohortReading struct {
	replicates []replicate
	readings   []reading
	bad, of    float64
	// counts of pods by what their readings are good for.
	counts [readable + 1]int
}

func readCohort(pods []signal.Pod, members []Member, read func(*signal.Pod) reading) cohortReading {
	var c cohortReading
	for i := range pods {
		one := read(&pods[i])
		c.counts[one.state]++
		if one.state != readable {
			continue
		}
		c.replicates = append(c.replicates, replicate{node: members[i].Node, log: one.log})
		c.readings = append(c.readings, one)
		c.bad, c.of = c.bad+one.bad, c.of+one.of
	}
	return c
}

// share of bad requests with the pseudo-counts of its pods.
func (c cohortReading) share() float64 {
	pods := float64(len(c.readings))
	return (c.bad + pods*pseudoBad) / (c.of + 2*pods*pseudoBad)
}

// countVariance is the mean variance that the pods' logarithms owe to the counts that they were taken from: that of a logarithm of k counted
// requests is about 1/k, and less by the square of what a shift leaves of a change.
func (c cohortReading) countVariance() float64 {
	sum := 0.0
	for _, one := range c.readings {
		left := 1.0
		if one.shift > 0 {
			share := (one.bad + pseudoBad) / (one.of + 2*pseudoBad)
			left = share / (share + one.shift)
		}
		sum += left * left / (one.bad + pseudoBad)
	}
	return sum / float64(len(c.readings))
}

func (c cohortReading) leastRequests() float64 {
	least := math.Inf(1)
	for _, one := range c.readings {
		least = math.Min(least, one.of)
	}
	return least
}

// contrast is a signal of both cohorts in one window.
type contrast struct {
	canary, control cohortReading
	comparison      comparison
}

func (in Input) contrast(canary, control []signal.Pod, read func(*signal.Pod) reading) contrast {
	c := contrast{canary: readCohort(canary, in.Canary, read), control: readCohort(control, in.Control, read)}
	c.comparison = compare(c.canary.replicates, c.control.replicates)
	return c
}

// measured says that any pod shows the signal at all.
func (c contrast) measured() bool {
	for _, cohort := range []cohortReading{c.canary, c.control} {
		if cohort.counts[unreadable]+cohort.counts[quiet]+cohort.counts[readable] > 0 {
			return true
		}
	}
	return false
}

// comparable says that there are pods of both cohorts, and none whose reading is missing or can't be used.
func (c contrast) comparable() bool {
	for _, cohort := range []cohortReading{c.canary, c.control} {
		if cohort.counts[unmeasured]+cohort.counts[unreadable] > 0 || len(cohort.replicates) == 0 {
			return false
		}
	}
	return true
}

// excessChance is the chance of at least as many bad requests of the canary pods as were seen, given those of all pods, if the canary
// pods' share is so many times that of the control pods (the conditional test of two Poisson rates: Przyborowski and Wilenski, Biometrika 31,
// 1940, 313).
func (c contrast) excessChance(times float64) float64 {
	return excessChance(c.canary.bad, c.canary.of, c.control.bad, c.control.of, times)
}

func excessChance(canaryBad, canary, controlBad, control, times float64) float64 {
	expected := canary * times / (canary*times + control)
	return tail(canaryBad+controlBad, canaryBad, expected)
}

func queryOf(window *signal.Window, name v1alpha1.SignalName) string {
	if window == nil {
		return ""
	}
	return shorten(window.Queries[name])
}
