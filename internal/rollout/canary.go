package rollout

import (
	"fmt"
	"slices"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
)

// stopIfTargetMoved ends the trial where what it rests on has changed: another revision, other declared settings, another limit.
func (m *machine) stopIfTargetMoved() bool {
	if m.Revision != m.trial.Revision {
		return m.revert(v1alpha1.ReasonSuperseded, newRevision)
	}
	footing, err := settings.FootingFromAPI(m.trial.Footing)
	if err != nil || footing != m.Footing {
		return m.revert(v1alpha1.ReasonSuperseded, "the target's declared settings or memory limit changed")
	}
	if reason := m.Plan.Feasible(m.Replicas, m.Surge > 0); reason != "" {
		return m.revert(v1alpha1.ReasonSuperseded, "the target was scaled down: "+reason)
	}
	return false
}

// canaries are the pods that took a slot, controls those they are compared with. A pod of a verified step is known to have been ready.
func (m *machine) canaries() []Pod {
	return m.pick(func(pod Pod) bool { return m.slotOf(pod) != nil })
}

func (m *machine) controls() []Pod { return m.pick(m.isControl) }

func (m *machine) isControl(pod Pod) bool {
	return slices.ContainsFunc(m.trial.Controls, func(control v1alpha1.CohortPod) bool { return control.PodUID == pod.UID })
}

func (m *machine) pick(in func(Pod) bool) []Pod {
	var pods []Pod
	for _, pod := range m.Pods {
		if in(pod) && !pod.Terminating {
			pods = append(pods, pod)
		}
	}
	return pods
}

// MemberOf is a pod as a verdict sees it.
func MemberOf(pod Pod) verdict.Member {
	return verdict.Member{
		Name: pod.Name, Node: pod.Node, CreatedAt: pod.CreatedAt, FirstReadyAt: pod.FirstReadyAt, MemoryLimitBytes: pod.MemoryLimitBytes, Health: pod.Health,
	}
}

func (m *machine) members(pods []Pod) []verdict.Member {
	members := make([]verdict.Member, 0, len(pods))
	for _, pod := range pods {
		member := MemberOf(pod)
		member.WasReady = member.Ready || m.wasReady(pod)
		members = append(members, member)
	}
	return members
}

// wasReady says that a pod is known to have been ready: all canary and control pods were when the step was verified, and all pods of the
// waves when those came to their end. A pod that started since, for an autoscaler or another's sake, is only starting.
func (m *machine) wasReady(pod Pod) bool {
	if m.trial.Stage != v1alpha1.StagePromoting {
		return m.trial.VerifiedAt != nil
	}
	return m.slotOf(pod) != nil || m.trial.VerifiedAt != nil && pod.CreatedAt.Before(m.trial.VerifiedAt.Time)
}

// revertOnHarm asks the guardrails of the Kubernetes API, from the first canary pod on, warm-up or not.
func (m *machine) revertOnHarm() bool {
	return m.revertIfHarmed(m.canaries(), m.controls())
}

func (m *machine) revertIfHarmed(tuned, compared []Pod) bool {
	health := verdict.JudgeHealth(m.Now, m.members(tuned), m.members(compared))
	if health.Outcome != v1alpha1.OutcomeFail {
		return false
	}
	m.trial.Verdict = &health
	return m.revert(health.Reason, health.Message)
}

// verify waits until the processes themselves show the candidate. The pod's environment is no proof: an app may override it in code.
func (m *machine) verify() bool {
	waiting := "Prometheus gave no answer"
	if m.Recent != nil {
		waiting = ""
		for _, pod := range m.canaries() {
			applied, message := verdict.SettingsOf(m.Recent.Pods[pod.Name], m.Recent.MaxSampleAge(), m.candidate, pod.CreatedAt)
			switch applied {
			case verdict.Overridden:
				return m.revert(v1alpha1.ReasonNotApplied, fmt.Sprintf("canary pod %s: %s", pod.Name, message))
			case verdict.Unseen:
				waiting = fmt.Sprintf("canary pod %s: %s", pod.Name, message)
			}
		}
	}
	switch {
	case m.trial.VerifiedAt != nil:
		return false
	case waiting == "":
		now := m.now()
		m.trial.VerifiedAt = &now
		m.changed()
		return true
	case m.overdue() && !m.Hold:
		return m.revert(v1alpha1.ReasonNoData, fmt.Sprintf("after %s the pods of step %d are not verified: %s", ProgressDeadline, m.trial.Step+1, waiting))
	}
	return m.wait()
}

// warmUp waits until the processes are in their stride. Caches and heap of a young process say nothing of the candidate.
func (m *machine) warmUp() bool {
	if m.trial.WarmAt != nil {
		return false
	}
	elapsed := m.Now.Sub(m.trial.VerifiedAt.Time)
	if elapsed < m.Plan.WarmUp || elapsed < MaxWarmUp && !m.haveCollected() {
		return true
	}
	now := m.now()
	m.trial.WarmAt = &now
	m.changed()
	return true
}

func (m *machine) haveCollected() bool {
	if m.Recent == nil {
		return false
	}
	for _, pod := range slices.Concat(m.canaries(), m.controls()) {
		if cycles := m.Recent.Pods[pod.Name].GCCyclesTotal; !cycles.OK() || cycles.Number < WarmUpGCCycles {
			return false
		}
	}
	return true
}
