package controllers

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/rollout"
)

// steadyFor is how long the number of replicas must stay the same before a trial starts: an autoscaler that looks every 15 seconds has then made
// up its mind (k8s.io/kubernetes, --horizontal-pod-autoscaler-sync-period).
const steadyFor = 2 * time.Minute

// sizes remembers, for a policy, how many replicas its target had, to tell one that keeps changing. It is memory only: a manager that starts
// anew takes the number that it finds for steady.
type sizes struct {
	mutex sync.Mutex
	of    map[types.NamespacedName]size
}

type size struct {
	replicas int32
	// changedAt is when the number last changed, since when it began to; both zero where it never did.
	changedAt, since time.Time
}

// saw gives since when the number of replicas keeps changing; the zero time where it is steady.
func (s *sizes) saw(policy types.NamespacedName, replicas int32, now time.Time) time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	last, known := s.of[policy]
	steady := last.changedAt.IsZero() || now.Sub(last.changedAt) >= steadyFor
	switch {
	case !known:
		last.replicas = replicas
	case last.replicas != replicas:
		if steady {
			last.since = now
		}
		last.replicas, last.changedAt, steady = replicas, now, false
	}
	if s.of == nil {
		s.of = map[types.NamespacedName]size{}
	}
	s.of[policy] = last
	if steady {
		return time.Time{}
	}
	return last.since
}

func (s *sizes) forget(policy types.NamespacedName) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.of, policy)
}

// waitForSteadyReplicas keeps a trial from starting on a target whose size changes all the time: its pods would come and go.
func (p *pass) waitForSteadyReplicas() *summary {
	if p.unsteadySince.IsZero() {
		return nil
	}
	message := fmt.Sprintf("the number of replicas keeps changing since %s: a trial starts once it has stayed the same for %s",
		p.unsteadySince.UTC().Format(time.RFC3339), steadyFor)
	if p.now.Sub(p.unsteadySince) >= rollout.ProgressDeadline {
		message += fmt.Sprintf("; that is for more than %s: see the target's autoscaler", rollout.ProgressDeadline)
	}
	waiting := underWay(v1alpha1.ReasonWaitingForStableReplicas, message)
	return &waiting
}

// waitForQuiet keeps a trial from starting on a target that is deployed so often that none comes to its end.
func (p *pass) waitForQuiet() *summary {
	if !rollout.DeploysTooFrequent(p.policy.Status.History, p.retried()) {
		return nil
	}
	deployed := time.Time{}
	for _, pod := range p.target.Pods {
		if pod.Revision == p.target.Revision && (deployed.IsZero() || pod.CreatedAt.Before(deployed)) {
			deployed = pod.CreatedAt
		}
	}
	length := p.plan.MinLength()
	quietAt := deployed.Add(length).Truncate(time.Second)
	if p.now.After(quietAt) {
		return nil
	}
	p.wait = min(p.wait, quietAt.Sub(p.now)+time.Second)
	frequent := unwell(v1alpha1.ReasonDeploysTooFrequent, fmt.Sprintf("a new revision of the target ended each of the last three trials. A trial takes %s at the least: "+
		"the next starts after %s, unless there is another deploy before; shorten hold in spec.rollout.steps or spec.analysis.warmUp, or set spec.schedule.windows to times without deploys",
		length, quietAt.UTC().Format(time.RFC3339)))
	return &frequent
}
