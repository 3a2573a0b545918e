package tuning

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

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
			in.Strategy = Strategy{Type: v1alpha1.StrategyManual, Manual: candidates}
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
		"proposed with its place": {func(in *Input) { in.Strategy = listed(settings.Settings{GOGC: 50}, settings.Settings{GOGC: 20}) }, "candidate 2 of 2 of the policy: GOGC=20"},
		"no candidates":           {func(in *Input) { in.Strategy = listed() }, ""},
		"the baseline":            {func(in *Input) { in.Strategy = listed(settings.Settings{GOGC: 50}) }, ""},
		"an empty candidate":      {func(in *Input) { in.Strategy = listed(settings.Settings{}) }, ""},
		"100 where unset":         {func(in *Input) { in.Baseline.GOGC, in.Strategy = 0, listed(settings.Settings{GOGC: 100}) }, ""},
		"declared, after another": {func(in *Input) { in.Baseline.GOGC, in.Strategy = 200, listed(settings.Settings{GOGC: 50}) }, ""},
		"declared is unset, 100": {func(in *Input) {
			in.Baseline.GOGC, in.Footing.Declared.GOGC, in.Strategy = 200, 0, listed(settings.Settings{GOGC: 100})
		}, ""},
		"off where off": {func(in *Input) {
			in.Baseline.GOGC, in.Strategy = settings.Off, listed(settings.Settings{GOGC: settings.Off})
		}, ""},
		"away from off":                {func(in *Input) { in.Baseline.GOGC, in.Strategy = settings.Off, listed(settings.Settings{GOGC: 75}) }, "candidate 1 of 1 of the policy: GOGC=75"},
		"explicit beats the bounds":    {func(in *Input) { in.Strategy = listed(settings.Settings{GOGC: 5000}) }, "candidate 1 of 1 of the policy: GOGC=5000"},
		"explicit beats the knob":      {func(in *Input) { in.Knobs.TuneGOGC, in.Strategy = false, listed(settings.Settings{GOGC: 5}) }, "candidate 1 of 1 of the policy: GOGC=5"},
		"a limit keeps GOGC":           {func(in *Input) { in.Strategy = listed(settings.Settings{MemoryLimitBytes: 1 << 30}) }, "candidate 1 of 1 of the policy: GOGC=50,GOMEMLIMIT=1073741824"},
		"tried long ago, once is once": {func(in *Input) { tried5(in, 1000*time.Hour, in.Footing) }, ""},
		"tried, provable now":          {func(in *Input) { tried5(in, time.Hour, in.Footing); in.Provable = true }, ""},
		"recommended":                  {func(in *Input) { tried5(in, time.Hour, in.Footing); in.History[0].Result = v1alpha1.TrialRecommended }, ""},
		"recommended, provable now": {func(in *Input) {
			tried5(in, time.Hour, in.Footing)
			in.History[0].Result, in.Provable = v1alpha1.TrialRecommended, true
		}, "candidate 1 of 1 of the policy: GOGC=5"},
		"tried on another footing":    {func(in *Input) { tried5(in, time.Hour, settings.Footing{}) }, "candidate 1 of 1 of the policy: GOGC=5"},
		"previous that can't be read": {func(in *Input) { tried5(in, time.Hour, in.Footing); broken(in) }, "candidate 1 of 1 of the policy: GOGC=5"},
		"tried, after a previous that can't be read": {func(in *Input) {
			tried5(in, time.Hour, in.Footing)
			in.History = append(in.History, in.History[0])
			broken(in)
		}, ""},
		"tried under other keys": {func(in *Input) {
			in.Strategy = listed(settings.Settings{GOGC: 5})
			wider(in)
			in.Baseline.MemoryLimitBytes = 1 << 29
		}, ""},
		"the same keys, fewer of them": {func(in *Input) { in.Strategy = listed(settings.Settings{GOGC: 5}); wider(in) }, "candidate 1 of 1 of the policy: GOGC=5"},
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
	in.Strategy = listed(settings.Settings{GOGC: 5})
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

func TestExplicitBounds(t *testing.T) {
	tests := map[string]struct {
		edit func(*Input)
		want string
	}{
		"the lower bound itself": {func(in *Input) { in.Knobs.ExplicitMin, in.Strategy = 20, listed(settings.Settings{GOGC: 20}) }, "candidate 1 of 1 of the policy: GOGC=20"},
		"the upper bound itself": {func(in *Input) { in.Knobs.ExplicitMax, in.Strategy = 300, listed(settings.Settings{GOGC: 300}) }, "candidate 1 of 1 of the policy: GOGC=300"},
		"off, no upper bound":    {func(in *Input) { in.Knobs.ExplicitMin, in.Strategy = 20, listed(settings.Settings{GOGC: settings.Off}) }, "candidate 1 of 1 of the policy: GOGC=off"},
		"the next one": {func(in *Input) {
			in.Knobs.ExplicitMin, in.Strategy = 20, listed(settings.Settings{GOGC: 19}, settings.Settings{GOGC: 25})
		}, "candidate 2 of 2 of the policy: GOGC=25"},
		"a limit is not bounded": {func(in *Input) {
			in.Knobs.ExplicitMin, in.Knobs.ExplicitMax, in.Strategy = 60, 70, listed(settings.Settings{MemoryLimitBytes: 1 << 30})
		}, "candidate 1 of 1 of the policy: GOGC=50,GOMEMLIMIT=1073741824"},
		"processors": {func(in *Input) { in.Strategy = listed(settings.Settings{GOMAXPROCS: 3}) }, "candidate 1 of 1 of the policy: GOGC=50,GOMAXPROCS=3"},
		"debug keys": {func(in *Input) {
			in.Baseline.GODEBUG, in.Strategy = "madvdontneed=0", listed(settings.Settings{GODEBUG: "disablethp=1"})
		}, "candidate 1 of 1 of the policy: GOGC=50,GODEBUG=disablethp=1,madvdontneed=0"},
	}
	for name, test := range tests {
		in := input()
		test.edit(&in)
		if got := Propose(in); got.Candidate == nil || got.Reason != test.want || got.Purpose != v1alpha1.PurposePromote || got.OutsideDeadband {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for want, edit := range map[string]func(*Input){
		"; candidate 1 of 1 of the policy, GOGC=19, lies below knobs.gogc.min, 20": func(in *Input) {
			in.Knobs.ExplicitMin, in.Strategy = 20, listed(settings.Settings{GOGC: 19})
		},
		"; candidate 2 of 2 of the policy, GOGC=301, lies above knobs.gogc.max, 300": func(in *Input) {
			in.Knobs.ExplicitMax, in.Strategy = 300, listed(settings.Settings{GOGC: 50}, settings.Settings{GOGC: 301})
		},
		"; candidate 1 of 1 of the policy, GOGC=off, lies above knobs.gogc.max, 300": func(in *Input) {
			in.Knobs.ExplicitMax, in.Strategy = 300, listed(settings.Settings{GOGC: settings.Off})
		},
		"was tried": func(in *Input) { in.Knobs.ExplicitMax, in.Strategy = 40, listed(settings.Settings{GOGC: 50}) },
	} {
		in := input()
		edit(&in)
		if got := Propose(in); got.Candidate != nil || !strings.HasSuffix(got.Reason, want) {
			t.Errorf("%q: %+v", want, got)
		}
	}
}
