package schedule

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func TestCount(t *testing.T) {
	var days []v1alpha1.DayReplacements
	now := at(t, "2026-11-01T23:59:00Z")
	for range 20 {
		days = Count(days, now, 3)
		days = Count(days, now, 0)
		days = Count(days, now, 2)
		now = now.Add(24 * time.Hour)
	}
	if len(days) != 8 || days[0] != (v1alpha1.DayReplacements{Day: "2026-11-20", Count: 5}) || days[7].Day != "2026-11-13" {
		t.Errorf("the days are %v", days)
	}
	if got := Used(days, at(t, "2026-11-20T23:59:59Z")); got != 40 {
		t.Errorf("%d are used, want those of eight days", got)
	}
	if got := Used(days, at(t, "2026-11-21T00:00:00Z")); got != 35 {
		t.Errorf("%d are used, want those of the seven days before", got)
	}
	if left := Count(days, now.Add(30*24*time.Hour), 0); len(left) != 0 {
		t.Errorf("a month later %v are left", left)
	}
}

func TestFits(t *testing.T) {
	days := []v1alpha1.DayReplacements{{Day: "2026-11-20", Count: 6}, {Day: "2026-11-15", Count: 10}, {Day: "yesterday", Count: 100}}
	now := at(t, "2026-11-20T12:00:00Z")
	type answer struct {
		At   string
		Ever bool
	}
	for name, test := range map[string]struct {
		cost, budget int
		want         answer
	}{
		"room":            {4, 20, answer{"2026-11-20T12:00:00Z", true}},
		"after the first": {5, 20, answer{"2026-11-23T00:00:00Z", true}},
		"after both":      {20, 20, answer{"2026-11-28T00:00:00Z", true}},
		"never":           {21, 20, answer{"0001-01-01T00:00:00Z", false}},
	} {
		moment, ever := Fits(days, now, test.cost, test.budget)
		if diff := cmp.Diff(test.want, answer{moment.Format(time.RFC3339), ever}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
