package controllers

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
)

// maxNote is the longest note that events.k8s.io admits.
const maxNote = 1024

// emit writes an event about a policy, and a pod if one is concerned. Events with the same reason, action and pod within a few minutes
// become one, with the note of the first: so the occasion, such as the step of a trial, is part of the action.
func (r *Reconciler) emit(policy *v1alpha1.RuntimeTuningPolicy, pod *rollout.Pod, occasion string, event rollout.Event) {
	kind := corev1.EventTypeNormal
	if event.Warning {
		kind = corev1.EventTypeWarning
	}
	var related runtime.Object
	if pod != nil {
		related = &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: policy.Namespace, Name: pod.Name, UID: pod.UID}
	}
	r.Events.Eventf(policy, related, kind, event.Reason, event.Reason+occasion, "%s", note(event.Message))
}

func note(message string) string {
	if len(message) > maxNote {
		message = strings.ToValidUTF8(message[:maxNote], "")
	}
	return message
}

// occasion tells one step of one trial from another; empty without a trial.
func occasion(before, after *v1alpha1.RuntimeTuningPolicy) string {
	for _, policy := range []*v1alpha1.RuntimeTuningPolicy{before, after} {
		if trial := policy.Status.Trial; trial != nil {
			return fmt.Sprintf("Trial%dStep%d", trial.Number, trial.Step+1)
		}
	}
	return ""
}
