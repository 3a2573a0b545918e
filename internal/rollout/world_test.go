package rollout

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
)

// epoch is when every world begins. Its pods are an hour old then.
var epoch = time.Date(2026, time.October, 1, 12, 0, 0, 0, time.UTC)

const policyUID = types.UID("5f0c7a52-0000-4000-8000-000000000001")

// recentLength is what the manager would use with a scrape interval of 5 s.
const recentLength = 20 * time.Second

// quickPlan is that of the demo: 1, 2, 3 canary pods, everything short.
func quickPlan() Plan {
	return Plan{
		Steps:          []Step{{intstr.FromInt32(1), 20 * time.Second}, {intstr.FromInt32(2), 20 * time.Second}, {intstr.FromInt32(3), 20 * time.Second}},
		MaxUnavailable: intstr.FromInt32(1), Interval: 5 * time.Second, WarmUp: 20 * time.Second, NoDataTimeout: time.Minute,
		SLOs: []verdict.SLO{{Name: "latency", ThresholdSeconds: 0.25, AllowedShare: 0.01}, {Name: "errors", AllowedShare: 0.01}},
		Gain: verdict.Gain{Minimize: v1alpha1.MinimizeGCCPU, MinShare: 0.05, MinCPUShare: 0.01}, GoodWindows: 3,
		Breaker: verdict.Breaker{Share: 0.4, Length: 20 * time.Second},
	}
}

// worldPod is a pod as the API server shows it, and what is behind it.
type worldPod struct {
	Pod
	// readyAt is when it gets ready; zero where it never does.
	readyAt time.Time
	// goneAt is when a terminating pod is gone.
	goneAt time.Time
}

// creation is a pod that was admitted, and not stored yet.
type creation struct {
	at         time.Time
	name       string
	revision   types.UID
	settings   settings.Settings
	unreadable string
}

// habits say how a world behaves all the time.
type habits struct {
	startup, grace [2]int // seconds, from and to
	// late is the chance of a create that lands up to 34 s after it was admitted, stale that of a webhook that knows an old status.
	late, stale, doubleGrant float64
}

// world is one Deployment with its ReplicaSets, or a StatefulSet, with the webhook and Prometheus, in memory, second by second.
type world struct {
	habits
	random   *rand.Rand
	now      time.Time
	plan     Plan
	replicas int
	// surge is how many pods may be handed over at a time.
	surge int
	// guarded says that there is a PodDisruptionBudget of minAvailable 100%.
	guarded bool
	// minReady is how long a pod must be ready to be available.
	minReady time.Duration
	revision types.UID
	footings map[types.UID]settings.Footing
	pods     []*worldPod
	creating []creation
	backoff  time.Time
	// failsSince is since when the ReplicaSet can't create a pod for want of quota.
	failsSince time.Time
	births     int
	claims     map[string]time.Time
	statuses   []written
	stop       *Stop
	gone       bool // the policy is being deleted
	// stable says that it is a StatefulSet.
	stable bool
	conditions
	data dataConditions
}

// conditions are what incidents change.
type conditions struct {
	hold, paused, webhookDown, blocked, neverReady, stuck bool
	quota                                                 int    // of pods, those that are going included; 0 for none
	undone                                                string // by another webhook: "settings" or "unreadable"
	dropWrites, dropActions, awayFor                      int
	looksTwice                                            bool
}

func newWorld(seed uint64, replicas int) *world {
	w := &world{
		habits: habits{startup: [2]int{3, 6}, grace: [2]int{1, 5}}, random: rand.New(rand.NewPCG(seed, 1)), now: epoch, plan: quickPlan(),
		replicas: replicas, revision: "rs-1", footings: map[types.UID]settings.Footing{"rs-1": {Declared: settings.Settings{GOGC: 25}}},
		claims: map[string]time.Time{}, data: dataConditions{gain: 0.5},
	}
	return w
}

// populate fills the world with old pods that run the settings.
func (w *world) populate(running settings.Settings) {
	for i := range w.replicas {
		name := fmt.Sprintf("shop-1-old%02d", i)
		if w.stable {
			name = ordinalName(i)
		}
		pod := w.store(creation{name: name, revision: w.revision, settings: running})
		pod.CreatedAt = epoch.Add(-time.Hour)
		pod.Ready, pod.ReadyChangedAt = true, epoch.Add(-time.Hour)
		pod.readyAt = pod.ReadyChangedAt
	}
}

func (w *world) chance(p float64) bool { return w.random.Float64() < p }

func (w *world) seconds(bounds [2]int) time.Duration {
	return time.Duration(bounds[0]+w.random.IntN(bounds[1]-bounds[0]+1)) * time.Second
}

// tick lets one second pass.
func (w *world) tick() {
	w.now = w.now.Add(time.Second)
	w.pods = slices.DeleteFunc(w.pods, func(pod *worldPod) bool { return pod.Terminating && !pod.goneAt.IsZero() && !pod.goneAt.After(w.now) })
	for _, pod := range w.pods {
		if !pod.Ready && !pod.readyAt.IsZero() && !pod.readyAt.After(w.now) {
			pod.Ready, pod.ReadyChangedAt = true, w.now
		}
	}
	w.land()
	if w.stable {
		w.replicateInOrder()
		return
	}
	for revision := range w.footings {
		w.replicate(revision)
	}
}

