package controllers

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
)

// maxNote is the longest note that events.k8s.io admits.
const maxNote = 1024

// emit writes events about a policy. The reason serves as the action too: what happened is what was done.
func (r *Reconciler) emit(policy *v1alpha1.RuntimeTuningPolicy, events []rollout.Event) {
	for _, event := range events {
		kind := corev1.EventTypeNormal
		if event.Warning {
			kind = corev1.EventTypeWarning
		}
		message := event.Message
		if len(message) > maxNote {
			message = message[:maxNote]
		}
		r.Events.Eventf(policy, nil, kind, event.Reason, event.Reason, "%s", message)
	}
}
