package verdict

import (
	"fmt"
	"math"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
)

// queryCheck holds the mean of a policy's own query over the canary pods against its bound. A mean of a short window is no more than a hint, so
// that three in a row above the bound are a breach.
func queryCheck(slo SLO, in Input) (check v1alpha1.Check, inARow int32) {
	inARow = badBefore(in.BadWindows, slo.Name)
	check = queryOn(slo, podsOf(in.Recent, in.Canary))
	switch check.Outcome {
	case v1alpha1.OutcomePass:
		return check, 0
	case v1alpha1.OutcomeInvalid:
		return check, inARow
	}
	inARow++
	canary, control := customValues(slo, in, in.Canary), customValues(slo, in, in.Control)
	if len(control) > 0 {
		check.Control = plain(mean(control))
	}
	check.Message += fmt.Sprintf(", for %d windows", inARow)
	switch {
	case inARow < BadLooks:
		check.Outcome = v1alpha1.OutcomeInconclusive
	case len(control) > 0 && mean(control) > slo.Max && PermutationTest(control, canary) > Significance:
		check.Reason = v1alpha1.ReasonSharedBreach
		check.Message += "; the control pods break it too"
	}
	return check, inARow
}

func customValues(slo SLO, in Input, members []Member) []float64 {
	values, _ := custom(slo, podsOf(in.Recent, members))
	return values
}

// queryOn fails where the mean over the pods exceeds the bound, and is Invalid where any pod has no number.
func queryOn(slo SLO, pods []signal.Pod) v1alpha1.Check {
	check := v1alpha1.Check{Name: slo.Name, Limit: plain(slo.Max), Outcome: v1alpha1.OutcomeInvalid, Reason: v1alpha1.ReasonNoData}
	values, complete := custom(slo, pods)
	if !complete || len(values) == 0 {
		check.Message = slo.Name + ": the query gives no number for a pod"
		return check
	}
	check.Canary = plain(mean(values))
	check.Message = fmt.Sprintf("%s: %s is the mean of %s, allowed %s", slo.Name, check.Canary, counted(len(values), "pod", "pods"), check.Limit)
	if mean(values) <= slo.Max {
		check.Outcome, check.Reason = v1alpha1.OutcomePass, v1alpha1.ReasonPassed
		return check
	}
	check.Outcome, check.Reason = v1alpha1.OutcomeFail, v1alpha1.ReasonQueryBreached
	return check
}

func custom(slo SLO, pods []signal.Pod) (values []float64, complete bool) {
	complete = true
	for _, pod := range pods {
		value := pod.Custom[slo.Name]
		if !value.OK() || math.IsNaN(value.Number) || math.IsInf(value.Number, 0) {
			complete = false
			continue
		}
		values = append(values, value.Number)
	}
	return values, complete
}

func plain(number float64) string { return fmt.Sprintf("%.4g", number) }
