package controllers

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	instrument "github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/admission"
)

// world is a namespace of a real API server in which the test plays the controllers of workloads, the kubelet and Prometheus, under a
// clock of its own. New pods pass the real webhook's handler.
type world struct {
	t         *testing.T
	server    client.WithWatch
	namespace string
	clock     *clocktesting.FakePassiveClock
	handler   *admission.Handler
	// withoutAdmission lets new pods start as their template says.
	withoutAdmission bool
	// kubelet changes a pod's status once it is ready.
	kubelet func(*corev1.Pod)

	prometheus *scriptedPrometheus
	recorder   *recorder
	lens       *lens
	reconciler *Reconciler
	policyName string
}

const target = "checkout"

func newWorld(t *testing.T) *world {
	t.Helper()
	server, err := startServer()
	if err != nil {
		t.Fatal(err)
	}
	return newWorldOn(t, server)
}

// newWorldInMemory is many times as fast, for tests of many trials.
func newWorldInMemory(t *testing.T) *world {
	t.Helper()
	server := fake.NewClientBuilder().WithScheme(newScheme()).
		WithStatusSubresource(&v1alpha1.RuntimeTuningPolicy{}, &v1alpha1.RuntimeBaseline{}, &corev1.Pod{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}).
		WithIndex(&v1alpha1.RuntimeTuningPolicy{}, "spec.targetRef.name", func(object client.Object) []string {
			return []string{object.(*v1alpha1.RuntimeTuningPolicy).Spec.TargetRef.Name}
		}).Build()
	return newWorldOn(t, server)
}

func newWorldOn(t *testing.T, server client.WithWatch) *world {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-"}}
	if err := server.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	var err error
	w := &world{
		t: t, server: server, namespace: namespace.Name, policyName: "policy",
		clock: clocktesting.NewFakePassiveClock(time.Now().Truncate(time.Second).Add(time.Hour)), recorder: &recorder{},
	}
	w.lens = &lens{world: w, born: map[types.UID]time.Time{}, deleted: map[types.UID]time.Time{}}
	w.prometheus = &scriptedPrometheus{world: w}
	policies := admission.ClusterPolicies{Cache: w.client(), Server: w.client()}
	if w.handler, err = admission.NewHandler(policies, w.clock, instrument.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	w.restart()
	return w
}

// restart puts a new manager in the place of the old one: nothing but the cluster is left.
func (w *world) restart() {
	metrics, err := NewMetrics(instrument.NewRegistry())
	if err != nil {
		w.t.Fatal(err)
	}
	c := w.client()
	w.reconciler = &Reconciler{
		Client: c, Server: c, Policies: admission.ClusterPolicies{Cache: c, Server: c}, Observer: w.prometheus, Events: w.recorder,
		Metrics: metrics, Clock: w.clock,
	}
}

// create gives an object a UID, for a server that gives none.
func (w *world) create(object client.Object) error {
	object.SetUID(uuid.NewUUID())
	return w.server.Create(w.t.Context(), object)
}

func (w *world) client() client.Client { return w.lens.client(w.server) }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) pass(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

// deployment with its ReplicaSet and pods, all ready.
func (w *world) deploy(replicas int32, containers ...corev1.Container) {
	w.t.Helper()
	w.deployment(target, replicas, containers...)
	w.settle()
}

func (w *world) policy(change func(*v1alpha1.RuntimeTuningPolicy)) *v1alpha1.RuntimeTuningPolicy {
	w.t.Helper()
	policy := newPolicy(w.policyName)
	policy.Namespace = w.namespace
	if change != nil {
		change(policy)
	}
	status := policy.Status
	w.must(w.create(policy))
	w.lens.see(policy.UID)
	policy.Status = status
	w.must(w.server.Status().Update(w.t.Context(), policy))
	return policy
}

func (w *world) get() *v1alpha1.RuntimeTuningPolicy {
	w.t.Helper()
	policy := &v1alpha1.RuntimeTuningPolicy{}
	w.must(w.client().Get(w.t.Context(), w.key(), policy))
	return policy
}

func (w *world) key() types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: w.policyName}
}

func (w *world) edit(change func(*v1alpha1.RuntimeTuningPolicy)) {
	w.t.Helper()
	policy := w.get()
	change(policy)
	w.must(w.server.Update(w.t.Context(), policy))
}

func (w *world) delete() {
	w.t.Helper()
	policy := w.get()
	w.lens.deleted[policy.UID] = w.clock.Now()
	w.must(w.server.Delete(w.t.Context(), policy))
}

// turn is one look of the manager, and what the cluster makes of it.
func (w *world) turn() (ctrl.Result, error) {
	w.t.Helper()
	result, err := w.reconciler.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key()})
	w.settle()
	return result, err
}

func (w *world) mustTurn() ctrl.Result {
	w.t.Helper()
	result, err := w.turn()
	w.must(err)
	return result
}

// mostTurns is far more than any way of a trial takes.
const mostTurns = 600

// run turns, with the waits that the manager asks for, until done.
func (w *world) run(done func(*v1alpha1.RuntimeTuningPolicy) bool) *v1alpha1.RuntimeTuningPolicy {
	w.t.Helper()
	for range mostTurns {
		policy := w.get()
		if done(policy) {
			return policy
		}
		result := w.mustTurn()
		if result.RequeueAfter <= 0 {
			w.t.Fatalf("nobody looks again; status %s", dump(w.get().Status))
		}
		w.pass(result.RequeueAfter)
	}
	w.t.Fatalf("no end in sight; status %s", dump(w.get().Status))
	return nil
}

// rest turns until the manager has waited three times in a row for longer than a write takes: a candidate is not tried, nor recommended,
// before it was seen so often.
func (w *world) rest() *v1alpha1.RuntimeTuningPolicy {
	w.t.Helper()
	quiet := 0
	for range 20 {
		if result := w.mustTurn(); result.RequeueAfter == soon {
			quiet = 0
			continue
		}
		if quiet++; quiet == 3 {
			return w.get()
		}
	}
	w.t.Fatalf("it comes to no rest; status %s", dump(w.get().Status))
	return nil
}

func dump(value any) string {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// recorder keeps events.
type recorder struct {
	mutex  sync.Mutex
	events []recorded
}

type recorded struct{ kind, reason, action, note string }

func (r *recorder) Eventf(_, _ runtime.Object, kind, reason, action, _ string, args ...any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	note, _ := args[0].(string)
	r.events = append(r.events, recorded{kind, reason, action, note})
}

func (r *recorder) count(reason string) int {
	count := 0
	for _, event := range r.events {
		if event.reason == reason {
			count++
		}
	}
	return count
}
