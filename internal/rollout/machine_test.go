package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

func TestStart(t *testing.T) {
	w := newWorld(1, 6)
	view := w.view()
	view.Now = epoch.Add(700 * time.Millisecond)
	long := strings.Repeat("ö", 600)
	previous := v1alpha1.Baseline{Source: v1alpha1.BaselineDeclared}
	decision := Start(view, Opening{Number: 7, Candidate: bold, Reason: long, Previous: previous})
	trial := *decision.Trial
	if len(trial.Reason) > 512 || !strings.HasSuffix(trial.Reason, "...") {
		t.Errorf("a reason of %d bytes", len(trial.Reason))
	}
	trial.Reason = ""
	want := v1alpha1.Trial{
		Number: 7, Candidate: bold.API(), Footing: view.Footing.API(), Previous: previous, Revision: "rs-1", Stage: v1alpha1.StageCanary,
		StartedAt: stamp(epoch), StepStartedAt: stamp(epoch),
	}
	if diff := cmp.Diff(want, trial); diff != "" || !decision.Changed {
		t.Error(diff)
	}
}

func TestTruncate(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("a", 512), strings.Repeat("a", 513), strings.Repeat("€", 300), strings.Repeat("\xff", 600)} {
		if got := Truncate(text); len(got) > 512 || len(text) <= 512 && got != text {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	}
}

func TestUnreadableCandidate(t *testing.T) {
	trial := *sceneAt(t, gathering).status().trial
	nonsense := intstr.FromString("much")
	trial.Candidate.GOGC = &nonsense
	if _, err := Advance(trial, View{}); err == nil {
		t.Error("a candidate that can't be read is no error")
	}
	if _, err := NeedsMeasurements(trial, View{}); err == nil {
		t.Error("a candidate that can't be read is no error")
	}
}

// TestEmptyPlan: a policy whose spec can't be read has no plan; its trial goes back all the same, and somebody looks again.
func TestEmptyPlan(t *testing.T) {
	for _, when := range []moment{gathering, lastWarm, inWaves} {
		m := sceneAt(t, when)
		m.plan, m.stop = Plan{}, &Stop{v1alpha1.ReasonSuperseded, "spec lacks analysis.interval"}
		for range 120 {
			if m.status().trial != nil {
				m.second()
			}
		}
		if m.record == nil || m.record.Result != v1alpha1.TrialReverted {
			t.Errorf("the trial did not go back: %+v", m.status().trial)
		}
		for _, found := range m.found {
			t.Errorf("%s: %s", found.invariant, found.message)
		}
	}
}

func TestUnknownStage(t *testing.T) {
	m := sceneAt(t, lastWarm)
	decision := m.look(t, func(trial *v1alpha1.Trial, _ *View) { trial.Stage = "Baking" })
	wantReverting(t, decision, v1alpha1.ReasonSuperseded)
	if decision.Baseline == nil || cmp.Diff(throughJSON(*decision.Baseline), throughJSON(m.previous)) != "" {
		t.Error("the stage may have promoted, and the previous baseline is not restored")
	}
}

// TestRevertingWithoutEnd: the reason is filled in before pods are taken back, since others read it.
func TestRevertingWithoutEnd(t *testing.T) {
	decision := sceneAt(t, lastWarm).look(t, func(trial *v1alpha1.Trial, _ *View) { trial.Stage = v1alpha1.StageReverting })
	wantReverting(t, decision, v1alpha1.ReasonSuperseded)
}

// TestNeedsMeasurements: what the Kubernetes API alone decides does not wait for Prometheus.
func TestNeedsMeasurements(t *testing.T) {
	stopped := func(m *manager) { m.stop = &Stop{v1alpha1.ReasonSuspended, ""} }
	reverting := func(trial *v1alpha1.Trial) bool { return trial.Stage == v1alpha1.StageReverting }
	for name, test := range map[string]struct {
		when moment
		do   func(*manager)
		want bool
	}{
		"slots to open":       {func(trial *v1alpha1.Trial) bool { return len(trial.Slots) == 0 }, nil, false},
		"pods to come":        {gathering, nil, false},
		"to verify":           {func(trial *v1alpha1.Trial) bool { return len(trial.Controls) == 1 }, nil, true},
		"to warm up":          {verified, nil, true},
		"to judge":            {warm, nil, true},
		"waves":               {inWaves, nil, true},
		"a stop":              {warm, stopped, false},
		"a stop in the waves": {inWaves, stopped, false},
		"harm":                {warm, kinds["restart of canary"], false},
		"harm in the waves":   {inWaves, kinds["OOM of canary"], false},
		"a new revision":      {warm, kinds["new revision"], false},
	} {
		m := sceneAt(t, test.when)
		if test.do != nil {
			test.do(m)
		}
		got, err := NeedsMeasurements(*m.status().trial, m.view())
		if err != nil || got != test.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	m := sceneAt(t, lastWarm)
	m.stop = &Stop{v1alpha1.ReasonSuspended, ""}
	if !m.reach(reverting, 20*time.Minute) {
		t.Fatal("no revert")
	}
	if got, err := NeedsMeasurements(*m.status().trial, m.view()); got || err != nil {
		t.Errorf("a revert asks Prometheus: %v", err)
	}
}

// TestLabels: the label says for people what the status says, and is gone once the trial is.
func TestLabels(t *testing.T) {
	m := sceneAt(t, lastWarm)
	for range 10 {
		m.second()
	}
	got := map[string]int{}
	for _, pod := range m.pods {
		got[pod.Cohort]++
	}
	if diff := cmp.Diff(map[string]int{"canary": 3, "control": 3}, got); diff != "" {
		t.Error(diff)
	}
	if m.status().trial.Stage == v1alpha1.StageCanary {
		m.runUntil(time.Hour, nil)
	}
	for _, pod := range m.pods {
		if pod.Cohort != "" {
			t.Errorf("pod %s is still labelled %s", pod.Name, pod.Cohort)
		}
	}
}

// TestPreviousBaseline: what a pod goes back to is the previous baseline where it stands on the pod's template, else what that declares.
func TestPreviousBaseline(t *testing.T) {
	was := settings.Footing{Declared: settings.Settings{GOGC: 25}, MemoryLimitBytes: 1 << 30}
	proven := settings.Settings{GOGC: 150, MemoryLimitBytes: 900 << 20}
	for name, test := range map[string]struct {
		source v1alpha1.BaselineSource
		now    settings.Footing
		want   settings.Settings
	}{
		"declared":         {v1alpha1.BaselineDeclared, was, settings.Settings{GOGC: 25}},
		"promoted":         {v1alpha1.BaselinePromoted, was, proven},
		"Git moved on":     {v1alpha1.BaselinePromoted, settings.Footing{Declared: bold}, bold},
		"the limit shrank": {v1alpha1.BaselinePromoted, settings.Footing{Declared: was.Declared, MemoryLimitBytes: 1 << 29}, settings.Settings{GOGC: 150}},
	} {
		m := machine{View: View{Footing: test.now}, trial: &v1alpha1.Trial{
			Revision: "rs-1", Footing: was.API(), Previous: v1alpha1.Baseline{Source: test.source, Settings: proven.API(), Footing: was.API()},
		}}
		if got := m.baselineOf(Pod{Revision: "rs-2"}); got != test.want {
			t.Errorf("%s: %s, want %s", name, got.Canonical(), test.want.Canonical())
		}
	}
}
