package verdict

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// started makes pods that took so many seconds from their creation until they were ready; 0 for those of which it is not known.
func started(members []Member, seconds ...float64) {
	for i, s := range seconds {
		if s != 0 {
			members[i].CreatedAt = now.Add(-time.Hour)
			members[i].FirstReadyAt = members[i].CreatedAt.Add(time.Duration(s * float64(time.Second)))
		}
	}
}

// five pods that take the same.
func five(seconds float64) []float64 { return []float64{seconds, seconds, seconds, seconds, seconds} }

func TestStartup(t *testing.T) {
	const pass, fail = v1alpha1.OutcomePass, v1alpha1.OutcomeFail
	tests := map[string]struct {
		canary, control []float64
		want            v1alpha1.Outcome
	}{
		"alike":                             {five(20), five(20), pass},
		"25% slower":                        {five(25), five(20), pass},
		"26% slower":                        {five(25.2), five(20), fail},
		"two seconds slower":                {five(3), five(1), pass},
		"more than two seconds slower":      {five(3.1), five(1), fail},
		"one slow pod":                      {[]float64{20, 20, 20, 20, 90}, five(20), pass},
		"one slow control pod":              {five(30), []float64{20, 20, 20, 20, 90}, pass},
		"slower, but so are some":           {[]float64{30, 25, 40, 30, 30}, []float64{20, 25, 35, 20, 20}, pass},
		"slower by far, on too few pods":    {[]float64{90, 90, 90}, []float64{20, 20, 20}, pass},
		"some not known":                    {[]float64{30, 0, 30, 30, 30, 30}, []float64{20, 20, 0, 20, 20, 20}, fail},
		"a clock that went back is no time": {[]float64{30, -5, 30, 30, 30, 30}, five(20), fail},
	}
	for name, test := range tests {
		in := Input{
			Canary: make([]Member, len(test.canary)), Control: make([]Member, len(test.control)),
			Margins: map[v1alpha1.SignalName]Margin{v1alpha1.SignalStartupTime: {Allowed: 0.25}},
		}
		started(in.Canary, test.canary...)
		started(in.Control, test.control...)
		check, known := startupCheck(in)
		reason := map[v1alpha1.Outcome]string{pass: v1alpha1.ReasonPassed, fail: v1alpha1.ReasonStartsSlowly}[test.want]
		if !known || check.Outcome != test.want || check.Reason != reason {
			t.Errorf("%s: %+v", name, check)
		}
	}
	for name, one := range map[string][2][]float64{"no control pod known": {{20}, {}}, "no canary pod known": {{}, {20}}} {
		in := passing()
		started(in.Canary, one[0]...)
		started(in.Control, one[1]...)
		if check, known := startupCheck(in); known {
			t.Errorf("%s: %+v", name, check)
		}
	}
	in := passing()
	in.Canary[0].FirstReadyAt = now
	in.Control[0].CreatedAt = now
	if len(startups(in.Canary))+len(startups(in.Control)) != 0 {
		t.Error("half of a time is taken for a whole one")
	}
}

func TestStartupEvidence(t *testing.T) {
	in := passing()
	started(in.Canary, 22, 23, 24)
	started(in.Control, 20, 21, 22)
	got, _ := startupCheck(in)
	want := v1alpha1.Check{
		Name: "StartupTime", Outcome: v1alpha1.OutcomePass, Reason: v1alpha1.ReasonPassed, Canary: "23.797s", Control: "21.796s", Samples: 3,
		Effect: "+9.5%", Interval: "+0.0% to +20.0%", Margin: "+25%",
		Message: "StartupTime of the canary pods +9.5% (+0.0% to +20.0%), allowed +25%; the slowest tenth took 23.797s, control 21.796s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
