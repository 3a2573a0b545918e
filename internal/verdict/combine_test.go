package verdict

import (
	"testing"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// TestPassMessage: a verdict that passes tells what was asked of it, and only counts the signals that are within their margins.
func TestPassMessage(t *testing.T) {
	pass := func(name, margin, message string) v1alpha1.Check {
		return v1alpha1.Check{Name: name, Outcome: v1alpha1.OutcomePass, Margin: margin, Message: message}
	}
	for _, test := range []struct {
		checks []v1alpha1.Check
		want   string
	}{
		{nil, ""},
		{[]v1alpha1.Check{pass("oom", "", ""), pass("latency", "", "fast"), pass("gain", "", "cheaper")}, "fast; cheaper"},
		{[]v1alpha1.Check{pass("latency", "", "fast"), pass("RequestLatency", "+3%", "long"), pass("CPUPerRequest", "+2%", "longer")},
			"fast; 2 signals are within their margins"},
	} {
		if got := Combine(now, test.checks).Message; got != test.want {
			t.Errorf("the message is %q, want %q", got, test.want)
		}
	}
}

// TestGainFirst: whatever the verdict's message says of the gain is told once, ahead of the rest.
func TestGainFirst(t *testing.T) {
	gain := v1alpha1.Check{Name: "gain", Outcome: v1alpha1.OutcomePass, Message: "-50% (needed -5%; p=0.1), that is much"}
	unproven := gain
	unproven.Outcome, unproven.Reason = v1alpha1.OutcomeInconclusive, v1alpha1.ReasonGainUnproven
	slo := v1alpha1.Check{Name: "latency", Outcome: v1alpha1.OutcomePass, Message: "fast"}
	within := v1alpha1.Check{Name: "CPUPerRequest", Outcome: v1alpha1.OutcomePass, Margin: "+2%", Message: "long"}
	guard := v1alpha1.Check{Name: "RequestLatency", Outcome: v1alpha1.OutcomeInconclusive, Reason: v1alpha1.ReasonNotProvenHarmless, Message: "unproven"}
	for name, test := range map[string]struct {
		checks        []v1alpha1.Check
		gain, besides string
	}{
		"no gain is judged":   {[]v1alpha1.Check{slo}, "", "fast"},
		"all passes":          {[]v1alpha1.Check{slo, gain, within}, gain.Message, "fast; 1 signal is within its margin"},
		"the gain alone":      {[]v1alpha1.Check{gain}, gain.Message, ""},
		"the gain's lack":     {[]v1alpha1.Check{slo, unproven}, gain.Message, ""},
		"what weighs heavier": {[]v1alpha1.Check{slo, unproven, guard}, gain.Message, "unproven"},
	} {
		if gain, besides := GainFirst(Combine(now, test.checks)); gain != test.gain || besides != test.besides {
			t.Errorf("%s: %q, %q", name, gain, besides)
		}
	}
}
