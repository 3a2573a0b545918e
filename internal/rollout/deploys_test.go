package rollout

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func TestDeploysTooFrequent(t *testing.T) {
	record := func(reason, message string) v1alpha1.TrialRecord {
		return v1alpha1.TrialRecord{Reason: reason, Message: message, EndedAt: metav1.NewTime(epoch)}
	}
	deployed, other := record(v1alpha1.ReasonSuperseded, newRevision), record(v1alpha1.ReasonSuperseded, "the target was scaled down")
	for name, test := range map[string]struct {
		history []v1alpha1.TrialRecord
		since   time.Time
		want    bool
	}{
		"none":              {nil, time.Time{}, false},
		"two":               {[]v1alpha1.TrialRecord{deployed, deployed}, time.Time{}, false},
		"three":             {[]v1alpha1.TrialRecord{deployed, deployed, deployed}, time.Time{}, true},
		"three, and others": {[]v1alpha1.TrialRecord{deployed, deployed, deployed, other}, epoch, true},
		"not in a row":      {[]v1alpha1.TrialRecord{deployed, other, deployed, deployed}, time.Time{}, false},
		"another retry":     {[]v1alpha1.TrialRecord{deployed, deployed, deployed}, epoch.Add(time.Second), false},
	} {
		if got := DeploysTooFrequent(test.history, test.since); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if got := quickPlan().MinLength(); got != 2*time.Minute {
		t.Errorf("the least length of a trial is %s, want three times 20 s of warm-up and 20 s of hold", got)
	}
}

// TestNewRevisionMessage: what DeploysTooFrequent counts is what a trial ends with that a deploy ends.
func TestNewRevisionMessage(t *testing.T) {
	m := sceneAt(t, warm)
	kinds["new revision"](m)
	m.runUntil(time.Hour, nil)
	if m.record == nil || m.record.Reason != v1alpha1.ReasonSuperseded || m.record.Message != newRevision {
		t.Errorf("it ended with %+v", m.record)
	}
}
