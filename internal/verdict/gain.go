package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

const (
	// MinGCCycles that each pod must have finished in the window: the runtime's /cpu/classes counters advance only at the end of a cycle.
	MinGCCycles = 5
	// Significance is the largest chance of a false gain with which a candidate is promoted.
	Significance = 0.05
	// maxTrafficSkew is how far the mean traffic of the cohorts may differ, minTraffic the least share of the median pod's traffic.
	maxTrafficSkew = 0.20
	minTraffic     = 0.5
	// provenPart of the minimum is what the gain must exceed beyond chance. The last step is judged again and again until it passes; were
	// nothing to be exceeded, some look of a trial without any gain would do so too often.
	provenPart = 0.5
)

// gainName is the name of the objective's check.
const gainName = "gain"

// objectiveSource is where what must be saved is read.
type objectiveSource struct {
	signal v1alpha1.SignalName
	what   string
	read   func(*signal.Pod) reading
	show   func(float64) string
}

func sourceOf(minimize v1alpha1.Minimize) objectiveSource {
	switch minimize {
	case v1alpha1.MinimizeMemory:
		return objectiveSource{v1alpha1.SignalMemory, "resident memory", func(p *signal.Pod) reading { return level(p.ResidentBytes) }, mebibytes}
	case v1alpha1.MinimizeLatency:
		return objectiveSource{v1alpha1.SignalRequestLatency, "mean time of a request",
			func(p *signal.Pod) reading { return ratio(p.RequestSeconds, p.Requests) }, milliseconds}
	}
	return objectiveSource{v1alpha1.SignalGCCPUPerRequest, "GC CPU time per request",
		func(p *signal.Pod) reading { return ratio(p.GCCPUSeconds, p.Requests) }, milliseconds}
}

// gainCheck compares the objective, pod by pod: pods are the replicates, not samples, since samples of one pod are alike.
func gainCheck(in Input) v1alpha1.Check {
	source := sourceOf(in.Gain.Minimize)
	check := v1alpha1.Check{
		Name: gainName, Outcome: v1alpha1.OutcomeInvalid, Limit: "-" + percent(in.Gain.MinShare), Query: queryOf(in.Evidence, source.signal),
	}
	canary, control := podsOf(in.Evidence, in.Canary), podsOf(in.Evidence, in.Control)
	reason, message := unfit(canary, control)
	if reason == "" {
		reason, message = source.unfit(canary, control)
	}
	if reason != "" {
		check.Reason, check.Message = reason, message
		return check
	}
	c := in.contrast(canary, control, source.read)
	shift := c.comparison.shift()
	gain := 1 - math.Exp(shift)
	chance := c.comparison.chanceBelow(math.Log1p(-provenPart * in.Gain.MinShare))
	check.Canary, check.Control = source.show(math.Exp(median(logs(c.canary.replicates)))), source.show(math.Exp(median(logs(c.control.replicates))))
	check.Effect, check.Interval = effectText(shift), c.comparison.intervalText()
	check.Samples = wholeNumber(requestsOf(canary))
	needed := "needed -" + percent(in.Gain.MinShare)
	if check.Interval != "" {
		needed = check.Interval + "; " + needed
	}
	check.Message = fmt.Sprintf("%s %s, control %s: %s (%s)", source.what, check.Canary, check.Control, check.Effect, needed)
	enough := gain >= in.Gain.MinShare
	if source.signal == v1alpha1.SignalGCCPUPerRequest {
		ofCPU := gain * cpuShare(control)
		enough = enough && ofCPU >= in.Gain.MinCPUShare
		check.Message += fmt.Sprintf(", that is %.1f%% of all CPU time (needed %s)", 100*ofCPU, percent(in.Gain.MinCPUShare))
	}
	check.Message += fmt.Sprintf(", p=%.3g", chance)
	// Each gate is what must hold, so that what is not a number passes none.
	switch {
	case !enough:
		check.Outcome, check.Reason = v1alpha1.OutcomeFail, v1alpha1.ReasonNoGain
	case !(chance <= Significance):
		check.Outcome, check.Reason = v1alpha1.OutcomeInconclusive, v1alpha1.ReasonGainUnproven
	default:
		check.Outcome, check.Reason = v1alpha1.OutcomePass, v1alpha1.ReasonPassed
	}
	return check
}

