package proof

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/signal"
	"github.com/gopacer/gopacer/test/virtual/api"
	"github.com/gopacer/gopacer/test/virtual/cluster"
)

// Violation of an invariant.
type Violation struct {
	Invariant, Message string
	At                 time.Duration
}

// pass is one look of a manager's: what it read, measured and wrote.
type pass struct {
	manager   *manager
	key       types.NamespacedName
	startedAt time.Time
	// policy and pods as it last read them from the API server; read is the server's version at that time.
	policy  *v1alpha1.RuntimeTuningPolicy
	pods    []*corev1.Pod
	read    int64
	readAt  time.Time
	windows []signal.Window
	wrote   bool // a status
	refused bool // a write of it
}

// note keeps what a call read or wrote.
func (p *pass) note(call *api.Call, err error) {
	run := p.manager.run
	switch {
	case err != nil:
		p.refused = p.refused || call.IsWrite() && call.Kind == cluster.PolicyKind
	case call.Verb == "get" && call.Kind == cluster.PolicyKind && call.Key == p.key:
		p.policy = call.Found[0].(*v1alpha1.RuntimeTuningPolicy)
	case call.Verb == "list" && call.Kind == cluster.PodKind:
		p.pods, p.read, p.readAt = nil, run.cluster.Server.Version(), run.cluster.Now()
		for _, object := range call.Found {
			p.pods = append(p.pods, object.(*corev1.Pod))
		}
	case call.IsWrite() && call.Kind == cluster.PolicyKind && call.Subresource == "status":
		p.wrote = true
	}
}

// version of a policy's status, and since when it held.
type version struct {
	at      time.Time
	manager string
	skew    time.Duration
	policy  *v1alpha1.RuntimeTuningPolicy
}

// witness holds what happens against the invariants, from the outside: by what is stored, by the requests that are made, and by what was answered.
type witness struct {
	run         *run
	found       []Violation
	reported    map[string]bool
	transitions map[Transition]int
	endings     map[string]int
	// versions of each policy's status, by its UID.
	versions map[types.UID][]version
	slots    map[string]*slot
	spent    map[types.UID]map[int64]bool // trials that have ended
	born     map[types.UID]time.Time
	// ready is when each pod was first Ready.
	ready map[types.UID]time.Time
	// evicted by gopacer: the pods that were Ready then, and when.
	evicted     []evicted
	latestWrite time.Time
	latestWhat  string
	revisions   map[types.UID]string // of the target's ReplicaSets, also of those that are gone
}

type evicted struct {
	uid types.UID
	at  time.Time
}

func newWitness(r *run) *witness {
	return &witness{
		run: r, reported: map[string]bool{}, transitions: map[Transition]int{}, endings: map[string]int{}, versions: map[types.UID][]version{},
		slots: map[string]*slot{}, spent: map[types.UID]map[int64]bool{}, born: map[types.UID]time.Time{}, ready: map[types.UID]time.Time{},
		revisions: map[types.UID]string{}, latestWrite: r.cluster.Now(),
	}
}

// violate reports the first violation of each invariant in a run.
func (w *witness) violate(invariant, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	w.run.tell("VIOLATED %s: %s", invariant, message)
	if w.reported[invariant] {
		return
	}
	w.reported[invariant] = true
	if invariant == w.run.Until {
		w.run.cluster.Stop()
	}
	w.found = append(w.found, Violation{invariant, message, w.run.cluster.Now().Sub(cluster.Epoch)})
}

// see looks at a change in the store.
func (w *witness) see(event api.Event) {
	switch event.Kind {
	case cluster.PodKind:
		w.seePod(event)
	case cluster.PolicyKind:
		w.seePolicy(event)
	case cluster.ReplicaSetKind:
		if event.After != nil {
			w.revisions[event.After.GetUID()] = event.After.GetName()
		}
	}
}

func (w *witness) seePod(event api.Event) {
	if event.After == nil {
		return
	}
	pod := event.After.(*corev1.Pod)
	if event.Before == nil {
		w.born[pod.UID] = event.At
		w.checkCanaryBound(pod)
	}
	if _, known := w.ready[pod.UID]; !known && api.Ready(pod) {
		w.ready[pod.UID] = event.At
	}
}

func (w *witness) seePolicy(event api.Event) {
	if event.After == nil {
		w.countTransition(event.Before.(*v1alpha1.RuntimeTuningPolicy), nil)
		return
	}
	after := event.After.(*v1alpha1.RuntimeTuningPolicy)
	var before *v1alpha1.RuntimeTuningPolicy
	if event.Before != nil {
		before = event.Before.(*v1alpha1.RuntimeTuningPolicy)
	}
	written := version{at: event.At, manager: event.Actor, policy: after}
	var by *pass
	for _, m := range w.run.managers {
		if m.name == event.Actor {
			written.skew, by = m.skew, m.pass
		}
	}
	if by != nil && before != nil {
		w.checkStatus(by, before, after)
	}
	w.versions[after.UID] = append(w.versions[after.UID], written)
	w.noteSlots(after)
	w.countTransition(before, after)
	w.story(before, after)
}

func (w *witness) story(before, after *v1alpha1.RuntimeTuningPolicy) {
	if w.run.Told != nil {
		w.run.tell("%s: %s", after.Name, describe(after))
	}
	_ = before
}

// checkStatus holds a write of the status against the one before.
func (w *witness) checkStatus(by *pass, before, after *v1alpha1.RuntimeTuningPolicy) {
	w.checkEvidence(by, before, after)
	w.checkNoDataNoPass(by, before, after)
	w.checkResume(by, before, after)
	w.checkReversible(after)
	w.checkSlotCount(by, before, after)
}

// called looks at a request of a manager's and its answer.
func (w *witness) called(p *pass, call *api.Call, err error) {
	if !call.IsWrite() {
		return
	}
	w.latestWrite, w.latestWhat = w.run.cluster.Now(), fmt.Sprintf("%s %s", call, call.Key.Name)
	w.checkResourceVersion(call)
	w.checkScope(p, call, err)
	if err == nil {
		w.checkAvailability(p, call)
	}
}

// passed looks at a pass that came to its end.
func (w *witness) passed(p *pass, err error) {
	if err == nil {
		w.checkFailFast(p)
	}
}
