//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
	"github.com/gopacer/gopacer/test/stage"
)

// tunedGOGC is the next rung above what is declared: the first step of the Feedback strategy, and here the last.
const tunedGOGC = 35

// promotion lets the Feedback strategy find that a higher GOGC than the declared one is better. While the trial runs, another field manager applies
// the Deployment as a GitOps tool does.
func promotion(t *testing.T) {
	s := play(t, "promotion", stage.Workload{})
	wanted := spec()
	wanted.Knobs.GOGC = v1alpha1.GOGCKnob{Max: tunedGOGC}
	wanted.Rollout.Steps = []v1alpha1.Step{step(3, longHold)}
	s.create(wanted)
	s.awaitTrial("trial 1 to start", 1, startLimit, started)
	s.awaitTrial("the step to be judged", 1, endLimit, judged)
	s.applyTemplate()
	record := s.awaitEnd(1, v1alpha1.TrialPromoted, v1alpha1.ReasonPromoted)
	s.awaitEvents(v1alpha1.EventTrialStarted, v1alpha1.EventStepStarted, v1alpha1.EventStepPassed, v1alpha1.EventTrialPromoted)
	s.checkGain(record)

	tuned := s.checkPromoted(record)
	s.awaitPods(tuned, soonLimit)
	s.awaitGauge("go_gc_gogc_percent", tunedGOGC)
	t.Run("GOMEMLIMITInBytes", func(t *testing.T) { s.in(t).checkMemoryLimit(tuned) })
	s.checkTemplate()
	s.awaitReason(v1alpha1.ReasonTuned, soonLimit)
	s.checkTarget()
	s.checkQuiet()
}

// checkTarget wants status to say what was found of the service, of which the policy says nothing.
func (s *scene) checkTarget() {
	s.t.Helper()
	target := s.policy().Status.Target
	if target == nil || target.Latency != string(v1alpha1.LatencyPrometheusHTTP) || target.GoVersion != runtime.Version() {
		s.t.Errorf("status.target is %+v, want the preset %s and %s", target, v1alpha1.LatencyPrometheusHTTP, runtime.Version())
	}
}

// checkGain wants the promotion to rest on a measured gain, and returns what it left of the cost: 0.7 where that fell by 30%.
func (s *scene) checkGain(record *v1alpha1.TrialRecord) float64 {
	s.t.Helper()
	if record.Verdict == nil || record.Verdict.Outcome != v1alpha1.OutcomePass {
		s.t.Fatalf("the verdict of the promotion is %+v, want Pass", record.Verdict)
	}
	for _, check := range record.Verdict.Checks {
		if check.Name != "gain" || check.Outcome != v1alpha1.OutcomePass {
			continue
		}
		s.t.Logf("%s: %s", s.namespace, check.Message)
		effect, err := strconv.ParseFloat(strings.TrimSuffix(check.Effect, "%"), 64)
		if err != nil {
			s.t.Fatalf("read the effect %q: %v", check.Effect, err)
		}
		return 1 + effect/100
	}
	s.t.Fatalf("no check of the verdict shows a gain: %+v", record.Verdict.Checks)
	return 0
}

// checkPromoted wants the trial's candidate to be the baseline, and returns it.
func (s *scene) checkPromoted(record *v1alpha1.TrialRecord) settings.Settings {
	s.t.Helper()
	candidate, err := settings.FromAPI(record.Candidate)
	if err != nil {
		s.t.Fatal(err)
	}
	baseline := s.policy().Status.Baseline
	if baseline == nil || baseline.Source != v1alpha1.BaselinePromoted || baseline.PromotedAt == nil ||
		!equality.Semantic.DeepEqual(baseline.Settings, record.Candidate) {
		s.t.Fatalf("the baseline is %+v, want the promoted %s", baseline, candidate.Canonical())
	}
	return candidate
}

