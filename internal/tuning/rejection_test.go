package tuning

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

func TestMemoryOfFailures(t *testing.T) {
	candidate := settings.Settings{GOGC: 75}
	tests := map[string]struct {
		edit     func(*v1alpha1.TrialRecord)
		rejected bool
	}{
		"an hour ago":           {func(*v1alpha1.TrialRecord) {}, true},
		"almost seven days ago": {func(r *v1alpha1.TrialRecord) { r.EndedAt = metav1.NewTime(now.Add(time.Second - RejectionMemory)) }, true},
		"seven days ago":        {func(r *v1alpha1.TrialRecord) { r.EndedAt = metav1.NewTime(now.Add(-RejectionMemory)) }, false},
		"by a clock ahead":      {func(r *v1alpha1.TrialRecord) { r.EndedAt = metav1.NewTime(now.Add(time.Hour)) }, true},
		"promoted":              {func(r *v1alpha1.TrialRecord) { r.Result = v1alpha1.TrialPromoted }, false},
		"another candidate":     {func(r *v1alpha1.TrialRecord) { r.Candidate = settings.Settings{GOGC: 150}.API() }, false},
		"another memory limit": {func(r *v1alpha1.TrialRecord) {
			r.Footing = settings.Footing{Declared: settings.Settings{GOGC: 50}}.API()
		}, false},
		"other declared settings": {func(r *v1alpha1.TrialRecord) { r.Footing = settings.Footing{MemoryLimitBytes: 1024 * mebibyte}.API() }, false},
		"a record that can't be read": {func(r *v1alpha1.TrialRecord) {
			r.Candidate.GOMEMLIMIT = settings.Settings{MemoryLimitBytes: -1}.API().GOMEMLIMIT
		}, false},
	}
	for name, test := range tests {
		in := input()
		in.Knobs.TuneMemoryLimit = false
		record := ended(in, candidate, v1alpha1.TrialReverted, v1alpha1.ReasonLatencyBreached)
		test.edit(&record)
		in.History = []v1alpha1.TrialRecord{record}
		got := Propose(in)
		if (got.Candidate == nil) != test.rejected || (got.Candidate != nil && *got.Candidate != candidate) {
			t.Errorf("%s: proposes %v, rejected should be %t", name, got.Candidate, test.rejected)
		}
	}
}

func TestOnlyTheOwnFaultIsRemembered(t *testing.T) {
	own := []string{
		v1alpha1.ReasonLatencyBreached, v1alpha1.ReasonErrorsBreached, v1alpha1.ReasonOOMKilled, v1alpha1.ReasonRestarted,
		v1alpha1.ReasonNotReady, v1alpha1.ReasonNoGain, v1alpha1.ReasonGainUnproven, v1alpha1.ReasonNotApplied,
		v1alpha1.ReasonProgressDeadlineExceeded, v1alpha1.ReasonInconclusive, v1alpha1.ReasonCoarseBuckets,
		v1alpha1.ReasonTooFewGCCycles, v1alpha1.ReasonBreakerTripped, v1alpha1.ReasonHarmed, v1alpha1.ReasonWorse,
		v1alpha1.ReasonNotProvenHarmless, v1alpha1.ReasonLimiterEnabled, v1alpha1.ReasonThrashing, v1alpha1.ReasonMemoryNearLimit,
		v1alpha1.ReasonThrottled, v1alpha1.ReasonStartsSlowly, v1alpha1.ReasonQueryBreached, "SomethingNewer",
	}
	outside := []string{
		v1alpha1.ReasonSharedBreach, v1alpha1.ReasonSuperseded, v1alpha1.ReasonNoData, v1alpha1.ReasonSuspended,
		v1alpha1.ReasonPolicyDeleted, v1alpha1.ReasonNotAdmitted, v1alpha1.ReasonTooFewRequests, v1alpha1.ReasonUnevenTraffic,
		v1alpha1.ReasonModeChanged, v1alpha1.ReasonCanariesLost, v1alpha1.ReasonNoTraffic, v1alpha1.ReasonPrometheusUnavailable,
		v1alpha1.ReasonBaselineBreachesSLO, v1alpha1.ReasonWaitingForTarget, v1alpha1.ReasonTargetNotFound,
		v1alpha1.ReasonContainerNotFound, v1alpha1.ReasonContainerAmbiguous, v1alpha1.ReasonProviderNotFound,
		v1alpha1.ReasonUnmanageableEnv, v1alpha1.ReasonSignalUnavailable, v1alpha1.ReasonSLOUnmeasured, v1alpha1.ReasonTooFewReplicas,
		v1alpha1.ReasonConflicted, v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonNodeImbalance, v1alpha1.ReasonMeasured, v1alpha1.ReasonTooFewPods,
		v1alpha1.ReasonBreakerOpen, v1alpha1.ReasonLeakSuspected, v1alpha1.ReasonCPUThrottled,
	}
	candidate := settings.Settings{GOGC: 75}
	proposes := func(manual bool, reason string) bool {
		in := input()
		in.Knobs.TuneMemoryLimit = false
		if manual {
			in.Strategy = listed(candidate)
		}
		in.History = []v1alpha1.TrialRecord{ended(in, candidate, v1alpha1.TrialReverted, reason)}
		got := Propose(in)
		return got.Candidate != nil && *got.Candidate == candidate
	}
	for _, manual := range []bool{true, false} {
		for _, reason := range own {
			if proposes(manual, reason) {
				t.Errorf("manual %t: proposed again after %s", manual, reason)
			}
		}
		for _, reason := range outside {
			if !proposes(manual, reason) {
				t.Errorf("manual %t: not proposed again after %s", manual, reason)
			}
		}
	}
}
