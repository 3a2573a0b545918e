package tuning

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

func TestMemoryOfFailures(t *testing.T) {
	candidate := settings.Settings{GOGC: 100}
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
		if got.Candidate == nil || (*got.Candidate != candidate) != test.rejected {
			t.Errorf("%s: proposes %v, rejected should be %t", name, got.Candidate, test.rejected)
		}
	}
}

func TestOnlyTheOwnFaultIsRemembered(t *testing.T) {
	own := []string{
		v1alpha1.ReasonLatencyBreached, v1alpha1.ReasonErrorsBreached, v1alpha1.ReasonOOMKilled, v1alpha1.ReasonRestarted,
		v1alpha1.ReasonNotReady, v1alpha1.ReasonNoGain, v1alpha1.ReasonGainUnproven, v1alpha1.ReasonNotApplied,
		v1alpha1.ReasonProgressDeadlineExceeded, v1alpha1.ReasonInconclusive, v1alpha1.ReasonCoarseBuckets,
		v1alpha1.ReasonTooFewGCCycles, "SomethingNewer",
	}
	outside := []string{
		v1alpha1.ReasonSharedBreach, v1alpha1.ReasonSuperseded, v1alpha1.ReasonNoData, v1alpha1.ReasonSuspended,
		v1alpha1.ReasonPolicyDeleted, v1alpha1.ReasonNotAdmitted, v1alpha1.ReasonTooFewRequests, v1alpha1.ReasonUnevenTraffic,
		v1alpha1.ReasonModeChanged, v1alpha1.ReasonCanariesLost, v1alpha1.ReasonNoTraffic, v1alpha1.ReasonPrometheusUnavailable,
		v1alpha1.ReasonBaselineBreachesSLO, v1alpha1.ReasonWaitingForTarget, v1alpha1.ReasonTargetNotFound,
		v1alpha1.ReasonContainerNotFound, v1alpha1.ReasonContainerAmbiguous, v1alpha1.ReasonProviderNotFound,
		v1alpha1.ReasonUnmanageableEnv, v1alpha1.ReasonSignalUnavailable, v1alpha1.ReasonSLOUnmeasured, v1alpha1.ReasonTooFewReplicas,
		v1alpha1.ReasonConflicted, v1alpha1.ReasonInvalidSpec,
	}
	candidate := settings.Settings{GOGC: 100}
	proposes := func(manual bool, reason string) bool {
		in := input()
		in.Knobs.TuneMemoryLimit = false
		if manual {
			in.Manual = []settings.Settings{candidate}
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

// TestManualInOrderOnceEach promotes or reverts what is proposed, until there is nothing more.
func TestManualInOrderOnceEach(t *testing.T) {
	limit := settings.Settings{MemoryLimitBytes: 500 * mebibyte}
	candidates := []settings.Settings{{GOGC: 50}, {GOGC: 200}, limit, {GOGC: settings.Off}, {GOGC: 75}, {GOGC: 200}}
	tests := map[string]struct {
		promoted func(settings.Settings) bool
		want     []string
	}{
		"all fail": {
			func(settings.Settings) bool { return false },
			[]string{"GOGC=200", "GOGC=50,GOMEMLIMIT=524288000", "GOGC=off", "GOGC=75"},
		},
		"all succeed": {
			func(settings.Settings) bool { return true },
			[]string{"GOGC=200", "GOGC=200,GOMEMLIMIT=524288000", "GOGC=off,GOMEMLIMIT=524288000", "GOGC=75,GOMEMLIMIT=524288000"},
		},
		"the limit succeeds": {
			func(s settings.Settings) bool { return s.MemoryLimitBytes != 0 && s.GOGC == 50 },
			[]string{"GOGC=200", "GOGC=50,GOMEMLIMIT=524288000", "GOGC=off,GOMEMLIMIT=524288000", "GOGC=75,GOMEMLIMIT=524288000"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.Manual = candidates
			var got []string
			for len(got) < 20 {
				proposal := Propose(in)
				if proposal.Candidate == nil {
					break
				}
				got = append(got, proposal.Candidate.Canonical())
				record := ended(in, *proposal.Candidate, v1alpha1.TrialReverted, v1alpha1.ReasonNoGain)
				record.Previous = &v1alpha1.Baseline{Settings: in.Baseline.API()}
				if test.promoted(*proposal.Candidate) {
					record.Result, record.Reason = v1alpha1.TrialPromoted, v1alpha1.ReasonPromoted
					in.Baseline = *proposal.Candidate
				}
				in.History = append([]v1alpha1.TrialRecord{record}, in.History...)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestManual(t *testing.T) {
	tests := map[string]struct {
		edit func(*Input)
		want string
	}{
		"proposed with its place": {func(in *Input) { in.Manual = []settings.Settings{{GOGC: 50}, {GOGC: 20}} }, "candidate 2 of 2 of the policy: GOGC=20"},
		"no candidates":           {func(in *Input) { in.Manual = []settings.Settings{} }, ""},
		"the baseline":            {func(in *Input) { in.Manual = []settings.Settings{{GOGC: 50}} }, ""},
		"an empty candidate":      {func(in *Input) { in.Manual = []settings.Settings{{}} }, ""},
		"100 where unset":         {func(in *Input) { in.Baseline.GOGC, in.Manual = 0, []settings.Settings{{GOGC: 100}} }, ""},
		"declared, after another": {func(in *Input) { in.Baseline.GOGC, in.Manual = 200, []settings.Settings{{GOGC: 50}} }, ""},
		"declared is unset, 100": {func(in *Input) {
			in.Baseline.GOGC, in.Footing.Declared.GOGC, in.Manual = 200, 0, []settings.Settings{{GOGC: 100}}
		}, ""},
		"off where off":                {func(in *Input) { in.Baseline.GOGC, in.Manual = settings.Off, []settings.Settings{{GOGC: settings.Off}} }, ""},
		"away from off":                {func(in *Input) { in.Baseline.GOGC, in.Manual = settings.Off, []settings.Settings{{GOGC: 75}} }, "candidate 1 of 1 of the policy: GOGC=75"},
		"explicit beats the bounds":    {func(in *Input) { in.Manual = []settings.Settings{{GOGC: 5000}} }, "candidate 1 of 1 of the policy: GOGC=5000"},
		"explicit beats the knob":      {func(in *Input) { in.Knobs.TuneGOGC, in.Manual = false, []settings.Settings{{GOGC: 5}} }, "candidate 1 of 1 of the policy: GOGC=5"},
		"a limit keeps GOGC":           {func(in *Input) { in.Manual = []settings.Settings{{MemoryLimitBytes: 1 << 30}} }, "candidate 1 of 1 of the policy: GOGC=50,GOMEMLIMIT=1073741824"},
		"tried long ago, once is once": {func(in *Input) { tried5(in, 1000*time.Hour, in.Footing) }, ""},
		"tried on another footing":     {func(in *Input) { tried5(in, time.Hour, settings.Footing{}) }, "candidate 1 of 1 of the policy: GOGC=5"},
		"previous that can't be read":  {func(in *Input) { tried5(in, time.Hour, in.Footing); broken(in) }, "candidate 1 of 1 of the policy: GOGC=5"},
		"tried under other keys": {func(in *Input) {
			in.Manual = []settings.Settings{{GOGC: 5}}
			wider(in)
			in.Baseline.MemoryLimitBytes = 1 << 29
		}, ""},
		"the same keys, fewer of them": {func(in *Input) { in.Manual = []settings.Settings{{GOGC: 5}}; wider(in) }, "candidate 1 of 1 of the policy: GOGC=5"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := input()
			test.edit(&in)
			got := Propose(in)
			if (got.Candidate == nil) != (test.want == "") || (test.want != "" && got.Reason != test.want) || got.Reason == "" {
				t.Errorf("%v %q, want %q", got.Candidate, got.Reason, test.want)
			}
		})
	}
}

func tried5(in *Input, ago time.Duration, footing settings.Footing) {
	in.Manual = []settings.Settings{{GOGC: 5}}
	record := ended(*in, settings.Settings{GOGC: 5}, v1alpha1.TrialReverted, v1alpha1.ReasonNoGain)
	record.EndedAt, record.Footing = metav1.NewTime(now.Add(-ago)), footing.API()
	in.History = []v1alpha1.TrialRecord{record}
}

func broken(in *Input) {
	in.History[0].Previous = &v1alpha1.Baseline{Settings: settings.Settings{MemoryLimitBytes: -1}.API()}
}

// wider records a trial of another candidate that sets the same GOGC and a limit besides.
func wider(in *Input) {
	record := ended(*in, settings.Settings{GOGC: 5, MemoryLimitBytes: 1 << 29}, v1alpha1.TrialReverted, v1alpha1.ReasonNoGain)
	record.Previous = &v1alpha1.Baseline{Settings: in.Baseline.API()}
	in.History = []v1alpha1.TrialRecord{record}
}