// checkMemoryLimit wants GOMEMLIMIT as a plain number of bytes, which alone every runtime reads, and in effect.
func (s *scene) checkMemoryLimit(tuned settings.Settings) {
	s.t.Helper()
	const ninetyPercent = 128 << 20 * 9 / 10
	if tuned.MemoryLimitBytes != ninetyPercent || tuned.GOGC != tunedGOGC {
		s.t.Fatalf("the promoted settings are %s, want GOGC=%d and 90%% of the memory limit, %d", tuned.Canonical(), tunedGOGC, ninetyPercent)
	}
	pods, err := s.pods(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, pod := range pods {
		value := ""
		for _, variable := range pod.Spec.Containers[0].Env {
			if variable.Name == settings.EnvGOMEMLIMIT {
				value = variable.Value
			}
		}
		if value != "120795955" {
			s.t.Errorf("pod %s has GOMEMLIMIT=%q, want 120795955", pod.Name, value)
		}
	}
	s.awaitGauge("go_gc_gomemlimit_bytes", ninetyPercent)
}

// applyTemplate applies the Deployment as it was declared, as another field manager that forces nothing: twice, as a tool does
// that looks again. That this ends no trial shows later.
func (s *scene) applyTemplate() {
	s.t.Helper()
	applied := s.deployment()
	before := applied.DeepCopy()
	applied.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	applied.ObjectMeta = metav1.ObjectMeta{Namespace: applied.Namespace, Name: applied.Name, Labels: applied.Labels}
	manifest, err := json.Marshal(map[string]any{
		"apiVersion": applied.APIVersion, "kind": applied.Kind, "metadata": applied.ObjectMeta, "spec": applied.Spec,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for range 2 {
		if _, err := s.kube.Run(s.t.Context(), string(manifest), "apply", "--server-side", "--field-manager", "gitops", "--filename", "-"); err != nil {
			s.t.Fatalf("apply the Deployment during a trial: %v", err)
		}
		after := s.deployment()
		if after.Generation != before.Generation || !equality.Semantic.DeepEqual(after.Spec, before.Spec) {
			s.t.Fatalf("the apply changed the Deployment from %+v to %+v: the live template is not the declared one", before.Spec, after.Spec)
		}
	}
}

// nullCandidate is a negative control: a candidate that is what is declared already is never tried.
func nullCandidate(t *testing.T) {
	s := play(t, "null", stage.Workload{Rate: 60})
	s.watched.protect()
	wanted := spec()
	wanted.Strategy = manual(declaredGOGC)
	s.create(wanted)
	s.awaitReason(v1alpha1.ReasonTuned, startLimit)
	s.checkUntried()
}

// noTraffic is a negative control: without load nothing can be judged, so that even a good candidate is not tried. The service had
// requests once, since it does not count what it never had.
func noTraffic(t *testing.T) {
	s := play(t, "quiet", stage.Workload{Rate: 5})
	s.awaitRequests("every pod to have had a request", func(requests map[string]float64) bool { return len(requests) == s.replicas })
	s.scaleLoad(0)
	s.watched.protect()
	s.awaitRequests("requests to be few", func(requests map[string]float64) bool {
		sum := 0.0
		for _, count := range requests {
			sum += count
		}
		return sum < verdict.MinRequests/2
	})
	wanted := spec()
	wanted.Strategy = manual(100)
	s.create(wanted)
	s.awaitReason(v1alpha1.ReasonNoTraffic, startLimit)
	s.checkUntried()
}

// awaitRequests waits for what a check wants of the requests of each pod, in a window as long as that of a target at rest.
func (s *scene) awaitRequests(what string, check func(requests map[string]float64) bool) {
	s.t.Helper()
	s.await(what, startLimit, func(ctx context.Context) error {
		requests, err := s.ask(ctx, fmt.Sprintf("sum by (pod) (increase(http_request_duration_seconds_count{namespace=%q}[%s]))", s.namespace, 10*interval))
		if err == nil && !check(requests) {
			err = fmt.Errorf("requests are %v", requests)
		}
		return err
	})
}

// scaleLoad starts or stops the load generator.
func (s *scene) scaleLoad(replicas int32) {
	s.t.Helper()
	s.watched.pardon(true)
	load := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: stage.LoadDeployment}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := s.client.Patch(s.t.Context(), load, patch); err != nil {
		s.t.Fatal(err)
	}
	if err := s.kube.AwaitDeployment(s.t.Context(), s.namespace, stage.LoadDeployment, readyLimit); err != nil {
		s.t.Fatal(err)
	}
	s.watcher.settle(s.t.Context())
	s.watched.pardon(false)
}

// checkUntried wants no trial to have started, and none to start within a few looks.
func (s *scene) checkUntried() {
	s.t.Helper()
	s.checkQuiet()
	status := s.policy().Status
	if status.Trials != 0 || status.Trial != nil || status.Baseline == nil || status.Baseline.Source != v1alpha1.BaselineDeclared {
		s.t.Errorf("status has %d trials and the baseline %+v, want none, and the declared one", status.Trials, status.Baseline)
	}
	s.awaitPods(declared(), soonLimit)
	s.checkTemplate()
}
