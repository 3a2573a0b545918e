package controllers

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/signal/prometheus"
)

// situation is a world in which no trial starts.
type situation struct {
	reason string
	// word of the message that says what to change.
	word string
	// replicas and containers of the target: 6 and app, unless said otherwise.
	replicas   int32
	containers []corev1.Container
	policy     func(*v1alpha1.RuntimeTuningPolicy)
	world      func(*world)
}

func measuring(alter func(*signal.Pod)) func(*world) {
	return func(w *world) { w.prometheus.alter = func(_ string, pod *signal.Pod) { alter(pod) } }
}

func answering(err error) func(*world) { return func(w *world) { w.prometheus.down = err } }

func inMode(mode v1alpha1.Mode) func(*v1alpha1.RuntimeTuningPolicy) {
	return func(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Mode = mode }
}

func noRequests(pod *signal.Pod) { pod.Requests, pod.Latency = present(1), slow(1, 0) }

var secret = corev1.EnvVar{Name: "GOGC", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}

func situations() map[string]situation {
	return map[string]situation{
		"Observe":         {reason: v1alpha1.ReasonObserving, policy: inMode(v1alpha1.ModeObserve)},
		"Recommend":       {reason: v1alpha1.ReasonRecommended, policy: inMode(v1alpha1.ModeRecommend)},
		"nothing to gain": {reason: v1alpha1.ReasonTuned, policy: func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Knobs.GOGC.Mode = v1alpha1.KnobKeep }},
		"bounded":         {reason: v1alpha1.ReasonTuned, policy: func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Knobs.GOGC.Min, p.Spec.Knobs.GOGC.Max = 25, 25 }},
		"sweep without pods": {reason: v1alpha1.ReasonTuned, word: "Auto", policy: func(p *v1alpha1.RuntimeTuningPolicy) {
			p.Spec.Mode, p.Spec.Strategy.Type = v1alpha1.ModeRecommend, v1alpha1.StrategySweep
		}},
		"cooldown":               {reason: v1alpha1.ReasonCooldown, policy: cooling},
		"held":                   {reason: v1alpha1.ReasonSuspended, policy: func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Suspend = v1alpha1.SuspendHold }},
		"suspended":              {reason: v1alpha1.ReasonSuspended, policy: func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Suspend = v1alpha1.SuspendRevert }},
		"scaling":                {reason: v1alpha1.ReasonWaitingForTarget, world: func(w *world) { w.showReplicas(5) }},
		"young pods":             {reason: v1alpha1.ReasonWaitingForTarget, world: func(w *world) { w.pass(-9 * time.Minute) }},
		"another being deleted":  {reason: v1alpha1.ReasonWaitingForTarget, world: (*world).leavingPolicy},
		"no traffic":             {reason: v1alpha1.ReasonNoTraffic, world: measuring(noRequests)},
		"Prometheus down":        {reason: v1alpha1.ReasonPrometheusUnavailable, world: answering(errDown)},
		"Prometheus silent":      {reason: v1alpha1.ReasonPrometheusUnavailable, world: answering(errSilent)},
		"Prometheus refuses":     {reason: v1alpha1.ReasonPrometheusUnavailable, world: answering(&prometheus.RejectedError{Provider: "default", Err: errors.New("401")})},
		"not scraped any more":   {reason: v1alpha1.ReasonPrometheusUnavailable, world: measuring(func(p *signal.Pod) { p.SampleAge = time.Minute })},
		"baseline breaches":      {reason: v1alpha1.ReasonBaselineBreachesSLO, world: func(w *world) { w.prometheus.alter = breach("25") }},
		"baseline fails":         {reason: v1alpha1.ReasonBaselineBreachesSLO, world: measuring(failing)},
		"breach while observing": {reason: v1alpha1.ReasonBaselineBreachesSLO, policy: inMode(v1alpha1.ModeObserve), world: func(w *world) { w.prometheus.alter = breach("25") }},
		"unknown target":         {reason: v1alpha1.ReasonTargetNotFound, replicas: -1},
		"unknown container":      {reason: v1alpha1.ReasonContainerNotFound, word: "one of app", policy: func(p *v1alpha1.RuntimeTuningPolicy) { p.Spec.Container = "other" }},
		"two containers":         {reason: v1alpha1.ReasonContainerAmbiguous, containers: []corev1.Container{app("25"), {Name: "proxy", Image: "proxy"}}},
		"unknown provider":       {reason: v1alpha1.ReasonProviderNotFound, world: func(w *world) { w.prometheus.unknownProvider = prometheus.ErrUnknownProvider }},
		"valueFrom":              {reason: v1alpha1.ReasonUnmanageableEnv, containers: []corev1.Container{{Name: "app", Image: "app", Env: []corev1.EnvVar{secret}}}},
		"duplicate env":          {reason: v1alpha1.ReasonUnmanageableEnv, containers: []corev1.Container{{Name: "app", Image: "app", Env: append(app("25").Env, app("50").Env...)}}},
		"no runtime metrics":     {reason: v1alpha1.ReasonSignalUnavailable, word: "WithGoCollectorRuntimeMetrics", world: measuring(func(p *signal.Pod) { p.GCCPUSeconds = signal.Value{} })},
		"no CPU time":            {reason: v1alpha1.ReasonSignalUnavailable, world: measuring(func(p *signal.Pod) { p.CPUSeconds = present(0) })},
		"no histogram":           {reason: v1alpha1.ReasonSLOUnmeasured, word: "spec.metrics.latency", world: measuring(func(p *signal.Pod) { p.Latency, p.LatencyState = nil, signal.Absent })},
		"no status":              {reason: v1alpha1.ReasonSLOUnmeasured, world: measuring(func(p *signal.Pod) { p.FailedRequests = signal.Value{} })},
		"unusable histogram":     {reason: v1alpha1.ReasonSLOUnmeasured, world: measuring(func(p *signal.Pod) { p.LatencyState = signal.NotFinite })},
		"coarse buckets":         {reason: v1alpha1.ReasonSLOUnmeasured, policy: inMode(v1alpha1.ModeObserve), world: measuring(coarse)},
		"one replica":            {reason: v1alpha1.ReasonTooFewReplicas, replicas: 1},
		"breaker":                {reason: v1alpha1.ReasonBreakerOpen, world: measuring(func(p *signal.Pod) { p.FailedRequests = p.Requests })},
		"leak":                   {reason: v1alpha1.ReasonLeakSuspected, word: "no setting cures", world: measuring(leaking)},
		"throttled":              {reason: v1alpha1.ReasonCPUThrottled, word: "CPU limit", world: measuring(func(p *signal.Pod) { p.ThrottledShare = present(0.5) })},
		"throttled, in breach": {reason: v1alpha1.ReasonCPUThrottled, word: "breaks its objective", world: measuring(both(failing,
			func(p *signal.Pod) { p.ThrottledShare = present(0.5) }))},
		"starved, in breach": {reason: v1alpha1.ReasonCPUThrottled, word: "a collection pauses", world: measuring(both(failing,
			func(p *signal.Pod) { p.ThrottledShare, p.GCPauseSeconds = present(0.02), present(0.02) }))},
		"leaks, is throttled, in breach": {reason: v1alpha1.ReasonLeakSuspected, word: "breaks its objective", world: measuring(both(failing, leaking,
			func(p *signal.Pod) { p.ThrottledShare = present(0.5) }))},
		"throttled, breaker": {reason: v1alpha1.ReasonBreakerOpen, world: measuring(func(p *signal.Pod) {
			p.ThrottledShare, p.FailedRequests = present(0.5), p.Requests
		})},
		"unlike pods":     {reason: v1alpha1.ReasonTooFewPods, word: "spec.analysis.margins.max", world: (*world).makePodsUnlike},
		"an older policy": {reason: v1alpha1.ReasonConflicted, world: (*world).olderPolicy},
		"an older CRD":    {reason: v1alpha1.ReasonInvalidSpec, world: func(w *world) { w.lens.stored = withoutInterval }},
		"a newer mode":    {reason: v1alpha1.ReasonObserving, world: func(w *world) { w.lens.stored = inMode("Reckless") }},
	}
}

