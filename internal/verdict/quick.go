package verdict

import "github.com/gopacer/gopacer/api/v1alpha1"

// Guard is the quick look between two verdicts: the absolute limits alone, on the recent window. It fails where one is broken and passes
// otherwise; what is missing makes it Inconclusive, never Fail.
func Guard(in Input) v1alpha1.Verdict {
	recent := in
	recent.Evidence = in.Recent
	in.Evidence = nil // so that nothing counts as seen in two windows
	checks := Guardrails(in.Now, in.Canary, in.Control)
	for _, slo := range in.SLOs {
		if !slo.Query {
			checks = append(checks, sloCheck(slo, recent))
		}
	}
	checks = append(checks, trips(in)...)
	if data := freshness(in, in.Recent); data.Outcome != v1alpha1.OutcomePass {
		checks = append(checks, data)
	}
	for i := range checks {
		switch checks[i].Outcome {
		case v1alpha1.OutcomeInvalid:
			checks[i].Outcome = v1alpha1.OutcomeInconclusive
		case v1alpha1.OutcomeInconclusive:
			checks[i].Outcome, checks[i].Reason = v1alpha1.OutcomePass, v1alpha1.ReasonPassed
		}
	}
	return in.sized(Combine(in.Now, bounded(checks)))
}
