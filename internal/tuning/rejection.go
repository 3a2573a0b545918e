package tuning

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

const (
	// RejectionMemory is how long a candidate that failed is not proposed again.
	RejectionMemory = 7 * 24 * time.Hour
	// maxRejections is the bound that the CRD sets.
	maxRejections = 32
)

// Reject adds the candidate of a finished trial to those that are not tried again soon, newest first, if it failed by its own fault. It drops
// what has expired, and the oldest beyond 32. What was learned holds for one footing and one minor version of Go, whose collector it was learned on.
func Reject(rejected []v1alpha1.Rejection, record v1alpha1.TrialRecord, goVersion string, now time.Time) []v1alpha1.Rejection {
	var kept []v1alpha1.Rejection
	if ownFault(record) {
		added := v1alpha1.Rejection{
			Settings: record.Candidate, Footing: record.Footing, GoVersion: minorVersion(goVersion), Reason: record.Reason,
			Until: metav1.NewTime(record.EndedAt.Add(RejectionMemory)),
		}
		if now.Before(added.Until.Time) {
			kept = append(kept, added)
		}
	}
	for _, old := range rejected {
		replaced := len(kept) > 0 && kept[0].GoVersion == old.GoVersion && sameCandidate(kept[0], old)
		if now.Before(old.Until.Time) && !replaced {
			kept = append(kept, old)
		}
	}
	return kept[:min(len(kept), maxRejections)]
}

// sameCandidate compares by value: quantities have several forms.
func sameCandidate(a, b v1alpha1.Rejection) bool {
	first, ok := readKey(a.Settings, a.Footing)
	second, alsoOK := readKey(b.Settings, b.Footing)
	return ok && alsoOK && first == second
}

// key is what a failure is remembered by, beside the version of Go.
type key struct {
	settings settings.Settings
	footing  settings.Footing
}

func readKey(candidate v1alpha1.RuntimeSettings, on v1alpha1.Footing) (key, bool) {
	parsed, err := settings.FromAPI(candidate)
	if err != nil {
		return key{}, false
	}
	footing, err := settings.FootingFromAPI(on)
	return key{parsed, footing}, err == nil
}

// rejected says that a trial of the candidate failed by the candidate's own fault, on this footing, not long ago. Records do not tell the
// version of Go: they count only where no entry of the list speaks of the same candidate.
func rejected(in Input, candidate settings.Settings) bool {
	wanted := key{candidate, in.Footing}
	listed := false
	for _, entry := range in.Rejected {
		if found, ok := readKey(entry.Settings, entry.Footing); !ok || found != wanted {
			continue
		}
		listed = true
		if in.Now.Before(entry.Until.Time) && sameVersion(entry.GoVersion, in.GoVersion) {
			return true
		}
	}
	return !listed && slices.ContainsFunc(in.History, func(record v1alpha1.TrialRecord) bool {
		return in.remembers(record) && ownFault(record) && in.Now.Sub(record.EndedAt.Time) < RejectionMemory && speaksOf(record, candidate, in.Footing)
	})
}

// unproven says that a trial of the candidate went well not long ago, but on too few pods for a proof: a person decides, as long as they are too
// few.
func unproven(in Input, candidate settings.Settings) bool {
	return !in.Provable && slices.ContainsFunc(in.History, func(record v1alpha1.TrialRecord) bool {
		return in.remembers(record) && record.Result == v1alpha1.TrialRecommended && in.Now.Sub(record.EndedAt.Time) < RejectionMemory &&
			speaksOf(record, candidate, in.Footing)
	})
}

// outgrown says that the record is of a trial on too few pods for a proof, and that there are enough now, or that a person wants another try: it
// decides nothing any more.
func outgrown(in Input, record v1alpha1.TrialRecord) bool {
	if !in.remembers(record) && record.Result != v1alpha1.TrialPromoted {
		return true
	}
	return in.Provable && record.Result == v1alpha1.TrialRecommended
}

// remembers says that nobody has asked for another try since the trial ended.
func (in Input) remembers(record v1alpha1.TrialRecord) bool {
	return in.Retried.IsZero() || record.EndedAt.After(in.Retried)
}

// ownFault says that the record is of a candidate that failed by itself. A rung of a sweep that did harm failed as well; the baseline that was
// compared with itself did not.
func ownFault(record v1alpha1.TrialRecord) bool {
	return record.Result == v1alpha1.TrialReverted && record.Purpose != v1alpha1.PurposeCalibrate && !CameFromOutside(record.Reason)
}

// speaksOf says that the record is of this candidate, on this footing, and ended because of it.
func speaksOf(record v1alpha1.TrialRecord, candidate settings.Settings, footing settings.Footing) bool {
	found, ok := readKey(record.Candidate, record.Footing)
	return ok && found == key{candidate, footing} && !CameFromOutside(record.Reason)
}

// sameVersion compares minor versions. One that is not known may be any.
func sameVersion(a, b string) bool {
	return a == "" || b == "" || minorVersion(a) == minorVersion(b)
}

// minorVersion of go1.26.8 and go1.26rc1 is go1.26: patch releases leave the collector as it is. What is no release stays whole.
func minorVersion(version string) string {
	rest, ok := strings.CutPrefix(version, "go1.")
	if !ok {
		return version
	}
	digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		return version
	}
	return "go1." + rest[:digits]
}

// CameFromOutside tells ends that say nothing of the candidate from those that it caused. An unknown reason counts against the
// candidate: the careful side is not to try again what may have harmed.
func CameFromOutside(reason string) bool {
	switch reason {
	case v1alpha1.ReasonSharedBreach, v1alpha1.ReasonSuperseded, v1alpha1.ReasonNoData, v1alpha1.ReasonSuspended,
		v1alpha1.ReasonPolicyDeleted, v1alpha1.ReasonNotAdmitted, v1alpha1.ReasonTooFewRequests, v1alpha1.ReasonUnevenTraffic,
		v1alpha1.ReasonModeChanged, v1alpha1.ReasonCanariesLost, v1alpha1.ReasonNoTraffic, v1alpha1.ReasonPrometheusUnavailable,
		v1alpha1.ReasonBaselineBreachesSLO, v1alpha1.ReasonWaitingForTarget, v1alpha1.ReasonNodeImbalance, v1alpha1.ReasonMeasured,
		v1alpha1.ReasonAborted, v1alpha1.ReasonPromotionTimedOut, v1alpha1.ReasonFleetStopped,
		v1alpha1.ReasonWaitingForStableReplicas:
		return true
	case v1alpha1.ReasonTargetNotFound, v1alpha1.ReasonContainerNotFound, v1alpha1.ReasonContainerAmbiguous,
		v1alpha1.ReasonProviderNotFound, v1alpha1.ReasonUnmanageableEnv, v1alpha1.ReasonSignalUnavailable, v1alpha1.ReasonSLOUnmeasured,
		v1alpha1.ReasonTooFewReplicas, v1alpha1.ReasonTooFewPods, v1alpha1.ReasonConflicted, v1alpha1.ReasonInvalidSpec,
		v1alpha1.ReasonBreakerOpen, v1alpha1.ReasonLeakSuspected, v1alpha1.ReasonCPUThrottled:
		return true
	default:
		return false
	}
}
