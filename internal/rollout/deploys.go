package rollout

import (
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// newRevision is the message of a trial that a deploy ended; the reason alone says less.
const newRevision = "the target has a new revision"

// mostDeploys is how many trials in a row a deploy may end before the next waits for a quiet time.
const mostDeploys = 3

// MinLength is how long a trial takes at the least, once its pods are there: the warm-up and the hold of each step.
func (p Plan) MinLength() time.Duration {
	length := time.Duration(0)
	for _, step := range p.Steps {
		length += p.WarmUp + step.Hold
	}
	return length
}

// DeploysTooFrequent says that a new revision ended each of the latest trials since a moment.
func DeploysTooFrequent(history []v1alpha1.TrialRecord, since time.Time) bool {
	if len(history) < mostDeploys {
		return false
	}
	for _, record := range history[:mostDeploys] {
		if record.Reason != v1alpha1.ReasonSuperseded || record.Message != newRevision || record.EndedAt.Time.Before(since) {
			return false
		}
	}
	return true
}
