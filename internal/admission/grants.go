package admission

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// grantMemory is how long a grant is remembered: longer than a pod takes from admission to the manager's cache and back into status,
	// short enough to give the slot to another pod soon if the create failed after admission.
	grantMemory = 5 * time.Second
	// mostGrants bounds the memory. The largest trial has 500 slots.
	mostGrants = 2048
)

type grant struct {
	policy types.UID
	slot   string
}

// grants remembers the slots that this replica gave away moments ago. It only spares the ReplicaSet creates that fail because the name exists,
// and the backoff that follows; what bounds the canary pods is the name.
type grants struct {
	clock clock.PassiveClock
	mutex sync.Mutex
	until map[grant]time.Time
}

func newGrants(clock clock.PassiveClock) *grants {
	return &grants{clock: clock, until: map[grant]time.Time{}}
}

// claim gives a slot to the caller unless it was given away moments ago.
func (g *grants) claim(policy types.UID, slot string) bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	now := g.clock.Now()
	for key, until := range g.until {
		if !now.Before(until) {
			delete(g.until, key)
		}
	}
	key := grant{policy, slot}
	if _, taken := g.until[key]; taken || len(g.until) >= mostGrants {
		return false
	}
	g.until[key] = now.Add(grantMemory)
	return true
}
