package verdict

import (
	"fmt"
	"math"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

const (
	// MinRequests of a cohort below which a share of requests says nothing.
	MinRequests = 100
	// BreachChance is the chance, at exactly the allowed share, of at least as many bad requests as were seen, below which the limit
	// counts as broken. One slow request in a short window is not a breach, a burst is, at any traffic.
	BreachChance = 0.001
)

// measured is how many of a cohort's requests were bad. A threshold between two edges of a histogram leaves a range.
type measured struct {
	requests       float64
	badLow         float64
	badHigh        float64
	unusable       string
	belowEdge      float64
	aboveEdge      float64
	betweenBuckets bool
}

func (m measured) shareLow() float64  { return m.badLow / m.requests }
func (m measured) shareHigh() float64 { return m.badHigh / m.requests }

// sloCheck fails where either window shows a breach, and passes only where all evidence is within the limit.
func sloCheck(slo SLO, in Input) v1alpha1.Check {
	recent := sloOn(slo, podsOf(in.Recent, in.Canary))
	check := sloOn(slo, podsOf(in.Evidence, in.Canary))
	if recent.Outcome == v1alpha1.OutcomeFail {
		check = recent
	} else if recent.Outcome == v1alpha1.OutcomeInvalid && recent.Reason == v1alpha1.ReasonNoData {
		check = recent
	}
	control := sloOn(slo, podsOf(in.Evidence, in.Control))
	recentControl := sloOn(slo, podsOf(in.Recent, in.Control))
	check.Control = control.Canary
	shared := control.Outcome == v1alpha1.OutcomeFail || recentControl.Outcome == v1alpha1.OutcomeFail
	if check.Outcome == v1alpha1.OutcomeFail && shared {
		check.Reason = v1alpha1.ReasonSharedBreach
		check.Message += "; the control pods break it too"
	}
	return check
}

// OnPods checks one objective on pods of a window: on a baseline before a trial, or on all pods in the waves of a promotion.
func OnPods(slo SLO, window *signal.Window, members []Member) v1alpha1.Check {
	return sloOn(slo, podsOf(window, members))
}

func sloOn(slo SLO, pods []signal.Pod) v1alpha1.Check {
	check := v1alpha1.Check{Name: slo.Name, Limit: percent(slo.AllowedShare)}
	bad := measure(slo, pods)
	if bad.unusable != "" {
		check.Outcome, check.Reason, check.Message = v1alpha1.OutcomeInvalid, v1alpha1.ReasonNoData, slo.Name+": "+bad.unusable
		return check
	}
	check.Canary = shareText(bad)
	check.Message = fmt.Sprintf("%s: %s of %.0f requests %s, allowed %s", slo.Name, shareText(bad), bad.requests, slo.badWord(), check.Limit)
	check.Outcome, check.Reason = decide(slo, bad)
	if check.Reason == v1alpha1.ReasonCoarseBuckets {
		check.Message += fmt.Sprintf(" (the histogram has no edge between %s and %s)", seconds(bad.belowEdge), seconds(bad.aboveEdge))
	}
	return check
}

func decide(slo SLO, bad measured) (v1alpha1.Outcome, string) {
	switch {
	case bad.badLow > 0 && bad.shareLow() > slo.AllowedShare && tail(bad.requests, bad.badLow, slo.AllowedShare) < BreachChance:
		return v1alpha1.OutcomeFail, slo.breachReason()
	case bad.requests < MinRequests:
		return v1alpha1.OutcomeInvalid, v1alpha1.ReasonTooFewRequests
	case bad.shareHigh() <= slo.AllowedShare:
		return v1alpha1.OutcomePass, v1alpha1.ReasonPassed
	case bad.betweenBuckets && bad.shareLow() <= slo.AllowedShare:
		return v1alpha1.OutcomeInconclusive, v1alpha1.ReasonCoarseBuckets
	default:
		return v1alpha1.OutcomeInconclusive, v1alpha1.ReasonInconclusive
	}
}

func (s SLO) breachReason() string {
	if s.ThresholdSeconds > 0 {
		return v1alpha1.ReasonLatencyBreached
	}
	return v1alpha1.ReasonErrorsBreached
}

func (s SLO) badWord() string {
	if s.ThresholdSeconds > 0 {
		return "took longer than " + seconds(s.ThresholdSeconds)
	}
	return "failed"
}

func measure(slo SLO, pods []signal.Pod) measured {
	var sum measured
	if len(pods) == 0 {
		return measured{unusable: "there is no pod to measure"}
	}
	for _, pod := range pods {
		one := measureFailed(pod)
		if slo.ThresholdSeconds > 0 {
			one = measureSlow(pod, slo.ThresholdSeconds)
		}
		if one.unusable != "" {
			return one
		}
		sum.requests += one.requests
		sum.badLow += one.badLow
		sum.badHigh += one.badHigh
		sum.belowEdge, sum.aboveEdge = one.belowEdge, one.aboveEdge
		sum.betweenBuckets = sum.betweenBuckets || one.betweenBuckets
	}
	if sum.requests <= 0 {
		return measured{unusable: "no request in the window"}
	}
	return sum
}

func measureFailed(pod signal.Pod) measured {
	if !pod.Requests.OK() || !pod.FailedRequests.OK() {
		return measured{unusable: "requests are not counted"}
	}
	failed := math.Min(pod.FailedRequests.Number, pod.Requests.Number)
	return measured{requests: pod.Requests.Number, badLow: failed, badHigh: failed}
}

// edgeTolerance absorbs the rounding of an edge that was written as 0.1 and one computed from 100ms.
const edgeTolerance = 1e-9

func measureSlow(pod signal.Pod, thresholdSeconds float64) measured {
	if pod.LatencyState != signal.Present || len(pod.Latency) == 0 {
		return measured{unusable: "no usable latency histogram"}
	}
	total := pod.Latency[len(pod.Latency)-1].Count
	m := measured{requests: total, badLow: total, badHigh: total, aboveEdge: math.Inf(1)}
	for _, bucket := range pod.Latency {
		slower := math.Max(0, total-bucket.Count)
		if bucket.UpperBoundSeconds <= thresholdSeconds*(1+edgeTolerance) {
			m.badHigh, m.belowEdge = slower, bucket.UpperBoundSeconds
		}
		if bucket.UpperBoundSeconds >= thresholdSeconds*(1-edgeTolerance) {
			m.badLow, m.aboveEdge = slower, bucket.UpperBoundSeconds
			break
		}
	}
	m.betweenBuckets = m.belowEdge < m.aboveEdge
	return m
}

// tail is the chance of at least k of n requests being bad where each is with probability p: the binomial distribution's upper tail.
// n and k need not be whole, since Prometheus extrapolates; they are rounded to the careful side.
func tail(n, k, p float64) float64 {
	n, k = math.Ceil(n), math.Floor(k)
	if k <= 0 {
		return 1
	}
	if p <= 0 {
		return 0
	}
	sum := 0.0
	for i := k; i <= n; i++ {
		term := math.Exp(logChoose(n, i) + i*math.Log(p) + (n-i)*math.Log1p(-p))
		sum += term
		if i > n*p && term < sum*1e-12 {
			break
		}
	}
	return math.Min(1, sum)
}

func logChoose(n, k float64) float64 {
	all, _ := math.Lgamma(n + 1)
	chosen, _ := math.Lgamma(k + 1)
	left, _ := math.Lgamma(n - k + 1)
	return all - chosen - left
}

func percent(share float64) string { return fmt.Sprintf("%.3g%%", 100*share) }

func shareText(m measured) string {
	if m.badHigh-m.badLow < 0.5 {
		return percent(m.shareLow())
	}
	return percent(m.shareLow()) + " to " + percent(m.shareHigh())
}

func seconds(s float64) string {
	if math.IsInf(s, 1) {
		return "infinity"
	}
	return time.Duration(s * float64(time.Second)).String()
}
