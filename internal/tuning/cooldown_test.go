package tuning

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// moved is a record of a trial from one GOGC to another, so long ago.
func moved(from, to settings.GOGC, result v1alpha1.TrialResult, ago time.Duration) v1alpha1.TrialRecord {
	return v1alpha1.TrialRecord{
		Candidate: settings.Settings{GOGC: to}.API(), Result: result, EndedAt: metav1.NewTime(now.Add(-ago)),
		Previous: &v1alpha1.Baseline{Settings: settings.Settings{GOGC: from}.API()},
	}
}

func TestNextCooldown(t *testing.T) {
	const yes, no = v1alpha1.TrialPromoted, v1alpha1.TrialReverted
	turned := []v1alpha1.TrialRecord{moved(100, 75, yes, 0), moved(75, 100, yes, time.Hour)}
	edited := func(edit func(*v1alpha1.TrialRecord)) []v1alpha1.TrialRecord {
		record := moved(100, 75, yes, 0)
		edit(&record)
		return []v1alpha1.TrialRecord{record, moved(75, 100, yes, time.Hour)}
	}
	tests := map[string]struct {
		base    time.Duration
		history []v1alpha1.TrialRecord
		want    time.Duration
	}{
		"no trial":                  {time.Hour, nil, time.Hour},
		"a short one":               {time.Second, []v1alpha1.TrialRecord{moved(50, 75, yes, 0)}, time.Second},
		"onwards":                   {time.Hour, []v1alpha1.TrialRecord{moved(75, 100, yes, 0), moved(50, 75, yes, time.Hour)}, time.Hour},
		"a reversal":                {time.Hour, turned, 2 * time.Hour},
		"a reversal, short":         {time.Second, turned, 20 * time.Minute},
		"a reversal, ten minutes":   {11 * time.Minute, turned, 22 * time.Minute},
		"a reversal, long":          {13 * time.Hour, turned, 24 * time.Hour},
		"a reversal, longer":        {30 * time.Hour, turned, 30 * time.Hour},
		"a reversal that failed":    {time.Hour, []v1alpha1.TrialRecord{moved(100, 75, no, 0), moved(75, 100, yes, time.Hour)}, 2 * time.Hour},
		"after a failure":           {time.Hour, []v1alpha1.TrialRecord{moved(100, 75, yes, 0), moved(50, 75, no, time.Hour)}, time.Hour},
		"a failure lies between":    {time.Hour, []v1alpha1.TrialRecord{moved(100, 75, yes, 0), moved(100, 150, no, time.Hour), moved(75, 100, yes, 2*time.Hour)}, 2 * time.Hour},
		"a reversal before":         {time.Hour, append([]v1alpha1.TrialRecord{moved(75, 50, yes, -time.Hour)}, turned...), 2 * time.Hour},
		"two reversals":             {time.Hour, append([]v1alpha1.TrialRecord{moved(75, 100, yes, -time.Hour)}, turned...), 4 * time.Hour},
		"two, short":                {time.Minute, append([]v1alpha1.TrialRecord{moved(75, 100, yes, -time.Hour)}, turned...), 40 * time.Minute},
		"one of them a day ago":     {time.Hour, append([]v1alpha1.TrialRecord{moved(75, 100, yes, -24*time.Hour)}, turned...), 2 * time.Hour},
		"one of them almost":        {time.Hour, append([]v1alpha1.TrialRecord{moved(75, 100, yes, time.Second-24*time.Hour)}, turned...), 4 * time.Hour},
		"a measurement":             {time.Hour, edited(func(r *v1alpha1.TrialRecord) { r.Purpose = v1alpha1.PurposeMeasure }), time.Hour},
		"for promotion, as it says": {time.Hour, edited(func(r *v1alpha1.TrialRecord) { r.Purpose = v1alpha1.PurposePromote }), 2 * time.Hour},
		"no previous":               {time.Hour, edited(func(r *v1alpha1.TrialRecord) { r.Previous = nil }), time.Hour},
		"on other resources":        {time.Hour, edited(func(r *v1alpha1.TrialRecord) { r.Footing = settings.Footing{MemoryLimitBytes: 1}.API() }), time.Hour},
		"to off":                    {time.Hour, edited(func(r *v1alpha1.TrialRecord) { r.Candidate = settings.Settings{GOGC: settings.Off}.API() }), time.Hour},
		"from off": {time.Hour, edited(func(r *v1alpha1.TrialRecord) {
			r.Previous.Settings = settings.Settings{GOGC: settings.Off}.API()
		}), time.Hour},
		"a previous that can't be read": {time.Hour, edited(func(r *v1alpha1.TrialRecord) {
			r.Previous.Settings = settings.Settings{MemoryLimitBytes: -1, GOGC: 200}.API()
		}), time.Hour},
		"a candidate that can't be read": {time.Hour, edited(func(r *v1alpha1.TrialRecord) {
			r.Candidate = settings.Settings{MemoryLimitBytes: -1, GOGC: 20}.API()
		}), time.Hour},
		"a footing that can't be read": {time.Hour, edited(func(r *v1alpha1.TrialRecord) {
			r.Footing = v1alpha1.Footing{Declared: settings.Settings{MemoryLimitBytes: -1}.API()}
		}), time.Hour},
		"to unset, which is 100": {time.Hour, []v1alpha1.TrialRecord{moved(150, 0, yes, 0), moved(100, 150, yes, time.Hour)}, 2 * time.Hour},
		"the limit alone moved":  {time.Hour, []v1alpha1.TrialRecord{moved(100, 75, yes, 0), moved(100, 100, yes, time.Hour), moved(75, 100, yes, 2*time.Hour)}, 2 * time.Hour},
	}
	for name, test := range tests {
		if got := NextCooldown(test.base, test.history); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