func failing(pod *signal.Pod) { pod.FailedRequests = present(pod.Requests.Number / 10) }

func both(alter ...func(*signal.Pod)) func(*signal.Pod) {
	return func(pod *signal.Pod) {
		for _, one := range alter {
			one(pod)
		}
	}
}

func leaking(pod *signal.Pod) {
	for i := range 3 {
		pod.Levels = append(pod.Levels, signal.Level{
			RequestsPerSecond: present(20), Goroutines: present(float64(1000 * (i + 1))), OpenFileDescriptors: present(20), LiveHeapBytes: present(2e7),
		})
	}
	pod.ProcessStartSeconds.Number -= 24 * 3600
}

// makePodsUnlike gives each pod another cost of a request.
func (w *world) makePodsUnlike() {
	factor := 1.0
	w.prometheus.alter = func(_ string, pod *signal.Pod) {
		factor *= 1.7
		pod.RequestSeconds = present(pod.RequestSeconds.Number * factor)
		if factor > 10 {
			factor = 1
		}
	}
}

func coarse(pod *signal.Pod) {
	pod.Latency = []signal.Bucket{{UpperBoundSeconds: 0.05}, {UpperBoundSeconds: 1, Count: pod.Requests.Number}, pod.Latency[2]}
}

func withoutInterval(policy *v1alpha1.RuntimeTuningPolicy) { policy.Spec.Analysis.Interval = nil }

func cooling(policy *v1alpha1.RuntimeTuningPolicy) {
	until := metav1.NewTime(time.Now().Add(1000 * time.Hour))
	policy.Status.CooldownUntil = &until
}

