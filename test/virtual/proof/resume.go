package proof

import (
	"bytes"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/virtual/api"
	"github.com/gopacer/gopacer/test/virtual/cluster"
)

type timeOf = time.Time

// checkResume is I5: whoever writes the status, a trial goes through its steps one by one, never back and never twice; a slot's id is never used
// again; and each trial is recorded once.
func (w *witness) checkResume(p *pass, before, after *v1alpha1.RuntimeTuningPolicy) {
	if p.policy != nil && p.policy.ResourceVersion != before.ResourceVersion && statusOnly(before, after) && p.policy.UID == before.UID && !sameStatus(p.policy, before) {
		w.violate("I5", "%s wrote over a status that it had not read", p.manager.name)
	}
	was, is := before.Status.Trial, after.Status.Trial
	switch {
	case was == nil && is == nil:
	case was == nil:
		w.checkBegun(before, is)
	case is == nil || is.Number != was.Number:
		w.checkEnded(after, was)
		if is != nil {
			w.checkBegun(before, is)
		}
	default:
		w.checkContinued(was, is)
	}
}

func statusOnly(before, after *v1alpha1.RuntimeTuningPolicy) bool {
	return !equality.Semantic.DeepEqual(before.Status, after.Status)
}

func sameStatus(a, b *v1alpha1.RuntimeTuningPolicy) bool {
	return equality.Semantic.DeepEqual(a.Status, b.Status)
}

func (w *witness) checkBegun(before *v1alpha1.RuntimeTuningPolicy, trial *v1alpha1.Trial) {
	if trial.Number != before.Status.Trials+1 || w.spent[before.UID][trial.Number] {
		w.violate("I5", "trial %d begins after %d trials", trial.Number, before.Status.Trials)
	}
}

func (w *witness) checkEnded(after *v1alpha1.RuntimeTuningPolicy, trial *v1alpha1.Trial) {
	if w.spent[after.UID] == nil {
		w.spent[after.UID] = map[int64]bool{}
	}
	recorded := 0
	for _, record := range after.Status.History {
		if record.Number == trial.Number {
			recorded++
		}
	}
	if recorded != 1 || w.spent[after.UID][trial.Number] {
		w.violate("I5", "trial %d ended and is recorded %d times", trial.Number, recorded)
	}
	w.spent[after.UID][trial.Number] = true
	if len(after.Status.History) > 0 {
		record := after.Status.History[0]
		w.endings[string(record.Result)+" "+record.Reason]++
	}
}

func (w *witness) checkContinued(was, is *v1alpha1.Trial) {
	order := map[v1alpha1.Stage]int{v1alpha1.StageCanary: 0, v1alpha1.StagePromoting: 1, v1alpha1.StageReverting: 2}
	switch {
	case is.Step < was.Step || is.Step > was.Step+1:
		w.violate("I5", "trial %d goes from step %d to step %d", is.Number, was.Step, is.Step)
	case order[is.Stage] < order[was.Stage]:
		w.violate("I5", "trial %d goes from stage %s to stage %s", is.Number, was.Stage, is.Stage)
	case is.SlotsOpened < was.SlotsOpened || !is.StartedAt.Equal(&was.StartedAt):
		w.violate("I5", "trial %d opened %d slots, and then %d", is.Number, was.SlotsOpened, is.SlotsOpened)
	}
	held := map[string]types.UID{}
	for _, slot := range was.Slots {
		held[slot.ID] = slot.PodUID
	}
	for _, slot := range is.Slots {
		known := w.slots[slot.ID]
		holder, listed := held[slot.ID]
		switch {
		case listed && holder != "" && holder != slot.PodUID:
			w.violate("I5", "slot %s was taken by pod %s, and then by %s", slot.ID, holder, slot.PodUID)
		case !listed && known != nil:
			w.violate("I5", "slot %s is used again", slot.ID)
		}
	}
}

// checkResourceVersion is I5 for requests: a status is written only over the version that was read.
func (w *witness) checkResourceVersion(call *api.Call) {
	if call.Kind != cluster.PolicyKind || call.Subresource != "status" {
		return
	}
	if call.Verb == "update" && call.Object.GetResourceVersion() == "" || call.Verb == "patch" && !bytes.Contains(call.Patch, []byte(`"resourceVersion"`)) {
		w.violate("I5", "%s writes a status whatever it has become meanwhile", call.Actor)
	}
}

// checkReversible is I8: the status alone says what to go back to.
func (w *witness) checkReversible(after *v1alpha1.RuntimeTuningPolicy) {
	trial := after.Status.Trial
	if trial == nil {
		return
	}
	if after.Status.Baseline == nil || trial.Previous.Source == "" {
		w.violate("I8", "trial %d has no baseline to go back to", trial.Number)
		return
	}
	if trial.Stage != v1alpha1.StagePromoting && !equality.Semantic.DeepEqual(*after.Status.Baseline, trial.Previous) {
		w.violate("I8", "trial %d is in stage %s, and the baseline is not the one before it", trial.Number, trial.Stage)
	}
}

// checkFailFast is I3: a pass that reads that a canary pod was killed or restarted, or that a person wants the trial to end, leaves it in its
// revert, whatever Prometheus says.
func (w *witness) checkFailFast(p *pass) {
	policy := p.policy
	if policy == nil || policy.Status.Trial == nil || policy.Status.Trial.Stage != v1alpha1.StageCanary || p.refused {
		return
	}
	why := ""
	switch {
	case policy.DeletionTimestamp != nil:
		why = "the policy is being deleted"
	case policy.Spec.Suspend == v1alpha1.SuspendRevert:
		why = "spec.suspend is Revert"
	case policy.Spec.Mode != v1alpha1.ModeAuto:
		why = "spec.mode is not Auto"
	default:
		why = harmed(p)
	}
	if why == "" {
		return
	}
	for _, object := range w.run.cluster.Server.All(cluster.PolicyKind) {
		if now := object.(*v1alpha1.RuntimeTuningPolicy); now.UID == policy.UID && now.Status.Trial != nil && now.Status.Trial.Stage == v1alpha1.StageCanary {
			w.violate("I3", "%s, and trial %d does not go back", why, now.Status.Trial.Number)
		}
	}
}

// harmed names a canary pod that the pass saw killed or restarted.
func harmed(p *pass) string {
	for _, pod := range p.pods {
		for _, slot := range p.policy.Status.Trial.Slots {
			if slot.PodUID != pod.UID || pod.DeletionTimestamp != nil {
				continue
			}
			for _, status := range pod.Status.ContainerStatuses {
				if status.RestartCount > 0 {
					return "canary pod " + pod.Name + " restarted"
				}
			}
		}
	}
	return ""
}
