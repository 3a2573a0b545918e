//go:build e2e

package e2e_test

import (
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/test/stage"
)

// admissionBound is how long a request that the API server has let in may take until its pod is there.
const admissionBound = 34 * time.Second

// transition is where a trial stood.
type transition struct {
	number int64
	stage  v1alpha1.Stage
	step   int32
}

// watched is what the watcher knows of a scene.
type watched struct {
	mutex *sync.Mutex
	// untouchable says that no pod may be replaced or marked.
	untouchable bool
	// pardoned says that the test itself takes pods down.
	pardoned bool
	// replicas of the service.
	replicas int

	pods        map[string]*corev1.Pod
	generations map[string]int64
	policy      *v1alpha1.RuntimeTuningPolicy
	// rejected are settings that no pod may start with any more, and since when.
	rejected    map[string]time.Time
	transitions []transition
	// restarts counts steps that were verified and began anew.
	restarts   int
	violations []string
}

func (w *watched) set(change func(w *watched)) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	change(w)
}

// protect says that from now on no pod may be replaced or marked.
func (w *watched) protect() { w.set(func(w *watched) { w.untouchable = true }) }

// pardon says whether the test itself takes pods down.
func (w *watched) pardon(pardoned bool) { w.set(func(w *watched) { w.pardoned = pardoned }) }

// seen returns where the trials stood, in order, and how many steps began anew.
func (w *watched) seen() (transitions []transition, restarts int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Clone(w.transitions), w.restarts
}

func (w *watched) violate(format string, values ...any) {
	violation := fmt.Sprintf(format, values...)
	if !slices.Contains(w.violations, violation) {
		w.violations = append(w.violations, violation)
	}
}

// look holds one change against the invariants.
func (w *watched) look(one change) {
	switch object := one.object.(type) {
	case *corev1.Pod:
		w.lookAtPod(object, one.gone)
	case *appsv1.Deployment:
		w.lookAtDeployment(object)
	case *v1alpha1.RuntimeTuningPolicy:
		w.lookAtPolicy(object)
	}
	w.checkBound()
}

func (w *watched) lookAtDeployment(deployment *appsv1.Deployment) {
	before, known := w.generations[deployment.Name]
	if known && before != deployment.Generation && !w.pardoned {
		w.violate("I7 Scope: the spec of Deployment %s was changed", deployment.Name)
	}
	w.generations[deployment.Name] = deployment.Generation
	for _, entry := range deployment.ManagedFields {
		if entry.Manager == "gopacer" {
			w.violate("I7 Scope: gopacer owns fields of Deployment %s", deployment.Name)
		}
	}
}

func (w *watched) lookAtPolicy(policy *v1alpha1.RuntimeTuningPolicy) {
	var before *v1alpha1.Trial
	if w.policy != nil {
		before = w.policy.Status.Trial
	}
	w.policy = policy
	w.lookAtEnded(policy.Status.History)
	trial := policy.Status.Trial
	if trial == nil {
		return
	}
	candidate, err := settings.FromAPI(trial.Candidate)
	switch {
	case err != nil:
		w.violate("the candidate of trial %d can't be read: %v", trial.Number, err)
	case isBaseline(trial.Candidate, trial.Previous):
	case trial.End != nil:
		w.rejected[candidate.Canonical()] = trial.End.At.Time
	default:
		delete(w.rejected, candidate.Canonical())
	}
	now := transition{trial.Number, trial.Stage, trial.Step}
	if len(w.transitions) > 0 && w.transitions[len(w.transitions)-1] == now {
		if before != nil && before.VerifiedAt != nil && trial.VerifiedAt == nil {
			w.restarts++
		}
		return
	}
	w.transitions = append(w.transitions, now)
	if trial.Stage == v1alpha1.StagePromoting {
		w.lookAtPromotion(policy)
	}
}

// lookAtEnded keeps which candidates no pod may have any more, whether they failed or were only measured. The last word counts.
func (w *watched) lookAtEnded(history []v1alpha1.TrialRecord) {
	for _, record := range slices.Backward(history) {
		candidate, err := settings.FromAPI(record.Candidate)
		switch {
		case err != nil, record.Previous != nil && isBaseline(record.Candidate, *record.Previous):
		case record.Result == v1alpha1.TrialPromoted:
			delete(w.rejected, candidate.Canonical())
		default:
			w.rejected[candidate.Canonical()] = record.EndedAt.Time
		}
	}
}

// isBaseline says that a trial compares the baseline with itself, or measures it: every pod runs its candidate then, and may.
func isBaseline(candidate v1alpha1.RuntimeSettings, baseline v1alpha1.Baseline) bool {
	return equality.Semantic.DeepEqual(candidate, baseline.Settings)
}

// lookAtPromotion is I2: a verdict, or a person's word for a recommendation that has one.
func (w *watched) lookAtPromotion(policy *v1alpha1.RuntimeTuningPolicy) {
	trial, recommendation := policy.Status.Trial, policy.Status.Recommendation
	approved := policy.Spec.Approved != nil && equality.Semantic.DeepEqual(*policy.Spec.Approved, trial.Candidate) &&
		recommendation != nil && recommendation.Verdict != nil
	passed := trial.Verdict != nil && trial.Verdict.Outcome == v1alpha1.OutcomePass
	switch {
	case trial.Purpose != "" && trial.Purpose != v1alpha1.PurposePromote:
		w.violate("I2 Evidence: trial %d is promoted, though its purpose is %s", trial.Number, trial.Purpose)
	case !approved && !passed:
		w.violate("I2 Evidence: trial %d is promoted with the verdict %+v", trial.Number, trial.Verdict)
	}
}

