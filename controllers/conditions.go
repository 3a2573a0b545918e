package controllers

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// summary is what Ready says. Its message holds no live figures: they would make every look a write.
type summary struct {
	status  metav1.ConditionStatus
	reason  string
	message string
	// stalled says that only a person can change it.
	stalled bool
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

// reasonOf is what Ready said.
func reasonOf(policy *v1alpha1.RuntimeTuningPolicy) string {
	if ready := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.Reason
	}
	return ""
}
