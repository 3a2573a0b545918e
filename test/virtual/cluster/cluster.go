// Package cluster is a cluster on the virtual API server: a clock of its own, Deployments, ReplicaSets, kubelets, budgets, garbage collection,
// admission, and a Prometheus. Everything happens in one goroutine, in an order that the seed alone decides.
package cluster

import (
	"container/heap"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/virtual/api"
)

// Epoch is when every cluster begins.
var Epoch = time.Date(2026, time.October, 1, 12, 0, 0, 0, time.UTC)

// Kinds that the cluster's controllers work on.
var (
	DeploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	ReplicaSetKind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	PodKind        = corev1.SchemeGroupVersion.WithKind("Pod")
	BudgetKind     = policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")
	PolicyKind     = v1alpha1.GroupVersion.WithKind("RuntimeTuningPolicy")
	BaselineKind   = v1alpha1.GroupVersion.WithKind("RuntimeBaseline")
)

// Scheme has all kinds that a cluster knows.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// Habits are how the cluster behaves all the time. Durations are from and to.
type Habits struct {
	// Schedule a pod, Start its container, and get Ready take so long each; Grace is what a container takes to end.
	Schedule, Start, Ready, Grace [2]time.Duration
	// Admission is how long the API server takes to store a pod from when it asked the webhook; Late is the chance of a long one, up to 34 s.
	Admission [2]time.Duration
	Late      float64
	// Sync is how long the controllers take to see a change.
	Sync [2]time.Duration
	// Nodes that pods are spread over.
	Nodes int
}

// Usual habits of a healthy cluster.
func Usual() Habits {
	ms := time.Millisecond
	return Habits{
		Schedule: [2]time.Duration{50 * ms, 400 * ms}, Start: [2]time.Duration{500 * ms, 2000 * ms}, Ready: [2]time.Duration{2000 * ms, 5000 * ms},
		Grace: [2]time.Duration{500 * ms, 4000 * ms}, Admission: [2]time.Duration{5 * ms, 60 * ms}, Sync: [2]time.Duration{5 * ms, 80 * ms}, Nodes: 5,
	}
}

// Cluster is the world. Its fields that say what is broken may be changed at any time.
type Cluster struct {
	Habits
	Server *api.Server
	Random *rand.Rand
	// Admit is what the webhook makes of a new pod; nil for none.
	Admit func(*corev1.Pod) *corev1.Pod
	// Trouble is what is broken now.
	Trouble Trouble
	// Service is how the target behaves, and what Prometheus shows of it.
	Service Service
	// Told, if set, is told what happens, for a person who replays a seed.
	Told func(format string, args ...any)

	kube     *api.Client // of the cluster's own controllers
	now      time.Time
	waiting  queue
	sequence int64
	syncing  bool
	inFlight map[types.UID]int       // pods on their way, by ReplicaSet
	backoff  map[types.UID]time.Time // of a ReplicaSet whose creates failed
	failures map[types.UID]int
	running  map[types.UID]bool // pods that a kubelet has taken on
	ending   map[types.UID]bool
	steps    int
}

// mostSteps is far more than any run needs: beyond, something goes round in circles, and time stands still.
const mostSteps = 60_000

// Trouble is what is broken.
type Trouble struct {
	// NoRoom keeps new pods Pending, NeverReady lets them start and no more, Stuck lets none end.
	NoRoom, NeverReady, Stuck bool
	// Lost nodes run nothing and answer nothing.
	Lost map[string]bool
	// NoQuota refuses new pods.
	NoQuota bool
}

// New is an empty cluster.
func New(seed uint64, habits Habits) *Cluster {
	random := rand.New(rand.NewPCG(seed, 0xc1057e2))
	c := &Cluster{
		Habits: habits, Random: random, now: Epoch, inFlight: map[types.UID]int{}, backoff: map[types.UID]time.Time{}, failures: map[types.UID]int{},
		running: map[types.UID]bool{}, ending: map[types.UID]bool{}, Trouble: Trouble{Lost: map[string]bool{}},
	}
	c.Server = api.NewServer(Scheme(), c, rand.New(rand.NewPCG(seed, 0xa91)))
	c.kube = c.Server.Client("kube-controller-manager")
	c.Server.Tell(c.heard)
	return c
}

// Now implements clock.PassiveClock.
func (c *Cluster) Now() time.Time { return c.now }

// Since implements clock.PassiveClock.
func (c *Cluster) Since(at time.Time) time.Duration { return c.now.Sub(at) }

func (c *Cluster) tell(format string, args ...any) {
	if c.Told != nil {
		c.Told(format, args...)
	}
}

// Between is a time from the first to the second.
func (c *Cluster) Between(bounds [2]time.Duration) time.Duration {
	if bounds[1] <= bounds[0] {
		return bounds[0]
	}
	return bounds[0] + time.Duration(c.Random.Int64N(int64(bounds[1]-bounds[0])))
}

// Chance is true with a probability.
func (c *Cluster) Chance(p float64) bool { return p > 0 && c.Random.Float64() < p }

// occasion is something that is to happen.
type occasion struct {
	at       time.Time
	sequence int64
	do       func()
}

type queue []occasion

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].at.Equal(q[j].at) {
		return q[i].sequence < q[j].sequence
	}
	return q[i].at.Before(q[j].at)
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(occasion)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// After lets something happen later.
func (c *Cluster) After(wait time.Duration, do func()) {
	c.sequence++
	heap.Push(&c.waiting, occasion{c.now.Add(max(wait, 0)), c.sequence, do})
}

// Step lets the next thing happen, and says false where none is left before the time; the time is then reached.
func (c *Cluster) Step(until time.Time) bool {
	if c.steps++; c.Exhausted() {
		return false
	}
	if len(c.waiting) == 0 || c.waiting[0].at.After(until) {
		if until.After(c.now) {
			c.now = until
		}
		return false
	}
	next := heap.Pop(&c.waiting).(occasion)
	if next.at.After(c.now) {
		c.now = next.at
	}
	next.do()
	return true
}

// Exhausted says that more has happened than can be right.
func (c *Cluster) Exhausted() bool { return c.steps > mostSteps }

// Stop lets nothing happen any more.
func (c *Cluster) Stop() { c.steps = mostSteps + 1 }

// Run lets time pass.
func (c *Cluster) Run(length time.Duration) {
	until := c.now.Add(length)
	for c.Step(until) {
	}
}
