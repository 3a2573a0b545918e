package verdict

import (
	"fmt"
	"math"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

const (
	// leastEffectiveGOGC below which the collector does little else than run (https://github.com/golang/go/issues/58106), in percent.
	leastEffectiveGOGC = 25
	// explainedGOGC is the part of a pod's own GOGC down to which the effective one is explained by it: a mean over a window lies a little off.
	explainedGOGC = 0.8
	// MaxMemoryShare of its limit that a container may use: the kernel kills at 100%.
	MaxMemoryShare = 0.9
	// minBreakerRequests below which a share of failures trips no breaker.
	minBreakerRequests = 20
	// maxThrottledRise is by how much the share of throttled periods may exceed the control pods', minThrottled what is always allowed.
	maxThrottledRise = 0.10
	minThrottled     = 0.05
)

// trips are limits that no comparison excuses. Windows that are missing trip nothing.
func trips(in Input) []v1alpha1.Check {
	return []v1alpha1.Check{collectorCheck(in), memoryCheck(in), breakerCheck(in)}
}

func tripCheck(name string) v1alpha1.Check {
	return v1alpha1.Check{Name: name, Outcome: v1alpha1.OutcomePass, Reason: v1alpha1.ReasonPassed}
}

func fail(check v1alpha1.Check, reason, message string, args ...any) v1alpha1.Check {
	check.Outcome, check.Reason, check.Message = v1alpha1.OutcomeFail, reason, fmt.Sprintf(message, args...)
	return check
}

// collectorCheck fails where a canary pod's collector has reached its limit of CPU time, or runs nearly all the time in both windows.
func collectorCheck(in Input) v1alpha1.Check {
	check := tripCheck("collector")
	for _, member := range in.Canary {
		recent, evidence := podIn(in.Recent, member), podIn(in.Evidence, member)
		if recent.LimiterEnabled || evidence.LimiterEnabled {
			return fail(check, v1alpha1.ReasonLimiterEnabled,
				"the collector of canary pod %s used half of all CPU time, and was limited: its memory limit is too tight", member.Name)
		}
		if thrashes(recent) && thrashes(evidence) {
			check.Canary, check.Limit = fmt.Sprintf("GOGC %.0f", recent.EffectiveGOGC().Number), fmt.Sprintf("GOGC %d", leastEffectiveGOGC)
			return fail(check, v1alpha1.ReasonThrashing, "the memory limit leaves canary pod %s an effective GOGC of %.0f, in two windows: it does little else than collect",
				member.Name, recent.EffectiveGOGC().Number)
		}
	}
	return check
}

// thrashes says that the heap goal is far below what the pod's own GOGC asks for. A candidate that is that low itself explains it, and where the
// pod does not show its GOGC nobody knows.
func thrashes(pod signal.Pod) bool {
	effective, own := pod.EffectiveGOGC(), pod.GOGCPercent
	if !effective.OK() || math.IsNaN(effective.Number) || !own.OK() || math.IsNaN(own.Number) {
		return false
	}
	off := gogcOff(own.Number)
	return effective.Number < leastEffectiveGOGC &&
		(off || own.Number >= leastEffectiveGOGC && effective.Number < explainedGOGC*own.Number)
}

func podIn(window *signal.Window, member Member) signal.Pod {
	if window == nil {
		return signal.Pod{}
	}
	return window.Pods[member.Name]
}

// memoryCheck fails where a canary pod uses nearly all of its container's memory, in either window.
func memoryCheck(in Input) v1alpha1.Check {
	check := tripCheck("memory")
	check.Limit = percent(MaxMemoryShare) + " of the limit"
	for _, member := range in.Canary {
		for _, window := range []*signal.Window{in.Recent, in.Evidence} {
			used := memoryShare(podIn(window, member), member.MemoryLimitBytes)
			if !(used > MaxMemoryShare) {
				continue
			}
			check.Canary = percent(used)
			return fail(check, v1alpha1.ReasonMemoryNearLimit, "canary pod %s uses %s of its memory limit, allowed %s", member.Name, check.Canary, percent(MaxMemoryShare))
		}
	}
	return check
}

// memoryShare is the working set over the limit; the resident memory has to do where the kubelet's metrics are missing. 0 where nothing is known.
func memoryShare(pod signal.Pod, limitBytes int64) float64 {
	used := pod.WorkingSetBytes
	if !usable(used) {
		used = pod.ResidentBytes
	}
	if !usable(used) || limitBytes <= 0 {
		return 0
	}
	return used.Number / float64(limitBytes)
}

// breakerCheck fails where so many requests fail that it does not matter whether those of the control pods do too.
func breakerCheck(in Input) v1alpha1.Check {
	check := tripCheck("breaker")
	window := breakerWindow(in)
	if window == nil || in.Breaker.Share <= 0 {
		return check
	}
	check.Limit = percent(in.Breaker.Share)
	failed, requests := 0.0, 0.0
	pods := podsOf(window, in.Canary)
	for i := range pods {
		if one := failedShare(&pods[i]); one.state == readable {
			failed, requests = failed+one.bad, requests+one.of
		}
	}
	if requests < minBreakerRequests {
		return check
	}
	check.Canary, check.Samples = percent(failed/requests), wholeNumber(requests)
	if failed < in.Breaker.Share*requests {
		return check
	}
	return fail(check, v1alpha1.ReasonBreakerTripped, "%s of the canary pods' requests failed over %s, allowed %s",
		check.Canary, window.Length.Round(time.Second), check.Limit)
}

// breakerWindow is the recent window where it is long enough, else the other where that is.
func breakerWindow(in Input) *signal.Window {
	for _, window := range []*signal.Window{in.Recent, in.Evidence} {
		if window != nil && window.Length >= in.Breaker.Length {
			return window
		}
	}
	return nil
}

// throttlingCheck is bad where the canary pods are throttled clearly more than the control pods. A pod without the measurement is left out: the
// kubelet's metrics come when they come, and an idle pod has no period to be throttled in.
func throttlingCheck(in Input) (check v1alpha1.Check, inARow int32) {
	check = tripCheck("throttling")
	check.Limit = fmt.Sprintf("%+.0f points", 100*maxThrottledRise)
	inARow = badBefore(in.BadWindows, check.Name)
	canary, control := throttled(podsOf(in.Recent, in.Canary)), throttled(podsOf(in.Recent, in.Control))
	if math.IsNaN(canary) || math.IsNaN(control) {
		return check, inARow
	}
	check.Canary, check.Control = percent(canary), percent(control)
	if !(canary > control+maxThrottledRise && canary > minThrottled) {
		return check, 0
	}
	inARow++
	check = fail(check, v1alpha1.ReasonThrottled, "the canary pods are throttled in %s of their periods, control %s, allowed %s, for %d windows",
		check.Canary, check.Control, check.Limit, inARow)
	if inARow < BadLooks {
		check.Outcome = v1alpha1.OutcomeInconclusive
	}
	return check, inARow
}

// throttled is the mean over the pods that show it; NaN where none does.
func throttled(pods []signal.Pod) float64 {
	var shares []float64
	for _, pod := range pods {
		if usable(pod.ThrottledShare) {
			shares = append(shares, pod.ThrottledShare.Number)
		}
	}
	return mean(shares)
}
