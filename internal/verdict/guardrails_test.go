package verdict

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func TestGuardrailsOfGoodPods(t *testing.T) {
	want := []v1alpha1.Check{}
	for _, name := range []string{"oom", "restarts", "ready"} {
		want = append(want, v1alpha1.Check{
			Name: name, Outcome: v1alpha1.OutcomePass, Reason: v1alpha1.ReasonPassed, Canary: "0 pods", Control: "0 pods", Limit: "0 pods",
		})
	}
	if diff := cmp.Diff(want, Guardrails(now, cohort("canary", 2), cohort("control", 2))); diff != "" {
		t.Error(diff)
	}
}

func TestGuardrailsOfBadPods(t *testing.T) {
	oom := func(m *Member) { m.OOMKilled = true }
	restarted := func(m *Member) { m.Restarts = 2 }
	lost := func(m *Member) { m.Ready, m.ReadyChangedAt = false, now.Add(-time.Minute) }
	tests := map[string]struct {
		canary, control func(*Member)
		check           string
		reason          string
		message         string
	}{
		"out of memory":             {oom, nil, "oom", v1alpha1.ReasonOOMKilled, "canary pod canary-0 ran out of memory and was killed"},
		"out of memory, both":       {oom, oom, "oom", v1alpha1.ReasonSharedBreach, "canary pod canary-0 ran out of memory and was killed; so it was with control pod control-0"},
		"restarted":                 {restarted, nil, "restarts", v1alpha1.ReasonRestarted, "canary pod canary-0 restarted"},
		"restarted, both":           {restarted, restarted, "restarts", v1alpha1.ReasonSharedBreach, "canary pod canary-0 restarted; so it was with control pod control-0"},
		"not ready":                 {lost, nil, "ready", v1alpha1.ReasonNotReady, "canary pod canary-0 was ready and is no longer"},
		"not ready, both":           {lost, lost, "ready", v1alpha1.ReasonSharedBreach, "canary pod canary-0 was ready and is no longer; so it was with control pod control-0"},
		"another harm is no excuse": {oom, restarted, "oom", v1alpha1.ReasonOOMKilled, "canary pod canary-0 ran out of memory and was killed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			canary, control := cohort("canary", 2), cohort("control", 3)
			test.canary(&canary[0])
			want := v1alpha1.Check{
				Name: test.check, Outcome: v1alpha1.OutcomeFail, Reason: test.reason, Message: test.message, Canary: "1 pod", Control: "0 pods", Limit: "0 pods",
			}
			if test.control != nil {
				test.control(&control[0])
			}
			if test.reason == v1alpha1.ReasonSharedBreach {
				want.Control = "1 pod"
			}
			verdict := JudgeHealth(now, canary, control)
			if diff := cmp.Diff(want, checkNamed(t, verdict, test.check)); diff != "" {
				t.Error(diff)
			}
			if verdict.Outcome != v1alpha1.OutcomeFail || verdict.Reason != test.reason || verdict.Message != test.message {
				t.Errorf("verdict %s %s %q", verdict.Outcome, verdict.Reason, verdict.Message)
			}
		})
	}
}

func TestHarmOfControlPodsAloneIsNoBreach(t *testing.T) {
	control := cohort("control", 2)
	control[0].OOMKilled, control[1].Restarts = true, 1
	verdict := JudgeHealth(now, cohort("canary", 2), control)
	if verdict.Outcome != v1alpha1.OutcomePass || checkNamed(t, verdict, "oom").Control != "1 pod" {
		t.Errorf("%+v", verdict)
	}
}

func TestLostReadiness(t *testing.T) {
	tests := map[string]struct {
		health Health
		want   v1alpha1.Outcome
	}{
		"ready":                          {Health{Ready: true, WasReady: true}, v1alpha1.OutcomePass},
		"starting for an hour":           {Health{ReadyChangedAt: now.Add(-time.Hour)}, v1alpha1.OutcomePass},
		"lost a moment ago":              {Health{WasReady: true, ReadyChangedAt: now}, v1alpha1.OutcomeInconclusive},
		"lost as long as may be":         {Health{WasReady: true, ReadyChangedAt: now.Add(-NotReadyGrace)}, v1alpha1.OutcomeInconclusive},
		"lost a moment longer":           {Health{WasReady: true, ReadyChangedAt: now.Add(-NotReadyGrace - 1)}, v1alpha1.OutcomeFail},
		"lost, nobody knows when":        {Health{WasReady: true}, v1alpha1.OutcomeFail},
		"lost, by a clock that is ahead": {Health{WasReady: true, ReadyChangedAt: now.Add(time.Minute)}, v1alpha1.OutcomeInconclusive},
		"ready again since a moment":     {Health{Ready: true, WasReady: true, ReadyChangedAt: now}, v1alpha1.OutcomePass},
	}
	for name, test := range tests {
		canary := append(cohort("canary", 1), Member{Name: "canary-1", Health: test.health})
		got := JudgeHealth(now, canary, cohort("control", 1))
		if got.Outcome != test.want {
			t.Errorf("%s: %s %s, want %s", name, got.Outcome, got.Reason, test.want)
		}
		if test.want != v1alpha1.OutcomePass && (got.Reason != v1alpha1.ReasonNotReady || !strings.Contains(got.Message, "canary-1")) {
			t.Errorf("%s: %s %q", name, got.Reason, got.Message)
		}
	}
}

