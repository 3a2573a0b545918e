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
