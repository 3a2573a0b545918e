//go:build e2e

package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// orderDelay is how long a change waits for earlier ones of another watch. Changes are looked at in the order in which the
// API server stored them: a canary pod that seems to come before its slot would else look like one too many.
const orderDelay = 3 * time.Second

// watcher looks at every change in the namespaces of all scenes, through all scenarios.
type watcher struct {
	cancel context.CancelFunc

	mutex   sync.Mutex
	scenes  map[string]*watched
	pending []change
}

// change is one that the API server stored.
type change struct {
	version uint64
	seen    time.Time
	object  client.Object
	gone    bool
}

// watch starts the watcher.
func (e *environment) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	e.watcher = &watcher{cancel: cancel, scenes: map[string]*watched{}}
	informers, err := cache.New(e.configuration, cache.Options{Scheme: e.client.Scheme()})
	if err != nil {
		return err
	}
	for _, object := range []client.Object{&corev1.Pod{}, &appsv1.Deployment{}, &v1alpha1.RuntimeTuningPolicy{}} {
		informer, err := informers.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
		if _, err := informer.AddEventHandler(e.watcher); err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
	}
	go func() { _ = informers.Start(ctx) }()
	if !informers.WaitForCacheSync(ctx) {
		return ctx.Err()
	}
	go e.watcher.run(ctx)
	return nil
}

// stop ends the watches, before what is watched goes away.
func (w *watcher) stop() { w.cancel() }

var _ toolscache.ResourceEventHandler = &watcher{}

func (w *watcher) OnAdd(object any, _ bool) { w.queue(object, false) }
func (w *watcher) OnUpdate(_, object any)   { w.queue(object, false) }
func (w *watcher) OnDelete(object any) {
	if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	w.queue(object, true)
}

func (w *watcher) queue(object any, gone bool) {
	changed, ok := object.(client.Object)
	if !ok || !strings.HasPrefix(changed.GetNamespace(), namespacePrefix) {
		return
	}
	version, err := strconv.ParseUint(changed.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.pending = append(w.pending, change{version: version, seen: time.Now(), object: changed, gone: gone})
}

func (w *watcher) run(ctx context.Context) {
	ticker := time.NewTicker(orderDelay / 6)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			w.process(time.Now().Add(-orderDelay))
		case <-ctx.Done():
			return
		}
	}
}

// process looks at what was seen until then, in the order of the API server.
func (w *watcher) process(until time.Time) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	slices.SortStableFunc(w.pending, func(a, b change) int { return cmp.Compare(a.version, b.version) })
	var kept []change
	for _, one := range w.pending {
		scene := w.scenes[one.object.GetNamespace()]
		switch {
		case one.seen.After(until):
			kept = append(kept, one)
		case scene != nil:
			scene.look(one)
		}
	}
	w.pending = kept
}

// add begins to hold a namespace against the invariants.
func (w *watcher) add(namespace string) *watched {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	scene := &watched{mutex: &w.mutex, pods: map[string]*corev1.Pod{}, generations: map[string]int64{}, rejected: map[string]time.Time{}}
	w.scenes[namespace] = scene
	return scene
}

// release ends it, and returns which invariants were broken.
func (w *watcher) release(ctx context.Context, namespace string) []string {
	w.settle(ctx)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	scene := w.scenes[namespace]
	delete(w.scenes, namespace)
	return scene.violations
}

// settle returns when all that has happened until now was looked at.
func (w *watcher) settle(ctx context.Context) {
	timer := time.NewTimer(orderDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	w.process(time.Now().Add(-orderDelay / 2))
}