func TestCombine(t *testing.T) {
	check := func(outcome v1alpha1.Outcome, reason string) v1alpha1.Check {
		return v1alpha1.Check{Name: strings.ToLower(reason), Outcome: outcome, Reason: reason, Message: "about " + reason}
	}
	pass, pass2 := check(v1alpha1.OutcomePass, "One"), check(v1alpha1.OutcomePass, "Two")
	open, invalid := check(v1alpha1.OutcomeInconclusive, "Open"), check(v1alpha1.OutcomeInvalid, "Bad")
	unknown := check("Newer", "Unknown")
	fail, fail2 := check(v1alpha1.OutcomeFail, "Broken"), check(v1alpha1.OutcomeFail, "Worse")
	shared := check(v1alpha1.OutcomeFail, v1alpha1.ReasonSharedBreach)
	tests := map[string]struct {
		checks          []v1alpha1.Check
		want            v1alpha1.Outcome
		reason, message string
	}{
		"nothing":                           {nil, v1alpha1.OutcomePass, v1alpha1.ReasonPassed, ""},
		"passes speak together":             {[]v1alpha1.Check{pass, pass2}, v1alpha1.OutcomePass, v1alpha1.ReasonPassed, "about One; about Two"},
		"inconclusive over pass":            {[]v1alpha1.Check{pass, open, pass2}, v1alpha1.OutcomeInconclusive, "Open", "about Open"},
		"invalid over inconclusive":         {[]v1alpha1.Check{open, invalid, open}, v1alpha1.OutcomeInvalid, "Bad", "about Bad"},
		"unknown is like invalid":           {[]v1alpha1.Check{open, unknown, pass}, "Newer", "Unknown", "about Unknown"},
		"fail over invalid":                 {[]v1alpha1.Check{invalid, fail, invalid}, v1alpha1.OutcomeFail, "Broken", "about Broken"},
		"the first of two fails":            {[]v1alpha1.Check{pass, fail, fail2}, v1alpha1.OutcomeFail, "Broken", "about Broken"},
		"shared over invalid":               {[]v1alpha1.Check{invalid, shared}, v1alpha1.OutcomeFail, v1alpha1.ReasonSharedBreach, "about SharedBreach"},
		"the canary's own fault over both":  {[]v1alpha1.Check{shared, fail}, v1alpha1.OutcomeFail, "Broken", "about Broken"},
		"the canary's own fault comes once": {[]v1alpha1.Check{fail, shared}, v1alpha1.OutcomeFail, "Broken", "about Broken"},
	}
	for name, test := range tests {
		got := Combine(now, test.checks)
		if got.Outcome != test.want || got.Reason != test.reason || got.Message != test.message || !got.At.Time.Equal(now) {
			t.Errorf("%s: %s %s %q at %s", name, got.Outcome, got.Reason, got.Message, got.At)
		}
		if diff := cmp.Diff(test.checks, got.Checks); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestMessagesFitTheCRD: the API server refuses a message of more than 512 characters, and with it the whole status.
func TestMessagesFitTheCRD(t *testing.T) {
	long := strings.Repeat("ä", 250)
	canary, control := []Member{{Name: long}}, []Member{{Name: "x" + long}}
	canary[0].OOMKilled, control[0].OOMKilled = true, true
	checks := Guardrails(now, canary, control)
	verdict := Combine(now, checks)
	for _, text := range []string{verdict.Message, verdict.Checks[0].Message} {
		if len(text) > 512 || len(text) < 500 || !utf8.ValidString(text) || !strings.HasSuffix(text, "…") {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
	if len(checks[0].Message) <= 512 {
		t.Error("the caller's checks were changed, or the message was short anyway")
	}
	if exact := strings.Repeat("x", 512); shorten(exact) != exact {
		t.Error("a message that fits was cut")
	}
}
