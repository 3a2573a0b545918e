package schedule

import (
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tests, on any machine
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func TestOpen(t *testing.T) {
	night := Window{Location: zone(t, "Europe/Berlin"), Days: []time.Weekday{time.Saturday}, Start: 22 * time.Hour, Length: 6 * time.Hour}
	early := Window{Location: zone(t, "America/New_York"), Start: 2*time.Hour + 30*time.Minute, Length: time.Hour}
	for name, test := range map[string]struct {
		windows []Window
		now     string
		open    bool
		next    string
	}{
		"no window":                  {nil, "2026-11-30T12:00:00Z", true, ""},
		"before it":                  {[]Window{night}, "2026-11-28T20:59:59Z", false, "2026-11-28T21:00:00Z"},
		"as it opens":                {[]Window{night}, "2026-11-28T21:00:00Z", true, ""},
		"past midnight":              {[]Window{night}, "2026-11-29T02:59:59Z", true, ""},
		"as it closes":               {[]Window{night}, "2026-11-29T03:00:00Z", false, "2026-12-05T21:00:00Z"},
		"the sooner of two":          {[]Window{night, early}, "2026-11-28T20:00:00Z", false, "2026-11-28T21:00:00Z"},
		"an hour that clocks skip":   {[]Window{early}, "2026-03-08T06:59:00Z", false, "2026-03-08T07:30:00Z"},
		"likewise in the east":       {[]Window{{Location: zone(t, "Europe/Berlin"), Start: early.Start, Length: time.Hour}}, "2026-03-29T00:00:00Z", false, "2026-03-29T01:30:00Z"},
		"clocks set back, in it":     {[]Window{night}, "2026-10-25T01:59:59Z", true, ""},
		"clocks set back, closed":    {[]Window{night}, "2026-10-25T02:00:00Z", false, "2026-10-31T21:00:00Z"},
		"an hour that clocks repeat": {[]Window{{Location: zone(t, "America/New_York"), Start: 90 * time.Minute, Length: time.Hour}}, "2026-11-01T05:29:00Z", false, "2026-11-01T05:30:00Z"},
		"once only":                  {[]Window{{Location: zone(t, "America/New_York"), Start: 90 * time.Minute, Length: time.Hour}}, "2026-11-01T06:30:00Z", false, "2026-11-02T06:30:00Z"},
	} {
		open, next := Open(test.windows, at(t, test.now))
		want := time.Time{}
		if test.next != "" {
			want = at(t, test.next)
		}
		if open != test.open || !next.Equal(want) {
			t.Errorf("%s: %t, next %s; want %t, %s", name, open, next, test.open, want)
		}
	}
}

// TestOpeningsOfTwoYears: in any zone, whatever its clocks do, a window opens once on each of its days, for its length, and what is told as the
// next opening is when it opens.
func TestOpeningsOfTwoYears(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia"} {
		for _, start := range []time.Duration{2*time.Hour + 30*time.Minute, 22 * time.Hour} {
			window := Window{Location: zone(t, name), Days: []time.Weekday{time.Saturday, time.Sunday, time.Wednesday}, Start: start, Length: 6 * time.Hour}
			checkTwoYears(t, name, window)
		}
	}
}

// quarter of an hour: no zone's clocks show another minute when those of UTC show a full one.
const quarter = 15 * time.Minute

func checkTwoYears(t *testing.T, name string, window Window) {
	t.Helper()
	from := time.Date(2026, 1, 1, 12, 0, 0, 0, window.Location)
	var opened, told time.Time
	openings, days, was := 0, 0, false
	for now := from; now.Before(from.AddDate(2, 0, 0)); now = now.Add(quarter) {
		open, next := Open([]Window{window}, now)
		switch {
		case open && !was:
			if opened = now; !told.IsZero() && !told.Equal(now) {
				t.Fatalf("%s %s: it opens at %s, told was %s", name, window.Start, now, told)
			}
			openings++
		case !open && was && now.Sub(opened) != window.Length:
			t.Fatalf("%s %s: opened at %s, it closed at %s", name, window.Start, opened, now)
		}
		was, told = open, next
	}
	for day := range 365 + 365 {
		if window.on(from.AddDate(0, 0, day+1).Weekday()) {
			days++
		}
	}
	if openings < days-1 || openings > days+1 {
		t.Errorf("%s %s: %d openings on %d days", name, window.Start, openings, days)
	}
}
