package proof

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/test/virtual/cluster"
)

// admissionLimit is how long after the slots closed the API server may store an admitted pod.
const admissionLimit = 34 * time.Second

// oldestCache is how far behind a webhook's cache may be: what it gives as baseline was the baseline so long ago at the most.
const oldestCache = 70 * time.Second

const slotIDLength = 8

// slot as it was shown in the status.
type slot struct {
	policy    types.UID
	trial     int64
	revision  types.UID
	candidate settings.Settings
	open      bool
	closedAt  time.Time
	holder    types.UID
	given     bool // it was listed, and is no longer
}

// settingsOf a pod's first container; false where they can't be read.
func settingsOf(pod *corev1.Pod) (settings.Settings, bool) {
	found, err := settings.Declared(&pod.Spec.Containers[0])
	return found, err == nil
}

// noteSlots keeps which slots are open, and since when they no longer are.
func (w *witness) noteSlots(policy *v1alpha1.RuntimeTuningPolicy) {
	listed := map[string]types.UID{}
	trial := policy.Status.Trial
	if trial != nil {
		for _, one := range trial.Slots {
			listed[one.ID] = one.PodUID
			if known := w.slots[one.ID]; known == nil {
				candidate, _ := settings.FromAPI(trial.Candidate)
				w.slots[one.ID] = &slot{policy: policy.UID, trial: trial.Number, revision: trial.Revision, candidate: candidate, open: true}
			}
		}
	}
	for id, known := range w.slots {
		if known.policy != policy.UID {
			continue
		}
		holder, there := listed[id]
		open := there && holder == "" && trial.Stage == v1alpha1.StageCanary && policy.DeletionTimestamp == nil
		if known.open && !open {
			known.closedAt = w.run.cluster.Now()
		}
		known.open = open
		known.given = known.given || !there
		if holder != "" {
			known.holder = holder
		}
	}
}

// checkCanaryBound is I1 for a pod that comes to life: what runs a candidate has a slot that was open within the time that the API server has, and
// is of the slot's revision. A slot's id is the end of a pod's name, so that one slot has one pod is the API server's to see to.
func (w *witness) checkCanaryBound(pod *corev1.Pod) {
	runs, ok := settingsOf(pod)
	if !ok || pod.Labels["app"] != targetName {
		return
	}
	now := w.run.cluster.Now()
	id := pod.Name[max(0, len(pod.Name)-slotIDLength):]
	known := w.slots[id]
	switch owner := metav1.GetControllerOf(pod); {
	case known == nil:
		if w.onTrial(runs) && !w.byRight(pod, runs) {
			w.violate("I1", "pod %s runs the candidate %s and has no slot", pod.Name, runs.Canonical())
		}
	case runs != known.candidate || w.byRight(pod, runs):
	case owner == nil || owner.UID != known.revision:
		w.violate("I1", "pod %s has slot %s, which is meant for another revision", pod.Name, id)
	case !known.open && now.Sub(known.closedAt) > admissionLimit:
		w.violate("I1", "pod %s came to life %s after its slot closed", pod.Name, now.Sub(known.closedAt))
	}
}

// onTrial says that the settings are, or were lately, a candidate.
func (w *witness) onTrial(runs settings.Settings) bool {
	for _, known := range w.slots {
		if known.candidate == runs {
			return true
		}
	}
	return false
}

// byRight says that a pod may run the settings without a trial: its template declares them, or they were the baseline lately.
func (w *witness) byRight(pod *corev1.Pod, runs settings.Settings) bool {
	owner := metav1.GetControllerOf(pod)
	for _, object := range w.run.cluster.Server.All(cluster.ReplicaSetKind) {
		if owner == nil || object.GetUID() != owner.UID {
			continue
		}
		if declared, err := settings.Declared(&templateOf(object).Spec.Containers[0]); err == nil && declared == runs {
			return true
		}
	}
	since := w.run.cluster.Now().Add(-admissionLimit - oldestCache)
	for _, versions := range w.versions {
		for i := len(versions) - 1; i >= 0; i-- {
			if baseline := versions[i].policy.Status.Baseline; baseline != nil && promotedOn(baseline, pod) == runs {
				return true
			}
			if versions[i].at.Before(since) {
				break
			}
		}
	}
	return false
}

// promotedOn is what a promoted baseline is on a pod; nothing where it is not promoted, or does not stand.
func promotedOn(baseline *v1alpha1.Baseline, pod *corev1.Pod) settings.Settings {
	if baseline.Source != v1alpha1.BaselinePromoted {
		return settings.Settings{}
	}
	promoted, err := settings.FromAPI(baseline.Settings)
	if err != nil || pod == nil {
		return settings.Settings{}
	}
	return promoted
}

// checkSlotCount is I1 for the status: no more slots than the step allows at a number of replicas that the target had while the pass lasted.
func (w *witness) checkSlotCount(p *pass, before, after *v1alpha1.RuntimeTuningPolicy) {
	trial := after.Status.Trial
	if trial == nil || trial.Stage != v1alpha1.StageCanary {
		return
	}
	had := 0
	if before.Status.Trial != nil && before.Status.Trial.Number == trial.Number {
		had = len(before.Status.Trial.Slots)
	}
	most := 0
	for _, replicas := range w.replicasSince(p.startedAt.Add(-time.Minute)) {
		most = max(most, allowed(after, int(trial.Step), replicas))
	}
	if len(trial.Slots) > max(most, had) {
		w.violate("I1", "trial %d has %d slots in step %d, and %d are allowed", trial.Number, len(trial.Slots), trial.Step, most)
	}
}

// allowed is the number of canary pods of a step, read from the spec.
func allowed(policy *v1alpha1.RuntimeTuningPolicy, step, replicas int) int {
	plan := rollout.Plan{}
	for _, one := range policy.Spec.Rollout.Steps {
		plan.Steps = append(plan.Steps, rollout.Step{Canary: one.Canary, Hold: one.Hold.Duration})
	}
	return plan.CanaryPods(step, replicas)
}

// replicasSince are all numbers of replicas that were asked for since a time.
func (w *witness) replicasSince(since time.Time) []int {
	var found []int
	if deployment := w.run.target(); deployment != nil {
		found = append(found, int(*deployment.Spec.Replicas))
	}
	log := w.run.cluster.Server.Log()
	for i := len(log) - 1; i >= 0 && log[i].At.After(since); i-- {
		if log[i].Kind == cluster.DeploymentKind && log[i].Before != nil {
			found = append(found, int(replicasOf(log[i].Before)))
		}
	}
	return found
}
