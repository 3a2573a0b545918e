package controllers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
)

const (
	// firstRepair is the wait between two repairs; it doubles, up to mostRepair, while the successors come without the settings too.
	firstRepair = 30 * time.Second
	mostRepair  = 6 * time.Hour
)

// repairs remembers, for a policy, when a pod was last replaced by the drift sweep. It is memory only: a manager that restarts may
// try once more at once, no worse.
type repairs struct {
	mutex sync.Mutex
	last  map[types.NamespacedName]repair
}

type repair struct {
	at    time.Time
	delay time.Duration
}

func (r *repairs) forget(policy types.NamespacedName) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.last, policy)
}

// failed doubles the wait: a successor did not get on.
func (r *repairs) failed(policy types.NamespacedName, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if last, known := r.last[policy]; known {
		r.last[policy] = repair{at: now, delay: min(2*last.delay, mostRepair)}
	}
}

// due says whether a pod may be replaced now. Where a pod was born after the last repair and has not the settings either, admission
// does not work, and evicting more pods would only churn (as VPA's updater once did: kubernetes/autoscaler#2633).
func (r *repairs) due(policy types.NamespacedName, now time.Time, drifted []rollout.Pod) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.last == nil {
		r.last = map[types.NamespacedName]repair{}
	}
	last, known := r.last[policy]
	next := repair{at: now, delay: firstRepair}
	if known {
		for _, pod := range drifted {
			if !pod.CreatedAt.Before(last.at) { // in the same second, which is as exact as it gets, as well
				next.delay = min(2*last.delay, mostRepair)
			}
		}
		if now.Sub(last.at) < next.delay {
			return false
		}
	}
	r.last[policy] = next
	return true
}

// repair replaces, one at a time, pods that lack the settings they should have: they were born while admission was down. While a
// rollout replaces them anyway it leaves them alone, and while a pod is on its way it waits.
func (r *Reconciler) repair(ctx context.Context, p *pass) (*summary, error) {
	if p.policy.Spec.Mode != v1alpha1.ModeAuto || p.target.RollingOut || p.held() != "" || len(p.drifted()) == 0 {
		return nil, nil
	}
	repairing := underWay(v1alpha1.ReasonRepairing, "some pods lack the baseline settings: they were born while admission did not work, and are replaced one at a time")
	p.wait = min(p.wait, firstRepair)
	expectedOn := p.target.Footing
	if err := p.load(ctx, r.Server); err != nil {
		return nil, err
	}
	if p.refusal != nil || p.target.RollingOut || p.target.Scaling || p.target.Footing != expectedOn {
		return &repairing, nil
	}
	drifted := p.drifted()
	actions := rollout.Replace(p.view(), drifted)
	replaceable := slices.Concat(actions.Evict, actions.HandOver)
	if len(replaceable) == 0 || p.unsettledPods() || !r.repairs.due(p.name(), p.now, drifted) {
		return &repairing, nil
	}
	pod := replaceable[0] // those that are down come first
	p.decision.Actions = rollout.Actions{Evict: actions.Evict[:min(1, len(actions.Evict))]}
	if len(actions.Evict) == 0 {
		p.decision.HandOver = []rollout.Pod{pod}
	}
	p.repairing = &rollout.Event{Reason: v1alpha1.EventPodRepaired,
		Message: fmt.Sprintf("pod %s ran %q instead of %q and is replaced", pod.Name, pod.Settings.Canonical(), p.expected.Canonical())}
	return &repairing, nil
}

// drifted are the pods that the sweep replaces. Those that are older than a baseline which comes with the next rollout wait for that.
func (p *pass) drifted() []rollout.Pod {
	unlike, promotedAt := p.podsUnlike(p.expected), p.policy.Status.Baseline.PromotedAt
	if !p.plan.AtNextRollout || promotedAt == nil {
		return unlike
	}
	return slices.DeleteFunc(unlike, func(pod rollout.Pod) bool { return pod.CreatedAt.Before(promotedAt.Time) })
}