// unfit says why pods can't be compared; empty where they can.
func unfit(canary, control []signal.Pod) (reason, message string) {
	if len(canary) == 0 || len(control) == 0 {
		return v1alpha1.ReasonNoData, "a gain needs canary and control pods"
	}
	var requests []float64
	for _, pod := range slices.Concat(canary, control) {
		switch {
		case !usable(pod.Requests):
			return v1alpha1.ReasonNoData, "the requests of a pod are not measured"
		case pod.Requests.Number <= 0:
			return v1alpha1.ReasonTooFewRequests, "a pod has no request"
		}
		requests = append(requests, pod.Requests.Number)
	}
	ofCanary, ofControl := requests[:len(canary)], requests[len(canary):]
	if least := math.Min(total(ofCanary), total(ofControl)); least < MinRequests {
		return v1alpha1.ReasonTooFewRequests, fmt.Sprintf("%.0f requests to one of the cohorts, needed %d", least, MinRequests)
	}
	return unevenTraffic(ofCanary, ofControl)
}

// unfit says why the objective can't be compared; empty where it can.
func (s objectiveSource) unfit(canary, control []signal.Pod) (reason, message string) {
	pods := slices.Concat(canary, control)
	for i := range pods {
		pod := &pods[i]
		if s.signal != v1alpha1.SignalGCCPUPerRequest {
			if s.read(pod).state != readable {
				return v1alpha1.ReasonNoData, "the " + s.what + " of a pod is not measured"
			}
			continue
		}
		switch {
		case !usable(pod.GCCPUSeconds) || !usable(pod.CPUSeconds) || !usable(pod.GCCycles):
			return v1alpha1.ReasonNoData, "GC CPU time, CPU time or GC cycles of a pod are not measured"
		case pod.CPUSeconds.Number <= 0:
			return v1alpha1.ReasonNoData, "a pod's CPU time does not advance"
		case pod.GCCycles.Number < MinGCCycles || pod.GCCPUSeconds.Number <= 0:
			return v1alpha1.ReasonTooFewGCCycles, fmt.Sprintf("a pod has finished %.0f GC cycles since the warm-up, needed %d", pod.GCCycles.Number, MinGCCycles)
		}
	}
	return "", ""
}

func unevenTraffic(canary, control []float64) (reason, message string) {
	ratio := mean(canary) / mean(control)
	if ratio > 1+maxTrafficSkew || ratio < 1/(1+maxTrafficSkew) {
		return v1alpha1.ReasonUnevenTraffic, fmt.Sprintf("a canary pod gets %.2f times the requests of a control pod", ratio)
	}
	requests := slices.Concat(canary, control)
	middle := median(requests)
	for _, n := range requests {
		if n < minTraffic*middle {
			return v1alpha1.ReasonUnevenTraffic, fmt.Sprintf("a pod gets %.0f requests where the median is %.0f", n, middle)
		}
	}
	return "", ""
}

func requestsOf(pods []signal.Pod) float64 {
	sum := 0.0
	for _, pod := range pods {
		sum += pod.Requests.Number
	}
	return sum
}

// cpuShare is the share of GC in the pods' CPU time, which unfit found to be above 0.
func cpuShare(pods []signal.Pod) float64 {
	var gc, cpu float64
	for _, pod := range pods {
		gc += pod.GCCPUSeconds.Number
		cpu += pod.CPUSeconds.Number
	}
	return math.Min(1, gc/cpu)
}

func milliseconds(s float64) string { return fmt.Sprintf("%.3gms", 1000*s) }

func mebibytes(bytes float64) string { return fmt.Sprintf("%.3gMiB", bytes/(1<<20)) }
