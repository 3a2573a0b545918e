package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// Combine sums checks up. The verdict takes reason and message from the first of the weightiest checks, and
// the messages of all where all pass.
func Combine(now time.Time, checks []v1alpha1.Check) v1alpha1.Verdict {
	checks = slices.Clone(checks)
	verdict := v1alpha1.Verdict{Outcome: v1alpha1.OutcomePass, Reason: v1alpha1.ReasonPassed, At: metav1.NewTime(now), Checks: checks}
	heaviest := 0
	for i, check := range checks {
		checks[i].Message = shorten(check.Message)
		if weight(check) > heaviest {
			heaviest = weight(check)
			verdict.Outcome, verdict.Reason, verdict.Message = check.Outcome, check.Reason, checks[i].Message
		}
	}
	if verdict.Outcome == v1alpha1.OutcomePass {
		verdict.Message = shorten(strings.Join(messages(checks), "; "))
	}
	return verdict
}

// GainFirst tells a verdict with the objective's gain ahead, which is what a person decides on, and then what its message says besides.
func GainFirst(verdict v1alpha1.Verdict) (gain, besides string) {
	at := slices.IndexFunc(verdict.Checks, func(check v1alpha1.Check) bool { return check.Name == gainName })
	switch {
	case at < 0:
		return "", verdict.Message
	case verdict.Outcome == v1alpha1.OutcomePass:
		besides = strings.Join(messages(slices.Delete(slices.Clone(verdict.Checks), at, at+1)), "; ")
	case verdict.Message != verdict.Checks[at].Message:
		besides = verdict.Message
	}
	return verdict.Checks[at].Message, besides
}

// messages of checks that pass. Signals that lie within their margins are but counted: each tells its own in its check.
func messages(checks []v1alpha1.Check) []string {
	var told []string
	within := 0
	for _, check := range checks {
		switch {
		case check.Margin != "":
			within++
		case check.Message != "":
			told = append(told, check.Message)
		}
	}
	if within > 0 {
		told = append(told, counted(within, "signal is within its margin", "signals are within their margins"))
	}
	return told
}

func counted(count int, one, many string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", count, many)
}

// weight puts the canary's own breach above one that the control pods share: the shared one excuses the candidate, so it must not hide
// what the candidate alone has done. That it brings no gain is the least that can be said against it.
func weight(check v1alpha1.Check) int {
	switch {
	case check.Outcome == v1alpha1.OutcomePass:
		return 0
	case check.Outcome == v1alpha1.OutcomeInconclusive && check.Reason == v1alpha1.ReasonGainUnproven:
		return 1
	case check.Outcome == v1alpha1.OutcomeInconclusive:
		return 2
	case check.Outcome == v1alpha1.OutcomeFail && check.Reason == v1alpha1.ReasonSharedBreach:
		return 4
	case check.Outcome == v1alpha1.OutcomeFail && check.Reason == v1alpha1.ReasonNoGain:
		return 5
	case check.Outcome == v1alpha1.OutcomeFail:
		return 6
	default: // Invalid, and whatever a newer version may have written
		return 3
	}
}

// maxChecks is the bound that the CRD sets.
const maxChecks = 24

// bounded leaves out passing checks, the last first, where there are more than fit.
func bounded(checks []v1alpha1.Check) []v1alpha1.Check {
	for i := len(checks) - 1; i >= 0 && len(checks) > maxChecks; i-- {
		if checks[i].Outcome == v1alpha1.OutcomePass {
			checks = slices.Delete(checks, i, i+1)
		}
	}
	return checks[:min(len(checks), maxChecks)]
}

// maxMessage is the bound that the CRD sets. Two pod names can be longer, and a verdict that the API server refuses would keep a
// revert from being written.
const maxMessage = 512

func shorten(text string) string {
	const ellipsis = "…"
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage-len(ellipsis)], "") + ellipsis
}
