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

func TestStartup(t *testing.T) {
	tests := map[string]struct {
		canary, control []float64
		spread          float64
		want            v1alpha1.Outcome
		reason          string
	}{
		"alike":                             {[]float64{20, 20, 20}, []float64{20, 20, 20}, 0, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"25% slower":                        {[]float64{25, 25, 25}, []float64{20, 20, 20}, 0, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"26% slower":                        {[]float64{25.2, 25.2, 25.2}, []float64{20, 20, 20}, 0, v1alpha1.OutcomeFail, v1alpha1.ReasonStartsSlowly},
		"two seconds slower":                {[]float64{3, 3, 3}, []float64{1, 1, 1}, 0, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"more than two seconds slower":      {[]float64{3.1, 3.1, 3.1}, []float64{1, 1, 1}, 0, v1alpha1.OutcomeFail, v1alpha1.ReasonStartsSlowly},
		"one slow pod":                      {[]float64{20, 20, 90}, []float64{20, 20, 20}, 0, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"one slow control pod":              {[]float64{30, 30, 30}, []float64{20, 20, 90}, 0, v1alpha1.OutcomePass, v1alpha1.ReasonPassed},
		"slower, but so are some":           {[]float64{30, 25, 40}, []float64{20, 25, 22}, 0, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonNotProvenHarmless},
		"slower, as pods are known to be":   {[]float64{30, 30, 30}, []float64{20, 20, 20}, 0.2, v1alpha1.OutcomeInconclusive, v1alpha1.ReasonNotProvenHarmless},
		"some not known":                    {[]float64{30, 0, 30}, []float64{20, 20, 0}, 0, v1alpha1.OutcomeFail, v1alpha1.ReasonStartsSlowly},
		"a clock that went back is no time": {[]float64{30, -5, 30}, []float64{20, 20, 20}, 0, v1alpha1.OutcomeFail, v1alpha1.ReasonStartsSlowly},
	}
	for name, test := range tests {
		in := passing()
		in.Margins = map[v1alpha1.SignalName]Margin{v1alpha1.SignalStartupTime: {Allowed: 0.25, PodSpread: test.spread}}
		started(in.Canary, test.canary...)
		started(in.Control, test.control...)
		got := Judge(in).Verdict
		if check := checkNamed(t, got, "StartupTime"); check.Outcome != test.want || check.Reason != test.reason || got.Outcome != test.want {
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
