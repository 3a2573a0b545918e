// Package proof drives the real reconciler and the real admission handler through a virtual cluster in which everything goes wrong, and holds what
// they do against the invariants of the design. What a seed does is the same each time.
package proof

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/virtual/api"
	"github.com/gopacer/gopacer/test/virtual/cluster"
)

const (
	namespace  = "shop"
	targetName = "checkout"
	policyName = "checkout"
)

var policyKey = types.NamespacedName{Namespace: namespace, Name: policyName}

// Options of a run.
type Options struct {
	Seed uint64
	// Told, if set, is told the story.
	Told func(format string, args ...any)
	// Sabotage breaks the product, to see whether that is found.
	Sabotage Sabotage
	// Strike is one fault at one call of the manager's; the run is calm otherwise.
	Strike *Strike
	// Until is an invariant whose first violation ends the run; empty for none.
	Until string
}

// Strike is a fault at the call of a number, counted from 1 on.
type Strike struct {
	Fault Fault
	Call  int
}

// Outcome of a run.
type Outcome struct {
	Seed       uint64
	Violations []Violation
	// Faults that were injected and things that people did, by name.
	Faults map[string]int
	// Transitions that were taken, and how often.
	Transitions map[Transition]int
	// Endings of trials, by result and reason.
	Endings map[string]int
	// Trace is a digest of every change in the cluster.
	Trace string
	// Calls of managers to the API server, Passes of reconcilers, Handovers of pods from their ReplicaSets and back.
	Calls, Passes, Handovers int
	// Writes are the numbers of the calls that write.
	Writes []int
	// Lasted is the virtual time.
	Lasted time.Duration
}

// run is one seed.
type run struct {
	Options
	ctx      context.Context
	cluster  *cluster.Cluster
	random   *rand.Rand
	people   client.Client
	scenario scenario
	managers []*manager
	webhooks []*webhook
	witness  *witness
	trace    hash.Hash
	calls    int
	writes   []int
	passes   int
	handed   int
	depth    int // of calls that let time pass
	// busy says that faults are injected.
	busy     bool
	weather  weather
	faults   map[string]int
	handled  int // admissions
	deployed bool
	orphaned bool // the target was deleted once, and its pods were not
	promised map[types.UID]bool
}

// weather is how likely each call of a manager goes wrong, and how late things are, at the moment.
type weather struct {
	faults                     float64
	lag                        time.Duration
	webhookDown, webhookUndone bool
}

// Run plays a seed to its end.
func Run(options Options) Outcome {
	r := newRun(options)
	r.prepare()
	r.disturb()
	r.calm()
	r.settle()
	return r.outcome()
}

func newRun(options Options) *run {
	random := rand.New(rand.NewPCG(options.Seed, 0x70f))
	r := &run{
		Options: options, random: random, trace: sha256.New(), faults: map[string]int{}, ctx: logf.IntoContext(context.Background(), logr.Discard()),
		promised: map[types.UID]bool{},
	}
	r.scenario = newScenario(random, options.Strike != nil)
	r.cluster = cluster.New(options.Seed, r.scenario.habits)
	r.cluster.Told = r.clusterTold()
	r.cluster.Service = r.scenario.service
	r.cluster.Admit = r.admit
	r.people = r.cluster.Server.Client("people")
	r.witness = newWitness(r)
	r.cluster.Server.Tell(r.heard)
	return r
}

func (r *run) clusterTold() func(string, ...any) {
	if r.Told == nil {
		return nil
	}
	return func(format string, args ...any) { r.tell("  "+format, args...) }
}

func (r *run) tell(format string, args ...any) {
	if r.Told != nil {
		r.Told("%s %s", r.cluster.Now().Sub(cluster.Epoch).Truncate(time.Millisecond), fmt.Sprintf(format, args...))
	}
}

// heard notes a change, and wakes whoever watches for it.
func (r *run) heard(event api.Event) {
	verb := "changes"
	switch {
	case event.Before == nil:
		verb = "creates"
	case event.After == nil:
		verb = "removes"
	}
	fmt.Fprintf(r.trace, "%s %s %s %s %s\n", event.At, event.Actor, verb, event.Kind.Kind, event.Key)
	r.witness.see(event)
	for _, m := range r.managers {
		m.heard(event)
	}
}

func (r *run) chance(p float64) bool { return p > 0 && r.random.Float64() < p }

func (r *run) between(from, to time.Duration) time.Duration {
	if to <= from {
		return from
	}
	return from + time.Duration(r.random.Int64N(int64(to-from)))
}

func (r *run) count(fault string) { r.faults[fault]++ }

// policy is the policy as the API server has it; nil where there is none.
func (r *run) policy() *v1alpha1.RuntimeTuningPolicy {
	policy := &v1alpha1.RuntimeTuningPolicy{}
	if err := r.people.Get(r.ctx, policyKey, policy); err != nil {
		return nil
	}
	return policy
}

func (r *run) outcome() Outcome {
	return Outcome{
		Seed: r.Seed, Violations: r.witness.found, Faults: r.faults, Transitions: r.witness.transitions, Endings: r.witness.endings,
		Trace: fmt.Sprintf("%x", r.trace.Sum(nil)), Calls: r.calls, Writes: r.writes, Passes: r.passes, Handovers: r.handed, Lasted: r.cluster.Now().Sub(cluster.Epoch),
	}
}
