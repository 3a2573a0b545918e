package controllers

import (
	"regexp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// summary is what Ready says.
type summary struct {
	status  metav1.ConditionStatus
	reason  string
	message string
	// stalled says that only a person can change it.
	stalled bool
	// measured says that the message holds figures of this look. They stay as they were first told while nothing else changes: else every look
	// would be a write.
	measured bool
}

// asMeasured marks a summary whose message holds figures of this look.
func (s summary) asMeasured() *summary {
	s.measured = true
	return &s
}

func well(reason, message string) summary {
	return summary{status: metav1.ConditionTrue, reason: reason, message: message}
}

func underWay(reason, message string) summary {
	return summary{status: metav1.ConditionUnknown, reason: reason, message: message}
}

func unwell(reason, message string) summary {
	return summary{status: metav1.ConditionFalse, reason: reason, message: message}
}

func stalled(reason, message string) summary {
	return summary{status: metav1.ConditionFalse, reason: reason, message: message, stalled: true}
}

// summarize writes the conditions as kstatus reads them: Ready always, Reconciling and Stalled only while True
// (https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus).
func summarize(policy *v1alpha1.RuntimeTuningPolicy, s summary, now metav1.Time) {
	if s.measured {
		s.message = keepFigures(policy, s)
	}
	policy.Status.ObservedGeneration = policy.Generation
	set := func(kind string, status metav1.ConditionStatus) {
		meta.SetStatusCondition(&policy.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: s.reason, Message: s.message,
			ObservedGeneration: policy.Generation, LastTransitionTime: now,
		})
	}
	set(v1alpha1.ConditionReady, s.status)
	setOrRemove := func(kind string, present bool) {
		if present {
			set(kind, metav1.ConditionTrue)
		} else {
			meta.RemoveStatusCondition(&policy.Status.Conditions, kind)
		}
	}
	setOrRemove(v1alpha1.ConditionReconciling, s.status == metav1.ConditionUnknown)
	setOrRemove(v1alpha1.ConditionStalled, s.stalled)
}

// keepFigures gives the message that the policy has already, where the new one says the same of the same spec with other figures.
func keepFigures(policy *v1alpha1.RuntimeTuningPolicy, s summary) string {
	ready := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != s.reason || ready.ObservedGeneration != policy.Generation || withoutFigures(ready.Message) != withoutFigures(s.message) {
		return s.message
	}
	return ready.Message
}

// figure is a number that was measured, with its unit. A number after an equals sign is a setting, such as GOGC=50.
var figure = regexp.MustCompile(`(^|[^=0-9A-Za-z])[-+]?[0-9][0-9.,]*(e[-+]?[0-9]+)?(%|[KMG]iB|[mµn]?s)?`)

func withoutFigures(message string) string { return figure.ReplaceAllString(message, "$1#") }

// reasonOf is what Ready said.
func reasonOf(policy *v1alpha1.RuntimeTuningPolicy) string {
	if ready := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.Reason
	}
	return ""
}
