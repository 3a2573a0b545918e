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

func TestReject(t *testing.T) {
	in := input()
	at := metav1.NewTime(now.Add(-time.Hour).Add(RejectionMemory))
	record := ended(in, settings.Settings{GOGC: 75}, v1alpha1.TrialReverted, v1alpha1.ReasonNoGain)
	entry := v1alpha1.Rejection{Settings: record.Candidate, Footing: record.Footing, GoVersion: "go1.26", Reason: v1alpha1.ReasonNoGain, Until: at}
	other := entry
	other.Settings = settings.Settings{GOGC: 150}.API()
	older := entry
	older.Reason, older.Until = v1alpha1.ReasonWorse, later()
	elsewhere := older
	elsewhere.GoVersion = "go1.25"
	expired := other
	expired.Until = metav1.NewTime(now)
	broken := entry
	broken.Settings = settings.Settings{MemoryLimitBytes: -1}.API()
	tests := map[string]struct {
		before []v1alpha1.Rejection
		edit   func(*v1alpha1.TrialRecord)
		want   []v1alpha1.Rejection
	}{
		"the first":               {nil, nil, []v1alpha1.Rejection{entry}},
		"the newest first":        {[]v1alpha1.Rejection{other}, nil, []v1alpha1.Rejection{entry, other}},
		"the same again":          {[]v1alpha1.Rejection{other, older}, nil, []v1alpha1.Rejection{entry, other}},
		"of another Go":           {[]v1alpha1.Rejection{elsewhere}, nil, []v1alpha1.Rejection{entry, elsewhere}},
		"what expires":            {[]v1alpha1.Rejection{expired, other}, nil, []v1alpha1.Rejection{entry, other}},
		"what can't be read":      {[]v1alpha1.Rejection{broken}, nil, []v1alpha1.Rejection{entry, broken}},
		"a promotion":             {[]v1alpha1.Rejection{other, expired}, func(r *v1alpha1.TrialRecord) { r.Result = v1alpha1.TrialPromoted }, []v1alpha1.Rejection{other}},
		"a recommendation":        {nil, func(r *v1alpha1.TrialRecord) { r.Result = v1alpha1.TrialRecommended }, nil},
		"a measurement":           {nil, func(r *v1alpha1.TrialRecord) { r.Result = v1alpha1.TrialMeasured }, nil},
		"not its own fault":       {nil, func(r *v1alpha1.TrialRecord) { r.Reason = v1alpha1.ReasonSharedBreach }, nil},
		"a rung that did harm":    {nil, func(r *v1alpha1.TrialRecord) { r.Purpose = v1alpha1.PurposeMeasure }, []v1alpha1.Rejection{entry}},
		"the baseline itself":     {nil, func(r *v1alpha1.TrialRecord) { r.Purpose = v1alpha1.PurposeCalibrate }, nil},
		"seven days ago":          {nil, func(r *v1alpha1.TrialRecord) { r.EndedAt = metav1.NewTime(now.Add(-RejectionMemory)) }, nil},
		"the same, not its fault": {[]v1alpha1.Rejection{older}, func(r *v1alpha1.TrialRecord) { r.Reason = v1alpha1.ReasonNoData }, []v1alpha1.Rejection{older}},
	}
	for name, test := range tests {
		failed := record
		if test.edit != nil {
			test.edit(&failed)
		}
		if diff := cmp.Diff(test.want, Reject(test.before, failed, "go1.26.8", now)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestRejectionsAreBounded: the CRD admits 32, and the oldest goes.
func TestRejectionsAreBounded(t *testing.T) {
	in := input()
	var list []v1alpha1.Rejection
	for gogc := settings.GOGC(1); gogc <= 40; gogc++ {
		list = Reject(list, ended(in, settings.Settings{GOGC: gogc}, v1alpha1.TrialReverted, v1alpha1.ReasonNoGain), "", now)
	}
	if len(list) != 32 || list[0].Settings.GOGC.IntValue() != 40 || list[31].Settings.GOGC.IntValue() != 9 {
		t.Errorf("%d entries, from %v to %v", len(list), list[0].Settings.GOGC, list[len(list)-1].Settings.GOGC)
	}
}

// TestRejectedList: what an entry speaks of is kept to its settings, footing, time and minor version of Go; an entry knows more than a record.
func TestRejectedList(t *testing.T) {
	in := input()
	in.Knobs.TuneMemoryLimit, in.GoVersion = false, "go1.26.8"
	candidate := settings.Settings{GOGC: 75}
	record := ended(in, candidate, v1alpha1.TrialReverted, v1alpha1.ReasonNoGain)
	entry := func(edit func(*v1alpha1.Rejection)) []v1alpha1.Rejection {
		e := v1alpha1.Rejection{Settings: candidate.API(), Footing: in.Footing.API(), GoVersion: "go1.26", Until: later()}
		if edit != nil {
			edit(&e)
		}
		return []v1alpha1.Rejection{e}
	}
	tests := map[string]struct {
		list     []v1alpha1.Rejection
		history  []v1alpha1.TrialRecord
		rejected bool
	}{
		"nothing":                     {nil, nil, false},
		"listed":                      {entry(nil), nil, true},
		"listed after others":         {append(entry(func(e *v1alpha1.Rejection) { e.Settings = settings.Settings{GOGC: 100}.API() }), entry(nil)...), nil, true},
		"expired":                     {entry(func(e *v1alpha1.Rejection) { e.Until = metav1.NewTime(now) }), nil, false},
		"other settings":              {entry(func(e *v1alpha1.Rejection) { e.Settings = settings.Settings{GOGC: 100}.API() }), nil, false},
		"other resources":             {entry(func(e *v1alpha1.Rejection) { e.Footing = v1alpha1.Footing{} }), nil, false},
		"another Go":                  {entry(func(e *v1alpha1.Rejection) { e.GoVersion = "go1.25" }), nil, false},
		"a patch release":             {entry(func(e *v1alpha1.Rejection) { e.GoVersion = "go1.26.1" }), nil, true},
		"an unknown Go":               {entry(func(e *v1alpha1.Rejection) { e.GoVersion = "" }), nil, true},
		"a record":                    {nil, []v1alpha1.TrialRecord{record}, true},
		"a record, another Go listed": {entry(func(e *v1alpha1.Rejection) { e.GoVersion = "go1.25" }), []v1alpha1.TrialRecord{record}, false},
		"a record, others listed":     {entry(func(e *v1alpha1.Rejection) { e.Footing = v1alpha1.Footing{} }), []v1alpha1.TrialRecord{record}, true},
		"a list that can't be read": {entry(func(e *v1alpha1.Rejection) {
			e.Footing.Declared = settings.Settings{MemoryLimitBytes: -1}.API()
		}), []v1alpha1.TrialRecord{record}, true},
	}
	for name, test := range tests {
		in.Rejected, in.History = test.list, test.history
		if got := Propose(in); (got.Candidate == nil) != test.rejected {
			t.Errorf("%s: %+v", name, got)
		}
	}
	in.Rejected, in.History, in.GoVersion = entry(nil), nil, ""
	if got := Propose(in); got.Candidate != nil {
		t.Errorf("a Go that is not known now: %+v", got)
	}
}

func TestMinorVersion(t *testing.T) {
	for version, want := range map[string]string{
		"": "", "go1.26": "go1.26", "go1.26.8": "go1.26", "go1.26rc1": "go1.26", "go1.9.7": "go1.9", "devel go1.27-abc": "devel go1.27-abc",
	} {
		if got := minorVersion(version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
	for version, want := range map[string]int{"go1.26.8": 26, "go1.9": 9} {
		if got, ok := minorNumber(version); got != want || !ok {
			t.Errorf("%q: %d %t, want %d", version, got, ok, want)
		}
	}
	for _, version := range []string{"", "go1.", "go1.x", "go2", "devel"} {
		if got, ok := minorNumber(version); ok {
			t.Errorf("%q: %d", version, got)
		}
	}
}
