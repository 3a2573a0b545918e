package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
)

// TestPromotion: the status says what is promoted before any pod is touched.
func TestPromotion(t *testing.T) {
	m := sceneAt(t, lastWarm)
	var decision Decision
	for decision.Baseline == nil {
		m.tick()
		decision = m.look(t, func(trial *v1alpha1.Trial, _ *View) { trial.GoodWindows = 2 })
		if m.now.Sub(epoch) > time.Hour {
			t.Fatal("never promoted")
		}
	}
	at := stamp(m.now)
	want := v1alpha1.Baseline{Source: v1alpha1.BaselinePromoted, Settings: bold.API(), Footing: m.status().trial.Footing, PromotedAt: &at}
	if diff := cmp.Diff(throughJSON(want), throughJSON(*decision.Baseline)); diff != "" {
		t.Error(diff)
	}
	if !decision.Changed || len(decision.Evict) > 0 || decision.Trial.Stage != v1alpha1.StagePromoting || len(decision.Trial.Controls) > 0 {
		t.Errorf("%+v", decision)
	}
}

// TestBornUntuned: a pod that was born in the waves without the baseline is left to the drift sweep; two end the waves.
func TestBornUntuned(t *testing.T) {
	m := sceneAt(t, inWaves)
	m.webhookDown = true
	born := func(*v1alpha1.Trial) bool {
		return len(m.find(func(pod *worldPod) bool { return pod.Ready && runs(pod.Pod, settings.Settings{GOGC: 25}) })) > 0
	}
	if !m.reach(born, 20*time.Minute) {
		t.Fatal("no pod was born untuned")
	}
	m.webhookDown = false
	evicted := m.find(func(pod *worldPod) bool { return runs(pod.Pod, settings.Settings{GOGC: 25}) })[0].UID
	m.runUntil(time.Hour, nil)
	if m.record == nil || m.record.Result != v1alpha1.TrialPromoted {
		t.Fatalf("%+v", m.record)
	}
	untuned := m.find(func(pod *worldPod) bool { return !runs(pod.Pod, bold) })
	if len(untuned) != 1 || untuned[0].UID != evicted || untuned[0].Terminating {
		t.Errorf("%d pods are untuned, want the one that was born so", len(untuned))
	}
}

// TestUnreadableInWaves: the successor of a pod that can't be read could not be read either.
func TestUnreadableInWaves(t *testing.T) {
	m := sceneAt(t, inWaves)
	pod := m.find(func(pod *worldPod) bool { return !pod.Terminating && !runs(pod.Pod, bold) })[0]
	pod.Unreadable = "GOGC comes from a ConfigMap"
	m.runUntil(time.Hour, nil)
	if pod.Terminating || m.record == nil || m.record.Result != v1alpha1.TrialPromoted {
		t.Errorf("evicted: %v, %+v", pod.Terminating, m.record)
	}
}

// TestWavesWaitForPodsToJudge: where no pod with the new baseline has run for long enough, no other is replaced, and that is no want of data.
func TestWavesWaitForPodsToJudge(t *testing.T) {
	m := sceneAt(t, inWaves)
	m.plan.WarmUp = 5 * time.Minute
	now := stamp(m.now)
	for _, pod := range m.pods {
		pod.Terminating, pod.Ready = false, true
		if runs(pod.Pod, bold) {
			pod.CreatedAt = m.now
		}
	}
	for _, since := range []time.Duration{0, time.Minute, 5*time.Minute + 19*time.Second} {
		decision := m.look(t, func(trial *v1alpha1.Trial, view *View) { trial.LastDataAt, view.Now = &now, now.Add(since) })
		if len(decision.Evict) > 0 || decision.Changed {
			t.Errorf("%s after their start: %+v", since, decision.Trial)
		}
	}
	m.now = now.Add(5*time.Minute + 20*time.Second)
	if got := m.look(t, func(trial *v1alpha1.Trial, view *View) { seen := stamp(view.Now); trial.LastDataAt = &seen }); len(got.Evict) != 1 {
		t.Errorf("once they can be judged: evicts %v", names(got.Evict))
	}
}

