package controllers

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/internal/rollout"
)

const (
	// firstAgain is the wait after an eviction was refused; it doubles up to lastAgain.
	firstAgain = 2 * time.Second
	lastAgain  = 30 * time.Second
	// blockedDeadline is how long a pod's eviction is refused until the policy says so: half of what a step has.
	blockedDeadline = rollout.ProgressDeadline / 2
)

// blockades remembers, for a policy, whose eviction is refused. It is memory only: a manager that restarts asks again at once, and begins to count
// anew.
type blockades struct {
	mutex sync.Mutex
	of    map[types.NamespacedName]map[types.UID]blockade
}

type blockade struct {
	since, last time.Time
	delay       time.Duration
	// because is what was answered first. Later answers have other figures, and each would be a write.
	because string
}

// due says whether to ask again.
func (b *blockades) due(policy types.NamespacedName, pod types.UID, now time.Time) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	known, blocked := b.of[policy][pod]
	return !blocked || now.Sub(known.last) >= known.delay
}

func (b *blockades) refused(policy types.NamespacedName, pod types.UID, now time.Time, because string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	known, blocked := b.of[policy][pod]
	if !blocked {
		known = blockade{since: now, delay: firstAgain / 2, because: because}
	}
	known.last, known.delay = now, min(2*known.delay, lastAgain)
	if b.of == nil {
		b.of = map[types.NamespacedName]map[types.UID]blockade{}
	}
	if b.of[policy] == nil {
		b.of[policy] = map[types.UID]blockade{}
	}
	b.of[policy][pod] = known
}

func (b *blockades) lifted(policy types.NamespacedName, pod types.UID) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	delete(b.of[policy], pod)
}

func (b *blockades) forget(policy types.NamespacedName) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	delete(b.of, policy)
}

// lasting tells of the pod whose eviction has been refused for the longest, once that is too long. Pods that are going or gone, and those that nobody
// has asked for in a while, are forgotten.
func (b *blockades) lasting(policy types.NamespacedName, pods []rollout.Pod, now time.Time) string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	there := map[types.UID]string{}
	for _, pod := range pods {
		if !pod.Terminating {
			there[pod.UID] = pod.Name
		}
	}
	var longest blockade
	name := ""
	for uid, known := range b.of[policy] {
		if there[uid] == "" || now.Sub(known.last) > 2*lastAgain {
			delete(b.of[policy], uid)
			continue
		}
		if now.Sub(known.since) >= blockedDeadline && (name == "" || known.since.Before(longest.since) || known.since.Equal(longest.since) && there[uid] < name) {
			longest, name = known, there[uid]
		}
	}
	if name == "" {
		return ""
	}
	return fmt.Sprintf("pod %s could not be evicted since %s: %s; let exactly one PodDisruptionBudget select the pod, and allow one pod to go, or delete the pod",
		name, longest.since.UTC().Format(time.RFC3339), longest.because)
}
