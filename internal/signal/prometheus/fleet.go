package prometheus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/common/model"

	"github.com/gopacer/gopacer/internal/signal"
)

// askedFor is how long a target is fetched along with the others after it was last asked for.
const askedFor = 10 * time.Minute

// fleet keeps what one provider knew at several times, of all targets at once. A window is the difference of two of them, so that the
// number of queries does not grow with the number of policies. There is no jitter: all policies share what the first of a slot fetches,
// and that one comes when its policy's turn comes, not by the clock.
type fleet struct {
	endpoint *endpoint
	slot     time.Duration
	ctx      context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup

	mutex    sync.Mutex
	flights  map[string]*flight
	failures map[string]failure
	// asked says when, by the end of the window, a target was last asked for.
	asked map[target]time.Time
	held  map[int64]*snapshot
	// answers are those of policies' own queries in the newest slot.
	answers map[string]heldAnswer
	shards  map[signal.QueryName]sharding
	newest  time.Time
}

// target is what a request adds to what is fetched.
type target struct {
	namespace, prefix string
	// histogram is one that no preset names; zero otherwise.
	histogram signal.Latency
}

// snapshot is what was known at one time, by namespace.
type snapshot struct {
	at    time.Time
	parts map[string]part
	// used is the end of the latest window that started here, keptAt the slot in which it came.
	used, keptAt time.Time
}

// part is one namespace of a snapshot.
type part struct {
	pods signal.Part
	// err says that this namespace could not be fetched, whoever asks.
	err        error
	histograms []signal.Latency
	// prefixes are those of the pods that were kept; nil where all were.
	prefixes []string
}

type heldAnswer struct {
	at    time.Time
	value model.Value
}

func newFleet(endpoint *endpoint) *fleet {
	ctx, stop := context.WithCancel(context.Background())
	return &fleet{
		endpoint: endpoint, slot: signal.Slot(endpoint.scrapeInterval), ctx: ctx, stop: stop, flights: make(map[string]*flight), failures: make(map[string]failure),
		asked: make(map[target]time.Time), held: make(map[int64]*snapshot), answers: make(map[string]heldAnswer),
		shards: make(map[signal.QueryName]sharding),
	}
}

func targetOf(request signal.Request) target {
	t := target{namespace: request.Namespace, prefix: request.PodPrefix}
	if request.Latency.Histogram != "" {
		t.histogram = signal.Latency{Histogram: request.Latency.Histogram, CodeLabel: request.Latency.CodeLabel}
	}
	return t
}

// note says that a target is asked for. Time goes on by the requests' own.
func (f *fleet) note(t target, slot time.Time) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if slot.After(f.asked[t]) {
		f.asked[t] = slot
	}
	if slot.After(f.newest) {
		f.newest = slot
		maps.DeleteFunc(f.asked, func(_ target, last time.Time) bool { return slot.Sub(last) > askedFor })
		maps.DeleteFunc(f.failures, func(_ string, failed failure) bool { return failed.slot.Before(slot) })
		maps.DeleteFunc(f.answers, func(_ string, held heldAnswer) bool { return held.at.Before(slot) })
	}
}

// part is what is held of a target at a time.
func (f *fleet) part(t target, at time.Time) (part, bool) {
	held, ok := f.held[at.Unix()]
	if !ok {
		return part{}, false
	}
	found, ok := held.parts[t.namespace]
	return found, ok && found.covers(t)
}

func (p part) covers(t target) bool {
	return (t.histogram == signal.Latency{} || slices.Contains(p.histograms, t.histogram)) &&
		(p.prefixes == nil || slices.Contains(p.prefixes, t.prefix))
}

// at gives what is known of a target at a time, and fetches it where it is not held yet: for all targets that are in use and lack it.
func (f *fleet) at(ctx context.Context, t target, at, slot time.Time) (signal.Part, error) {
	var found part
	err := f.await(ctx, errand{
		key: "snapshot " + strconv.FormatInt(at.Unix(), 10), slot: slot,
		ready: func() (ok bool) {
			found, ok = f.part(t, at)
			return ok
		},
		plan: func() func(context.Context) (func(), error) { return f.plan(at, slot) },
	})
	if err != nil {
		return signal.Part{}, err
	}
	return found.pods, found.err
}

func (f *fleet) plan(at, slot time.Time) func(context.Context) (func(), error) {
	scope := f.scope(at)
	depths := make(map[signal.QueryName]int)
	for name, sharding := range f.shards {
		if f.newest.Sub(sharding.since) <= shardMemory {
			depths[name] = sharding.depth
		}
	}
	return func(ctx context.Context) (func(), error) {
		under := &fetch{
			fleet: f, at: at, reader: scope.NewReader(at), tooLarge: make(map[string]error), halved: make(map[signal.QueryName]int),
		}
		if err := under.run(ctx, scope, depths); err != nil {
			return nil, err
		}
		return func() { f.keep(under, scope, slot) }, nil
	}
}

// scope is what lacks at a time.
func (f *fleet) scope(at time.Time) signal.Scope {
	namespaces, histograms := map[string]bool{}, map[signal.Latency]bool{}
	for t := range f.asked {
		if t.histogram != (signal.Latency{}) {
			histograms[t.histogram] = true
		}
		if _, ok := f.part(t, at); !ok {
			namespaces[t.namespace] = true
		}
	}
	scope := signal.Scope{Namespaces: slices.Sorted(maps.Keys(namespaces)), Histograms: slices.Collect(maps.Keys(histograms))}
	slices.SortFunc(scope.Histograms, compareLatency)
	return scope
}

// keep adds what was fetched.
func (f *fleet) keep(fetched *fetch, scope signal.Scope, slot time.Time) {
	kept, ok := f.held[fetched.at.Unix()]
	if !ok {
		kept = &snapshot{at: fetched.at, parts: make(map[string]part)}
		f.held[fetched.at.Unix()] = kept
	}
	kept.keptAt = slot
	for namespace, pods := range fetched.reader.Parts() {
		kept.parts[namespace] = part{pods: pods, err: fetched.tooLarge[namespace], histograms: scope.Histograms}
	}
	for name, depth := range fetched.halved {
		f.shards[name] = sharding{depth, f.newest}
	}
	f.trim()
	f.thin()
}

// custom asks a policy's own query.
func (f *fleet) custom(ctx context.Context, promQL string, at time.Time) (model.Value, error) {
	key := fmt.Sprintf("query %d %s", at.Unix(), promQL)
	var found model.Value
	err := f.await(ctx, errand{
		key: key, slot: at,
		ready: func() bool {
			held, ok := f.answers[key]
			found = held.value
			return ok
		},
		plan: func() func(context.Context) (func(), error) {
			return func(ctx context.Context) (func(), error) {
				var got model.Value
				err := f.endpoint.ask(ctx, question{query: signal.QueryCustom, text: promQL, at: at, read: func(value model.Value) error {
					got = value
					return nil
				}})
				return func() { f.answers[key] = heldAnswer{at, got} }, err
			}
		},
	})
	return found, err
}
