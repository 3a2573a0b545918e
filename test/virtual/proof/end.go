package proof

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/test/virtual/api"
	"github.com/gopacer/gopacer/test/virtual/cluster"
)

// mostDown is maxUnavailable in pods; one may always be.
func mostDown(policy *v1alpha1.RuntimeTuningPolicy, replicas int) int {
	scaled, err := intstr.GetScaledValueFromIntOrPercent(policy.Spec.Rollout.MaxUnavailable, replicas, false)
	if err != nil {
		return 1
	}
	return max(1, scaled)
}

// atRest holds a world that has come to rest: no trial runs, every pod is up and runs what the status says, and nothing is left over.
func (w *witness) atRest() {
	policy := w.run.policy()
	if policy != nil && policy.Status.Trial != nil {
		w.violate("End", "the world is at rest in the middle of a trial: %s", describe(policy))
	}
	if policy != nil && policy.DeletionTimestamp != nil {
		w.violate("End", "the policy is never gone: %s", describe(policy))
	}
	deployment := w.run.target()
	if deployment == nil {
		return
	}
	declared, err := settings.FootingOf(&deployment.Spec.Template.Spec.Containers[0])
	if err != nil {
		return
	}
	up := 0
	for _, pod := range w.run.cluster.Pods() {
		if pod.DeletionTimestamp != nil || !w.ours(pod) {
			continue
		}
		if api.Ready(pod) {
			up++
		}
		w.checkAtRest(policy, pod, declared)
	}
	if up != int(*deployment.Spec.Replicas) {
		w.violate("End", "%d pods of %d are up", up, *deployment.Spec.Replicas)
	}
}

// checkAtRest holds one pod against the status, or against its template where there is none.
func (w *witness) checkAtRest(policy *v1alpha1.RuntimeTuningPolicy, pod *corev1.Pod, declared settings.Footing) {
	if owner := metav1.GetControllerOf(pod); owner == nil || owner.Kind != cluster.ReplicaSetKind.Kind {
		w.violate("End", "pod %s is still handed over", pod.Name)
	}
	if cohort := pod.Labels[v1alpha1.LabelCohort]; cohort == v1alpha1.CohortCanary && policy != nil {
		if baseline := policy.Status.Baseline; baseline == nil || baseline.Source != v1alpha1.BaselinePromoted {
			w.violate("End", "pod %s is still marked as %s", pod.Name, cohort)
		}
	}
	runs, ok := settingsOf(pod)
	_, given := pod.Annotations[v1alpha1.AnnotationSettings]
	if kept := w.run.scenario.policy.Spec.DeletionPolicy == v1alpha1.DeletionKeep; !ok || policy == nil && (kept || !given || w.run.orphaned) {
		return // without a policy, what another webhook did is nobody's to undo, nor is what pods have whose target was gone when the policy went
	}
	want := declared.Declared
	if policy != nil && policy.Status.Baseline != nil && policy.Status.Baseline.Source == v1alpha1.BaselinePromoted {
		if onThis, stands := settings.FromAPIOn(policy.Status.Baseline.Settings, policy.Status.Baseline.Footing, declared); stands {
			want = onThis
		}
	}
	if runs != want {
		w.violate("End", "pod %s runs %s, and the status says %s", pod.Name, runs.Canonical(), want.Canonical())
	}
}

// describe a policy in a line.
func describe(policy *v1alpha1.RuntimeTuningPolicy) string {
	ready := ""
	for _, condition := range policy.Status.Conditions {
		if condition.Type == v1alpha1.ConditionReady {
			ready = condition.Reason + ": " + condition.Message
		}
	}
	trial := policy.Status.Trial
	if trial == nil {
		return ready
	}
	end := ""
	if trial.End != nil {
		end = trial.End.Reason
	}
	return fmt.Sprintf("trial %d %s step %d verified %v warm %v slots %v controls %d %s (%s)", trial.Number, trial.Stage, trial.Step, trial.VerifiedAt != nil,
		trial.WarmAt != nil, trial.Slots, len(trial.Controls), end, ready)
}
