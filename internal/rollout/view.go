// Package rollout is the trial's state machine: which slot, which pod, which step, when to promote, when to revert. It is pure: the
// policy's status and one look at the world in, a new status and the next action out. Whatever it needs after a restart is in the
// status.
package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/signal"
)

// Stop asks a trial to revert, for a reason that lies outside of it.
type Stop struct{ Reason, Message string }

// View is one look at the world. Pods are read from the API server itself, not from a cache: a decision to take a pod down rests on
// what is up now.
type View struct {
	Now       time.Time
	PolicyUID types.UID
	Plan      Plan
	// Replicas that the target should have.
	Replicas int
	// Revision is the target's current one.
	Revision types.UID
	// StableNames says that a pod's successor has its name.
	StableNames bool
	// Unsettled says that a rollout or scaling of the target is going on: nothing is replaced meanwhile.
	Unsettled bool
	// Unsteady says that the number of replicas keeps changing.
	Unsteady bool
	// Surge is how many pods may be handed over at a time; 0 where pods are replaced by eviction.
	Surge int
	// MinReady is how long a pod must be ready to be available: minReadySeconds.
	MinReady time.Duration
	// CreationFailsSince is when the current ReplicaSet began to fail to create pods; zero where it does not fail.
	CreationFailsSince time.Time
	Footing            settings.Footing
	Pods               []Pod
	// Stop is nil where nobody asks for a revert.
	Stop *Stop
	// Promote says that a person asks for the promotion of a trial that waits for one.
	Promote bool
	// Hold lets a trial go no further; its guards go on.
	Hold bool
	// RecentLength is the length of the window in which a breach must show.
	RecentLength time.Duration
	// Recent and Evidence are nil where Prometheus gave no answer, or was not asked.
	Recent, Evidence *signal.Window
}

// Event is something that a person should read of.
type Event struct {
	Reason  string
	Message string
	Warning bool
}

// Relabel sets the cohort label of a pod; an empty cohort removes it.
type Relabel struct {
	Pod    Pod
	Cohort string
}

// Measured is the window that a trial ends with, and whose pods are whose.
type Measured struct {
	// Reason is ReasonMeasured, or why the trial went back before.
	Reason          string
	Window          signal.Window
	Canary, Control []string
}

// Decision is what a look leads to. The status comes first: where Changed is true it is written before anything else, and the other
// actions come with a later look.
type Decision struct {
	// Trial is the trial's new state; nil once it has ended.
	Trial *v1alpha1.Trial
	// Baseline is the new baseline; nil where it stays.
	Baseline *v1alpha1.Baseline
	// Measured is what a trial that is there to measure has measured; it comes with the decision to go back.
	Measured *Measured
	// Record of a trial that has ended.
	Record *v1alpha1.TrialRecord
	// Changed says that the status must be written.
	Changed bool
	Actions
	// Force lets a pod that is not ready be deleted where its eviction is refused.
	Force bool
	// Pinned are pods to take back that can't be replaced: a person must.
	Pinned []Pod
	// Relabel are pods whose cohort label is not what it should be.
	Relabel []Relabel
	Events  []Event
	// Wait is how long until the next look, if nothing happens before.
	Wait time.Duration
}

// EvidenceLength is the length of the window from the end of the step's warm-up until now: what a promotion rests on. It is 0 before a
// whole recent window lies behind the warm-up, and MaxEvidence at most.
func EvidenceLength(trial *v1alpha1.Trial, now time.Time, recentLength time.Duration) time.Duration {
	if trial.WarmAt == nil {
		return 0
	}
	if length := now.Sub(trial.WarmAt.Time); length >= recentLength {
		return min(length, MaxEvidence)
	}
	return 0
}
