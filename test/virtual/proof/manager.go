package proof

import (
	"errors"
	"fmt"
	"time"

	instrument "github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/controllers"
	"github.com/gopacer/gopacer/internal/admission"
	"github.com/gopacer/gopacer/internal/workload"
	"github.com/gopacer/gopacer/test/virtual/api"
	"github.com/gopacer/gopacer/test/virtual/cluster"
)

var errKilled = errors.New("the manager is dead")

const (
	// firstRetry and lastRetry bound the wait after an error, as in controllers.SetupWithManager.
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// manager is a process of gopacer that holds the lease, or believes so.
type manager struct {
	run        *run
	name       string
	reconciler *controllers.Reconciler
	skew       time.Duration // of its clock
	dead       bool
	due        map[types.NamespacedName]time.Time
	busy       map[types.NamespacedName]bool
	failures   map[types.NamespacedName]int
	pass       *pass
}

// Now implements clock.PassiveClock.
func (m *manager) Now() time.Time { return m.run.cluster.Now().Add(m.skew) }

// Since implements clock.PassiveClock.
func (m *manager) Since(at time.Time) time.Duration { return m.Now().Sub(at) }

// startManager starts a process. All that it knows is in the cluster.
func (r *run) startManager() *manager {
	m := &manager{
		run: r, name: fmt.Sprintf("manager-%d", len(r.managers)+1), due: map[types.NamespacedName]time.Time{}, busy: map[types.NamespacedName]bool{},
		failures: map[types.NamespacedName]int{},
	}
	server, cached := r.cluster.Server.Client(m.name), r.cluster.Server.Client(m.name)
	server.Through, cached.Through = m.through, m.through
	cached.Cache = r.cluster.Server.NewCache(r.lag)
	metrics, err := controllers.NewMetrics(instrument.NewRegistry())
	if err != nil {
		panic(err) // a new registry refuses nothing
	}
	m.reconciler = &controllers.Reconciler{
		Client: r.Sabotage.client(cached), Server: r.Sabotage.reader(server), Policies: admission.ClusterPolicies{Cache: cached, Server: server},
		Observer: r.Sabotage.observer(observer{m}), Events: silent{}, Metrics: metrics, Clock: m,
	}
	r.managers = append(r.managers, m)
	for _, object := range r.cluster.Server.All(cluster.PolicyKind) {
		m.enqueue(client.ObjectKeyFromObject(object), r.between(0, time.Second))
	}
	return m
}

// lag of the caches.
func (r *run) lag(schema.GroupVersionKind) time.Duration {
	return 20*time.Millisecond + r.weather.lag
}

// silent takes events and says nothing.
type silent struct{}

func (silent) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// heard is what the watches make of a change; controllers.SetupWithManager says which changes are looked at.
func (m *manager) heard(event api.Event) {
	if m.dead {
		return
	}
	switch event.Kind {
	case cluster.PolicyKind:
		if event.Before == nil || event.After == nil || event.Before.GetGeneration() != event.After.GetGeneration() {
			m.notice(event.Key)
		}
	case cluster.DeploymentKind:
		if event.Before == nil || event.After == nil || event.Before.GetGeneration() != event.After.GetGeneration() {
			m.noticePolicies(func(*v1alpha1.RuntimeTuningPolicy) bool { return true })
		}
	case cluster.PodKind:
		m.noticePolicies(func(policy *v1alpha1.RuntimeTuningPolicy) bool {
			return policy.Status.Trial != nil || policy.DeletionTimestamp != nil
		})
	}
}

func (m *manager) noticePolicies(concerned func(*v1alpha1.RuntimeTuningPolicy) bool) {
	for _, object := range m.run.cluster.Server.All(cluster.PolicyKind) {
		if policy := object.(*v1alpha1.RuntimeTuningPolicy); concerned(policy) && policy.Spec.TargetRef.Kind == workload.KindDeployment {
			m.notice(client.ObjectKeyFromObject(policy))
		}
	}
}

// notice of a change comes after a while, sometimes late, and sometimes twice.
func (m *manager) notice(key types.NamespacedName) {
	r := m.run
	wait := r.lag(cluster.PodKind) + r.between(0, 50*time.Millisecond)
	if r.busy && r.chance(r.scenario.lateEvents) {
		r.count("late event")
		wait += r.between(time.Second, 20*time.Second)
	}
	m.enqueue(key, wait)
	if r.busy && r.chance(r.scenario.lateEvents) {
		r.count("duplicate event")
		r.cluster.After(r.between(0, 5*time.Second), func() { m.enqueue(key, 0) })
	}
}

// enqueue is the work queue: what is asked for soonest counts.
func (m *manager) enqueue(key types.NamespacedName, wait time.Duration) {
	at := m.run.cluster.Now().Add(wait)
	if due, ok := m.due[key]; ok && !due.After(at) {
		return
	}
	m.due[key] = at
	m.run.cluster.After(wait, func() { m.turn(key) })
}

// turn is one look of the reconciler, where one is due.
func (m *manager) turn(key types.NamespacedName) {
	due, ok := m.due[key]
	if m.dead || !ok || due.After(m.run.cluster.Now()) {
		return
	}
	delete(m.due, key)
	if m.busy[key] {
		m.enqueue(key, 50*time.Millisecond)
		return
	}
	m.run.spoilNumbers()
	m.run.deploy()
	m.busy[key] = true
	outer := m.pass // a pass over another policy, which waits for an answer
	m.pass = &pass{manager: m, key: key, startedAt: m.run.cluster.Now()}
	result, err := m.reconciler.Reconcile(m.run.ctx, ctrl.Request{NamespacedName: key})
	this := m.pass
	m.pass, m.busy[key] = outer, false
	m.run.passes++
	if m.dead {
		return
	}
	m.run.witness.passed(this, err)
	switch {
	case err != nil:
		m.run.tell("%s: %v", m.name, err)
		wait := lastRetry
		if m.failures[key] < 10 {
			wait = min(lastRetry, firstRetry<<m.failures[key])
		}
		m.failures[key]++
		m.enqueue(key, wait)
	case result.RequeueAfter > 0:
		m.failures[key] = 0
		m.enqueue(key, result.RequeueAfter)
	default:
		m.failures[key] = 0
	}
}

// die ends the process; another takes its place unless one runs already.
func (m *manager) die(after time.Duration) {
	if m.dead {
		return
	}
	m.dead = true
	m.run.tell("%s dies", m.name)
	m.run.cluster.After(after, func() {
		if len(m.run.living()) == 0 {
			m.run.startManager()
		}
	})
}

func (r *run) living() []*manager {
	var living []*manager
	for _, m := range r.managers {
		if !m.dead {
			living = append(living, m)
		}
	}
	return living
}
