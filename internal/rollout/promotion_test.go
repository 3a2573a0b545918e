package rollout

import (
	"testing"
	"time"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

func passedAll(trial *v1alpha1.Trial) bool { return trial.PassedAt != nil }

// waitingAt is a trial that has passed every step, and waits for a person.
func waitingAt(t *testing.T) *manager {
	t.Helper()
	m := newManager(newWorld(1, 6), bold, &promoted)
	m.plan.ByHand = true
	if !m.reach(passedAll, 20*time.Minute) {
		t.Fatal("the trial never waits")
	}
	return m
}

// TestI2EvidenceByHand: a person promotes on a verdict of this interval that passed, and on nothing else.
func TestI2EvidenceByHand(t *testing.T) {
	asks := func(_ *v1alpha1.Trial, view *View) { view.Promote = true }
	for name, test := range map[string]struct {
		edit func(*v1alpha1.Trial, *View)
		want v1alpha1.Stage
	}{
		"asked for":     {asks, v1alpha1.StagePromoting},
		"not asked for": {nil, v1alpha1.StageCanary},
		"held": {func(_ *v1alpha1.Trial, view *View) {
			view.Promote, view.Hold = true, true
		}, v1alpha1.StageCanary},
		"undecided": {func(trial *v1alpha1.Trial, view *View) {
			view.Promote, trial.Verdict.Outcome = true, v1alpha1.OutcomeInconclusive
		}, v1alpha1.StageCanary},
		"not often enough": {func(trial *v1alpha1.Trial, view *View) {
			view.Promote, trial.GoodWindows = true, 1
		}, v1alpha1.StageCanary},
		"an old verdict, judged anew": {func(_ *v1alpha1.Trial, view *View) {
			view.Promote, view.Now = true, view.Now.Add(view.Plan.Interval)
		}, v1alpha1.StagePromoting},
		"steps to come": {func(trial *v1alpha1.Trial, view *View) {
			view.Promote, view.Plan.Steps = true, append(view.Plan.Steps[:3:3], view.Plan.Steps[2])
		}, v1alpha1.StageCanary},
		"automatic again": {func(_ *v1alpha1.Trial, view *View) {
			view.Plan.ByHand, view.Now = false, view.Now.Add(view.Plan.Interval)
		}, v1alpha1.StagePromoting},
	} {
		if decision := waitingAt(t).look(t, test.edit); decision.Trial == nil || decision.Trial.Stage != test.want {
			t.Errorf("%s: %+v", name, decision.Trial)
		}
	}
}

// TestWaitingForAPerson: guards, data and deadline end the wait; what a person holds does not time out, and what replaces a lost pod must pass.
func TestWaitingForAPerson(t *testing.T) {
	for name, test := range map[string]struct {
		do     func(*manager)
		within time.Duration
		reason string
	}{
		"a breach":   {kinds["restart of canary"], 2 * time.Minute, v1alpha1.ReasonRestarted},
		"no data":    {dataFault("no answer"), 3 * time.Minute, v1alpha1.ReasonNoData},
		"nobody":     {func(m *manager) { m.now = m.now.Add(PromotionDeadline - 2*time.Minute) }, 4 * time.Minute, v1alpha1.ReasonPromotionTimedOut},
		"a revision": {kinds["new revision"], 2 * time.Minute, v1alpha1.ReasonSuperseded},
	} {
		m := waitingAt(t)
		test.do(m)
		for from := m.now; m.status().trial != nil && m.now.Sub(from) < test.within; {
			m.second()
		}
		if m.record == nil || m.record.Reason != test.reason {
			t.Errorf("%s: %+v", name, m.record)
		}
	}
	m := waitingAt(t)
	held := m.look(t, func(_ *v1alpha1.Trial, view *View) { view.Hold, view.Now = true, view.Now.Add(PromotionDeadline) })
	if held.Trial == nil || held.Trial.Stage != v1alpha1.StageCanary || !held.Trial.PassedAt.Time.Equal(m.now) {
		t.Errorf("held for a day: %+v", held.Trial)
	}
	m = waitingAt(t)
	m.terminate(m.canary(0))
	if decision := m.look(t, nil); decision.Trial.PassedAt != nil {
		t.Error("it passed with a pod that is gone")
	}
}

// TestNextRollout: no pod is replaced until the next deploy, whose pods are born with the baseline, guards on; missing data is no end before.
func TestNextRollout(t *testing.T) {
	reach := func() *manager {
		m := newManager(newWorld(1, 6), bold, &promoted)
		m.plan.AtNextRollout = true
		if !m.reach(inWaves, 20*time.Minute) {
			t.Fatal("it is not promoted")
		}
		return m
	}
	m := reach()
	evictions := m.evictions
	m.data.fault = "no answer"
	for range 600 {
		m.second()
	}
	if m.record != nil || m.evictions != evictions {
		t.Fatalf("with nothing going on: %+v after %d evictions", m.record, m.evictions-evictions)
	}
	m.data.fault = ""
	deploy := func(m *manager) {
		kinds["new revision"](m)
		for from := m.now; m.status().trial != nil && m.now.Sub(from) < 20*time.Minute; {
			m.second()
		}
	}
	if deploy(m); m.record == nil || m.record.Result != v1alpha1.TrialPromoted || m.evictions != evictions {
		t.Errorf("after a deploy: %+v after %d evictions", m.record, m.evictions-evictions)
	}
	m = reach()
	m.data.slow = 0.5
	if deploy(m); m.record == nil || m.record.Reason != v1alpha1.ReasonLatencyBreached {
		t.Errorf("a breach in the rollout: %+v", m.record)
	}
	m = reach()
	m.plan.AtNextRollout = false
	for m.status().trial != nil && m.now.Sub(epoch) < time.Hour {
		m.second()
	}
	if m.record == nil || m.evictions == evictions {
		t.Errorf("with waves after all: %+v", m.record)
	}
	forgotten := reach().look(t, func(_ *v1alpha1.Trial, view *View) { view.Now = view.Now.Add(NextRolloutDeadline) })
	if forgotten.Trial != nil || forgotten.Record == nil || forgotten.Record.Result != v1alpha1.TrialPromoted {
		t.Errorf("after 30 days: %+v", forgotten.Trial)
	}
}

func TestReplacements(t *testing.T) {
	plan := quickPlan()
	next := plan
	next.AtNextRollout = true
	for name, test := range map[string]struct {
		plan     Plan
		replicas int
		purpose  v1alpha1.TrialPurpose
		want     int
	}{
		"3 and 3, then the other 7": {plan, 10, v1alpha1.PurposePromote, 13},
		"all go back":               {plan, 10, v1alpha1.PurposeMeasure, 9},
		"nothing follows":           {next, 10, v1alpha1.PurposePromote, 9},
		"few":                       {plan, 3, v1alpha1.PurposePromote, 5},
	} {
		if got := test.plan.Replacements(test.replicas, test.purpose); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
