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
)

// gainCheck compares GC CPU time per request, pod by pod: pods are the replicates, not samples, since samples of one pod are alike.
func gainCheck(in Input) v1alpha1.Check {
	check := v1alpha1.Check{Name: "gain", Outcome: v1alpha1.OutcomeInvalid, Limit: "-" + percent(in.Gain.MinShare)}
	canary, control := podsOf(in.Evidence, in.Canary), podsOf(in.Evidence, in.Control)
	if reason, message := unfit(canary, control); reason != "" {
		check.Reason, check.Message = reason, message
		return check
	}
	canaryCosts, controlCosts := costs(canary), costs(control)
	shift := HodgesLehmann(canaryCosts, controlCosts)
	gain := 1 - math.Exp(shift)
	chance := PermutationTest(canaryCosts, controlCosts)
	ofCPU := gain * cpuShare(control)
	check.Canary = milliseconds(math.Exp(median(canaryCosts)))
	check.Control = milliseconds(math.Exp(median(controlCosts)))
	check.Message = fmt.Sprintf("GC CPU time per request %s, control %s: %+.1f%% (needed -%s), that is %.1f%% of all CPU time (needed %s), p=%.3g",
		check.Canary, check.Control, -100*gain, percent(in.Gain.MinShare), 100*ofCPU, percent(in.Gain.MinCPUShare), chance)
	// Each gate is what must hold, so that what is not a number passes none.
	switch {
	case !(gain >= in.Gain.MinShare && ofCPU >= in.Gain.MinCPUShare):
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
		case !usable(pod.Requests) || !usable(pod.GCCPUSeconds) || !usable(pod.CPUSeconds) || !usable(pod.GCCycles):
			return v1alpha1.ReasonNoData, "requests, GC CPU time, CPU time or GC cycles of a pod are not measured"
		case pod.CPUSeconds.Number <= 0:
			return v1alpha1.ReasonNoData, "a pod's CPU time does not advance"
		case pod.Requests.Number <= 0:
			return v1alpha1.ReasonTooFewRequests, "a pod has no request"
		case pod.GCCycles.Number < MinGCCycles || pod.GCCPUSeconds.Number <= 0:
			return v1alpha1.ReasonTooFewGCCycles, fmt.Sprintf("a pod has finished %.0f GC cycles since the warm-up, needed %d", pod.GCCycles.Number, MinGCCycles)
		}
		requests = append(requests, pod.Requests.Number)
	}
	ofCanary, ofControl := requests[:len(canary)], requests[len(canary):]
	if least := math.Min(total(ofCanary), total(ofControl)); least < MinRequests {
		return v1alpha1.ReasonTooFewRequests, fmt.Sprintf("%.0f requests to one of the cohorts, needed %d", least, MinRequests)
	}
	return unevenTraffic(ofCanary, ofControl)
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

// costs are logarithms, since a setting changes the cost by a factor.
func costs(pods []signal.Pod) []float64 {
	out := make([]float64, 0, len(pods))
	for _, pod := range pods {
		out = append(out, math.Log(pod.GCCPUSeconds.Number/pod.Requests.Number))
	}
	return out
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