func (w *watched) lookAtPod(pod *corev1.Pod, gone bool) {
	before := w.pods[pod.Name]
	w.lookAtScope(before, pod, gone)
	if isTarget(pod) {
		w.lookAtStart(before, pod)
		w.lookAtEviction(before, pod)
	}
	if gone {
		delete(w.pods, pod.Name)
	} else {
		w.pods[pod.Name] = pod
	}
}

// isTarget says that a pod is one of the service under test.
func isTarget(pod *corev1.Pod) bool { return pod.Labels["app"] == stage.WorkloadDeployment }

// lookAtScope: what is no target is never marked and never taken down, and neither is a target that nothing may touch.
func (w *watched) lookAtScope(before, pod *corev1.Pod, gone bool) {
	if isTarget(pod) && !w.untouchable || w.pardoned {
		return
	}
	if before != nil && before.DeletionTimestamp == nil && (gone || pod.DeletionTimestamp != nil) {
		w.violate("I7 Scope: pod %s was taken down", pod.Name)
	}
	if pod.Labels[v1alpha1.LabelPolicy] != "" || pod.Labels[v1alpha1.LabelCohort] != "" || pod.Annotations[v1alpha1.AnnotationSettings] != "" {
		w.violate("I7 Scope: pod %s was marked", pod.Name)
	}
}

// lookAtStart: no pod starts with a rejected candidate once those are over that were under way when its slots closed.
func (w *watched) lookAtStart(before, pod *corev1.Pod) {
	if before != nil {
		return
	}
	running, err := settingsOf(pod)
	if err != nil {
		w.violate("pod %s: %v", pod.Name, err)
		return
	}
	if since, rejected := w.rejected[running.Canonical()]; rejected && pod.CreationTimestamp.Sub(since) > admissionBound {
		w.violate("I1 CanaryBound: pod %s started with %s, %s after its slots closed", pod.Name, running.Canonical(), pod.CreationTimestamp.Sub(since))
	}
}

// seenWithin is how old what a decision rests on may be. A pod that crashes again and again is ready for a moment each time: whoever takes it
// down may have seen it while it was not.
const seenWithin = 2 * time.Second

// lookAtEviction: a ready pod goes only where the others are enough.
func (w *watched) lookAtEviction(before, pod *corev1.Pod) {
	evicted := pod.DeletionTimestamp != nil && before != nil && before.DeletionTimestamp == nil && isReady(before)
	if !evicted || w.policy == nil || w.pardoned || evictedAt(pod).Sub(readySince(before)) < seenWithin {
		return
	}
	ready := 0
	for _, other := range w.pods {
		if isTarget(other) && other.Name != pod.Name && other.DeletionTimestamp == nil && isReady(other) {
			ready++
		}
	}
	if most := w.policy.Spec.Rollout.MaxUnavailable.IntValue(); w.replicas-ready > most {
		w.violate("I6 Availability: when pod %s went, %d of %d pods were ready, with maxUnavailable %d", pod.Name, ready, w.replicas, most)
	}
}

// evictedAt is when the deletion was asked for: the time in the metadata is that at which the grace period ends.
func evictedAt(pod *corev1.Pod) time.Time {
	return pod.DeletionTimestamp.Add(-time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second)
}

// checkBound is I1: as many pods with the candidate as the step allows, and no more.
func (w *watched) checkBound() {
	if w.policy == nil || w.policy.Status.Trial == nil || w.wasPromoted(w.policy.Status.Trial.Number) {
		return
	}
	trial := w.policy.Status.Trial
	candidate, err := settings.FromAPI(trial.Candidate)
	if err != nil {
		return
	}
	allowed := 0
	for i, step := range w.policy.Spec.Rollout.Steps {
		if i <= int(trial.Step) {
			allowed = max(allowed, step.Canary.IntValue())
		}
	}
	count := 0
	for _, pod := range w.pods {
		if isTarget(pod) && pod.DeletionTimestamp == nil && isCanary(pod, trial, candidate) {
			count++
		}
	}
	if count > allowed {
		w.violate("I1 CanaryBound: %d pods run the candidate in step %d, which allows %d", count, trial.Step, allowed)
	}
}

// isCanary says that a pod runs the candidate. Where that is the baseline, which every pod runs, those count that took a slot.
func isCanary(pod *corev1.Pod, trial *v1alpha1.Trial, candidate settings.Settings) bool {
	if isBaseline(trial.Candidate, trial.Previous) {
		return slices.ContainsFunc(trial.Slots, func(slot v1alpha1.Slot) bool { return slot.PodUID == pod.UID })
	}
	running, err := settingsOf(pod)
	return err == nil && running == candidate
}

// wasPromoted says that a trial came through its steps: all pods may have the candidate from then on.
func (w *watched) wasPromoted(number int64) bool {
	return slices.ContainsFunc(w.transitions, func(seen transition) bool {
		return seen.number == number && seen.stage == v1alpha1.StagePromoting
	})
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