func (w *world) showReplicas(replicas int32) {
	deployment := w.getDeployment()
	deployment.Status.Replicas, deployment.Status.UpdatedReplicas = replicas, replicas
	w.must(w.server.Status().Update(w.t.Context(), deployment))
}

// olderPolicy of the same target, older than that of the world.
func (w *world) olderPolicy() {
	older := newPolicy("older")
	older.Namespace = w.namespace
	w.must(w.server.Create(w.t.Context(), older))
	w.lens.born[older.UID] = w.clock.Now().Add(-24 * time.Hour)
}

func (w *world) leavingPolicy() {
	leaving := newPolicy("leaving")
	leaving.Namespace, leaving.Finalizers = w.namespace, []string{v1alpha1.Finalizer}
	w.must(w.server.Create(w.t.Context(), leaving))
	w.must(w.server.Delete(w.t.Context(), leaving))
}

func (s situation) build(t *testing.T) *world {
	w := newWorld(t)
	switch {
	case s.replicas == 0:
		w.deploy(6, s.containers...)
	case s.replicas > 0:
		w.deploy(s.replicas, s.containers...)
	}
	w.policy(s.policy)
	w.pass(10 * time.Minute)
	if s.world != nil {
		s.world(w)
	}
	return w
}

func stalledReason(reason string) bool {
	switch reason {
	case v1alpha1.ReasonTargetNotFound, v1alpha1.ReasonContainerNotFound, v1alpha1.ReasonContainerAmbiguous, v1alpha1.ReasonProviderNotFound,
		v1alpha1.ReasonUnmanageableEnv, v1alpha1.ReasonSignalUnavailable, v1alpha1.ReasonSLOUnmeasured, v1alpha1.ReasonTooFewReplicas,
		v1alpha1.ReasonTooFewPods, v1alpha1.ReasonConflicted, v1alpha1.ReasonInvalidSpec:
		return true
	}
	return false
}

// TestI9Quiet: every reason for which no trial starts is reached, says what is the matter, touches no pod, and is written once.
func TestI9Quiet(t *testing.T) {
	for name, situation := range situations() {
		t.Run(name, func(t *testing.T) {
			w := situation.build(t)
			pods := w.versions()
			policy := w.rest()
			ready := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionReady)
			if ready == nil || ready.Reason != situation.reason || ready.Message == "" || !strings.Contains(ready.Message, situation.word) {
				t.Fatalf("Ready is %s, want %s", dump(ready), situation.reason)
			}
			if got := meta.IsStatusConditionTrue(policy.Status.Conditions, v1alpha1.ConditionStalled); got != stalledReason(situation.reason) {
				t.Errorf("Stalled is %t", got)
			}
			if policy.Status.ObservedGeneration != policy.Generation {
				t.Errorf("observedGeneration is %d, the generation %d", policy.Status.ObservedGeneration, policy.Generation)
			}
			for range 3 {
				w.pass(w.quietTurn())
			}
			if now := w.get(); now.ResourceVersion != policy.ResourceVersion {
				t.Errorf("an unchanged world made for a write: %s", dump(now.Status))
			}
			if !maps.Equal(pods, w.versions()) {
				t.Error("a pod was touched")
			}
			if len(w.recorder.events) > 0 {
				t.Errorf("events: %v", w.recorder.events)
			}
		})
	}
}

// quietTurn is a turn that asks for no hurry; it returns the wait.
func (w *world) quietTurn() time.Duration {
	w.t.Helper()
	result := w.mustTurn()
	if result.RequeueAfter < 10*time.Second {
		w.t.Errorf("with nothing to do it looks again after %s", result.RequeueAfter)
	}
	return result.RequeueAfter
}

func TestRecommendation(t *testing.T) {
	w := newWorld(t)
	w.deploy(6)
	w.policy(inMode(v1alpha1.ModeRecommend))
	w.pass(10 * time.Minute)
	pods := w.versions()
	first := w.rest().Status.Recommendation
	if first == nil || first.Settings.GOGC.IntValue() != 35 || !strings.Contains(first.Reason, "20%") {
		t.Fatalf("it recommends %s", dump(first))
	}
	keeps := func(what string) {
		t.Helper()
		w.pass(time.Minute)
		if got := w.rest().Status.Recommendation; dump(got) != dump(first) {
			t.Errorf("%s: it recommends %s", what, dump(got))
		}
	}
	measuring(func(p *signal.Pod) { p.GCCPUSeconds.Number *= 1.1 })(w)
	keeps("other figures")
	answering(errDown)(w)
	keeps("no data for now")
	answering(nil)(w)
	keeps("data again")
	w.edit(inMode(v1alpha1.ModeObserve))
	if got := w.rest(); got.Status.Recommendation != nil || len(got.Finalizers) > 0 {
		t.Errorf("in mode Observe: %s, finalizers %v", dump(got.Status.Recommendation), got.Finalizers)
	}
	if !maps.Equal(pods, w.versions()) {
		t.Error("a pod was touched")
	}
}
