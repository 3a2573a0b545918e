package verdict

import (
	"fmt"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// NotReadyGrace is how long a canary pod that was ready may be not ready before that counts as harm.
const NotReadyGrace = 15 * time.Second

// Guardrails asks the Kubernetes API's facts: out-of-memory kills, restarts, readiness. A harm that control pods show too is
// SharedBreach: the trial ends, but the candidate is not to blame.
func Guardrails(now time.Time, canary, control []Member) []v1alpha1.Check {
	checks := []v1alpha1.Check{
		guardrail("oom", v1alpha1.ReasonOOMKilled, "ran out of memory and was killed", canary, control,
			func(m Member) bool { return m.OOMKilled }),
		guardrail("restarts", v1alpha1.ReasonRestarted, "restarted", canary, control,
			func(m Member) bool { return m.Restarts > 0 }),
		guardrail("ready", v1alpha1.ReasonNotReady, "was ready and is no longer", canary, control,
			func(m Member) bool { return lostReadiness(m, now) }),
	}
	waver(&checks[len(checks)-1], canary)
	return checks
}

// waver keeps a canary pod that lost its readiness a moment ago from passing: not yet harm, but nothing to promote on either.
func waver(check *v1alpha1.Check, canary []Member) {
	for _, m := range canary {
		if check.Outcome == v1alpha1.OutcomePass && m.WasReady && !m.Ready {
			check.Outcome, check.Reason = v1alpha1.OutcomeInconclusive, v1alpha1.ReasonNotReady
			check.Message = fmt.Sprintf("canary pod %s is not ready, for less than %s so far", m.Name, NotReadyGrace)
		}
	}
}

// lostReadiness leaves a pod that never was ready to the step's progress deadline: starting is not failing. A pod whose readiness
// never changed has no transition after its creation that says otherwise, so the caller passes pods that were verified before.
func lostReadiness(m Member, now time.Time) bool {
	return m.WasReady && !m.Ready && now.Sub(m.ReadyChangedAt) > NotReadyGrace
}

func guardrail(name, reason, what string, canary, control []Member, harmed func(Member) bool) v1alpha1.Check {
	check := v1alpha1.Check{
		Name: name, Outcome: v1alpha1.OutcomePass, Reason: v1alpha1.ReasonPassed,
		Canary: count(canary, harmed), Control: count(control, harmed), Limit: "0 pods",
	}
	for _, member := range canary {
		if !harmed(member) {
			continue
		}
		check.Outcome, check.Reason = v1alpha1.OutcomeFail, reason
		check.Message = fmt.Sprintf("canary pod %s %s", member.Name, what)
		for _, other := range control {
			if harmed(other) {
				check.Reason = v1alpha1.ReasonSharedBreach
				check.Message += fmt.Sprintf("; so it was with control pod %s", other.Name)
				return check
			}
		}
		return check
	}
	return check
}

func count(members []Member, harmed func(Member) bool) string {
	n := 0
	for _, member := range members {
		if harmed(member) {
			n++
		}
	}
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}