// TestWavesHarmIsOfNow: that an old pod restarted months ago does not excuse the new baseline.
func TestWavesHarmIsOfNow(t *testing.T) {
	m := sceneAt(t, inWaves)
	for _, pod := range m.pods {
		if pod.CreatedAt.Before(epoch) {
			pod.Restarts = 7
		}
	}
	m.canary(0).Restarts = 1
	wantReverting(t, m.look(t, nil), v1alpha1.ReasonRestarted)
}

// TestRevertTakesAllBack: from the waves too, every pod goes back, though never more are down than may be.
func TestRevertTakesAllBack(t *testing.T) {
	m := sceneAt(t, wavesDone)
	kinds["suspend"](m)
	m.runUntil(time.Hour, nil)
	if m.record == nil || m.record.Result != v1alpha1.TrialReverted {
		t.Fatalf("%+v", m.record)
	}
	schedule{m, []incident{{}}}.settle(nil)
	for _, pod := range m.pods {
		if !pod.Terminating && !runs(pod.Pod, promoted) {
			t.Errorf("pod %s runs %s", pod.Name, pod.Settings.Canonical())
		}
	}
	if diff := cmp.Diff(throughJSON(m.previous), throughJSON(m.status().baseline)); diff != "" {
		t.Error(diff)
	}
	for _, found := range m.found {
		t.Errorf("%s: %s", found.invariant, found.message)
	}
}

// TestRevertEnds only late enough, only when all is clean; but a pod that can't go does not keep it for ever.
func TestRevertEnds(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration
		pod   *Pod
		want  bool
	}{
		{"clean, too early", 39 * time.Second, nil, false},
		{"clean", 40 * time.Second, nil, true},
		{"one is left", time.Hour, &Pod{UID: "left", Revision: "rs-1", CreatedAt: epoch, Settings: bold}, false},
		{"one is going", 9 * time.Minute, &Pod{UID: "left", Revision: "rs-1", CreatedAt: epoch, Settings: bold, Terminating: true}, false},
		{"one can't go", 10 * time.Minute, &Pod{UID: "left", Revision: "rs-1", CreatedAt: epoch, Settings: bold, Terminating: true}, true},
		{"one came late", 41 * time.Second, &Pod{UID: "left", Revision: "rs-1", CreatedAt: epoch.Add(34 * time.Second), Settings: bold}, false},
		{"one of before", time.Hour, &Pod{UID: "left", Revision: "rs-1", CreatedAt: epoch.Add(-time.Hour), Settings: promoted}, true},
	} {
		decision := sceneAt(t, lastWarm).look(t, func(trial *v1alpha1.Trial, view *View) {
			trial.Stage, trial.Slots = v1alpha1.StageReverting, nil
			trial.End = &v1alpha1.TrialEnd{Reason: v1alpha1.ReasonNoGain, Message: "no gain", At: stamp(epoch)}
			view.Now, view.Pods = epoch.Add(test.after), nil
			if test.pod != nil {
				view.Pods = []Pod{*test.pod}
			}
		})
		if got := decision.Trial == nil; got != test.want || got != (decision.Record != nil) {
			t.Errorf("%s: ended is %v, want %v", test.name, got, test.want)
		}
		if test.want && (decision.Record.Reason != v1alpha1.ReasonNoGain || decision.Record.Result != v1alpha1.TrialReverted || decision.Record.Verdict == nil) {
			t.Errorf("%s: recorded %+v", test.name, decision.Record)
		}
		if !test.want && (decision.Wait < shortestWait || decision.Wait > 5*time.Second) {
			t.Errorf("%s: the next look is in %s", test.name, decision.Wait)
		}
	}
}