// land stores creations that are due. One whose name is taken fails with AlreadyExists, and the ReplicaSet backs off.
func (w *world) land() {
	due, later := w.creating, []creation(nil)
	for _, c := range due {
		switch {
		case c.at.After(w.now):
			later = append(later, c)
		case slices.ContainsFunc(w.pods, func(pod *worldPod) bool { return pod.Name == c.name }):
			w.backoff = w.now.Add(w.seconds([2]int{1, 4}))
		default:
			w.store(c)
		}
	}
	w.creating = later
}

func (w *world) store(c creation) *worldPod {
	w.births++
	pod := &worldPod{Pod: Pod{
		UID: types.UID(fmt.Sprintf("uid-%d", w.births)), Name: c.name, Revision: c.revision, CreatedAt: w.now,
		Settings: c.settings, Unreadable: c.unreadable, Health: verdict.Health{ReadyChangedAt: w.now},
	}}
	if !w.neverReady {
		pod.readyAt = w.now.Add(w.seconds(w.startup))
	}
	w.pods = append(w.pods, pod)
	return pod
}

// replicate is the ReplicaSet: it ignores pods that are going or handed over, creates what is missing, and drops unready pods first, then those
// with a low deletion cost, then young ones.
func (w *world) replicate(revision types.UID) {
	active := w.active(revision)
	missing := w.desired(revision) - len(active)
	for _, c := range w.creating {
		if c.revision == revision {
			missing--
		}
	}
	if revision == w.revision {
		missing = w.withinQuota(missing)
	}
	for ; missing > 0 && !w.now.Before(w.backoff); missing-- {
		w.creating = append(w.creating, w.admit(revision, ""))
	}
	w.land()
	slices.SortStableFunc(active, func(a, b *worldPod) int {
		if a.Ready != b.Ready {
			return cmp.Compare(boolean(a.Ready), boolean(b.Ready))
		}
		if a.DropFirst != b.DropFirst {
			return cmp.Compare(boolean(b.DropFirst), boolean(a.DropFirst))
		}
		return b.CreatedAt.Compare(a.CreatedAt)
	})
	for _, pod := range active[:max(0, len(active)-w.desired(revision))] {
		w.terminate(pod)
	}
}

func (w *world) active(revision types.UID) []*worldPod {
	return w.find(func(pod *worldPod) bool { return pod.Revision == revision && !pod.Terminating && !pod.HandedOver })
}

func (w *world) find(in func(*worldPod) bool) []*worldPod {
	var found []*worldPod
	for _, pod := range w.pods {
		if in(pod) {
			found = append(found, pod)
		}
	}
	return found
}

// desired is the size of a ReplicaSet: an old one shrinks as pods of the new one get ready.
func (w *world) desired(revision types.UID) int {
	if revision == w.revision {
		return w.replicas
	}
	ready := w.find(func(pod *worldPod) bool { return pod.Revision == w.revision && !pod.Terminating && pod.Ready })
	return min(len(w.active(revision)), max(0, w.replicas-len(ready)))
}

func (w *world) terminate(pod *worldPod) {
	if pod.Terminating {
		return
	}
	pod.Terminating = true
	if !w.stuck {
		pod.goneAt = w.now.Add(w.seconds(w.grace))
	}
}

// evict is the Eviction API with the pod's UID as precondition.
func (w *world) evict(uid types.UID) {
	for _, pod := range w.pods {
		if pod.UID == uid && !w.blocked && !(w.guarded && pod.Ready && len(w.find(isServing)) <= w.replicas) {
			w.terminate(pod)
		}
	}
}

func isServing(pod *worldPod) bool { return pod.Ready && !pod.Terminating }

// handOver and giveBack are patches of the pod's owner; the first is refused where the pod has changed since.
func (w *world) handOver(seen Pod) {
	for _, pod := range w.find(func(pod *worldPod) bool { return pod.UID == seen.UID && !pod.Terminating && pod.Ready == seen.Ready }) {
		pod.HandedOver = true
	}
}

func (w *world) giveBack(back GiveBack) {
	for _, pod := range w.find(func(pod *worldPod) bool { return pod.UID == back.Drop.UID }) {
		pod.DropFirst = true
	}
	for _, pod := range w.find(func(pod *worldPod) bool { return pod.UID == back.Pod.UID && !pod.Terminating }) {
		pod.HandedOver = false
	}
}

// withinQuota is how many of the missing pods may be created.
func (w *world) withinQuota(missing int) int {
	if w.quota == 0 || missing <= w.quota-len(w.pods)-len(w.creating) {
		w.failsSince = time.Time{}
		return missing
	}
	if w.failsSince.IsZero() {
		w.failsSince = w.now
	}
	return w.quota - len(w.pods) - len(w.creating)
}

func (w *world) unsettled() bool {
	all := w.find(func(pod *worldPod) bool { return !pod.Terminating && !pod.HandedOver })
	return w.paused || len(all) != w.replicas || len(w.active(w.revision)) != len(all)
}

// view is what the manager sees.
func (w *world) view() View {
	view := View{
		Now: w.now, PolicyUID: policyUID, Plan: w.plan, Replicas: w.replicas, Revision: w.revision, Unsettled: w.unsettled(),
		Footing: w.footings[w.revision], Stop: w.stop, Hold: w.hold, RecentLength: recentLength,
		Surge: w.surge, MinReady: w.minReady, CreationFailsSince: w.failsSince, StableNames: w.stable,
	}
	if w.stable {
		view.Plan.MaxUnavailable = intstr.FromInt32(1)
	}
	for _, pod := range w.pods {
		view.Pods = append(view.Pods, pod.Pod)
	}
	slices.SortFunc(view.Pods, func(a, b Pod) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Name, b.Name)) })
	return view
}
