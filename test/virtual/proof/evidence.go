package proof

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/internal/verdict"
	"github.com/gopacer/gopacer/test/virtual/cluster"
)

// passedStep says that a write of the status takes a trial to its next step, or to the promotion.
func passedStep(before, after *v1alpha1.RuntimeTuningPolicy) bool {
	was, is := before.Status.Trial, after.Status.Trial
	return was != nil && is != nil && was.Number == is.Number && was.Stage == v1alpha1.StageCanary &&
		(is.Step > was.Step || is.Stage == v1alpha1.StagePromoting)
}

// podWith is a living pod; nil where it is gone or going.
func (w *witness) podWith(uid types.UID) *corev1.Pod {
	for _, pod := range w.run.cluster.Pods() {
		if pod.UID == uid && pod.DeletionTimestamp == nil {
			return pod
		}
	}
	return nil
}

// checkEvidence is I2: a step passes only with a verdict of Pass, on pods that all have a slot, were really Ready before they counted as verified,
// run the candidate, and were warm for the step's hold. A promotion without a trial needs a person's approval.
func (w *witness) checkEvidence(p *pass, before, after *v1alpha1.RuntimeTuningPolicy) {
	was, is := before.Status.Trial, after.Status.Trial
	if was == nil && is != nil && is.Stage == v1alpha1.StagePromoting && before.Spec.Approved == nil {
		w.violate("I2", "trial %d begins with the promotion, and nobody approved it", is.Number)
	}
	if !passedStep(before, after) {
		return
	}
	now := p.manager.Now()
	steps := before.Spec.Rollout.Steps
	hold := steps[min(int(was.Step), len(steps)-1)].Hold.Duration
	switch {
	case is.Verdict == nil || is.Verdict.Outcome != v1alpha1.OutcomePass:
		w.violate("I2", "step %d passed with the verdict %+v", was.Step, is.Verdict)
	case was.VerifiedAt == nil || was.WarmAt == nil:
		w.violate("I2", "step %d passed before it was verified and warm", was.Step)
	case now.Sub(was.WarmAt.Time) < hold || was.WarmAt.Sub(was.VerifiedAt.Time) < before.Spec.Analysis.WarmUp.Duration:
		w.violate("I2", "step %d passed %s after its warm-up, which began at %s", was.Step, now.Sub(was.WarmAt.Time), was.VerifiedAt)
	case len(was.Slots) == 0:
		w.violate("I2", "step %d passed without a canary pod", was.Step)
	}
	for _, one := range was.Slots {
		w.checkCanary(was, one)
	}
}

// checkCanary of a step that passed.
func (w *witness) checkCanary(trial *v1alpha1.Trial, slot v1alpha1.Slot) {
	if slot.PodUID == "" {
		w.violate("I2", "step %d passed while slot %s was open", trial.Step, slot.ID)
		return
	}
	readyAt, wasReady := w.ready[slot.PodUID]
	verifiedAt := w.verifiedAt(trial)
	if !wasReady || readyAt.After(verifiedAt) {
		w.violate("I2", "step %d passed, and counts from %s on, when pod %s was not ready yet", trial.Step, verifiedAt, slot.PodName)
	}
	pod := w.podWith(slot.PodUID)
	if pod == nil {
		return // it went within the last seconds
	}
	runs, _ := settingsOf(pod)
	if known := w.slots[slot.ID]; known != nil && runs != known.candidate {
		w.violate("I2", "step %d passed, and pod %s runs %s", trial.Step, pod.Name, runs.Canonical())
	}
}

// verifiedAt is when the world saw the status say that the step is verified, in the world's own time.
func (w *witness) verifiedAt(trial *v1alpha1.Trial) (at timeOf) {
	for _, versions := range w.versions {
		for _, one := range versions {
			if shown := one.policy.Status.Trial; shown != nil && shown.Number == trial.Number && shown.Step == trial.Step &&
				shown.StartedAt.Equal(&trial.StartedAt) && shown.VerifiedAt != nil && shown.VerifiedAt.Equal(trial.VerifiedAt) {
				return one.at
			}
		}
	}
	return at
}

// unusable are faults of Prometheus that must never lead to a Pass. A lie can't be told from the truth.
var unusable = map[cluster.Shown]bool{
	cluster.Down: true, cluster.Silent: true, cluster.NaN: true, cluster.Partial: true, cluster.Stale: true, cluster.Missing: true, cluster.Nothing: true,
	cluster.Absent: true,
}

// checkNoDataNoPass is I4: in the pass in which a step passed, Prometheus answered with fresh, finite numbers of every pod that counts.
func (w *witness) checkNoDataNoPass(p *pass, before, after *v1alpha1.RuntimeTuningPolicy) {
	if !passedStep(before, after) {
		return
	}
	var names []string
	for _, one := range before.Status.Trial.Slots {
		names = append(names, one.PodName)
	}
	for _, one := range before.Status.Trial.Controls {
		names = append(names, one.PodName)
	}
	if len(p.windows) == 0 {
		w.violate("I4", "step %d passed without an answer of Prometheus", before.Status.Trial.Step)
	}
	for i := range p.windows {
		for _, name := range names {
			if why := unmeasured(&p.windows[i], name); why != "" {
				w.violate("I4", "step %d passed without data of pod %s: %s", before.Status.Trial.Step, name, why)
			}
		}
	}
}

// unmeasured says why a window tells nothing of a pod.
func unmeasured(window *signal.Window, name string) string {
	pod, ok := window.Pods[name]
	switch {
	case !ok:
		return "it is missing"
	case !pod.Fresh(window.MaxSampleAge(), verdict.MinCoverage):
		return "its samples are stale or few"
	case !pod.Requests.OK() || math.IsNaN(pod.Requests.Number) || pod.LatencyState != signal.Present:
		return "its requests are no numbers"
	case !pod.GCCPUSeconds.OK() || math.IsNaN(pod.GCCPUSeconds.Number):
		return "its CPU time is no number"
	}
	return ""
}
