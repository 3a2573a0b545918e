//go:build e2e

package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/test/stage"
)

const (
	// usualReplicas is the least at which a gain can be proven: three canary pods against three control pods.
	usualReplicas = 6
	// declaredGOGC and declaredProcessors are what the template of the service under test says.
	declaredGOGC, declaredProcessors = 25, 1
	memoryLimit                      = "128Mi"
	// requestRate is that to each pod: within a minute each has the 2000 requests that it takes to tell that slow ones did not become more.
	requestRate = 40

	readyLimit = 2 * time.Minute
	// startLimit is for a trial to start: the pods must have been ready for the window that the target at rest is measured in,
	// ten intervals.
	startLimit = 3 * time.Minute
	// endLimit is for a trial to end: a step with the long hold may stay undecided for three of them and a noDataTimeout, and the waves follow.
	endLimit = 8 * time.Minute
	// soonLimit is for what follows at once, on a busy machine.
	soonLimit = time.Minute
	interval  = 5 * time.Second
)

// scene is a namespace with the service under test and its load.
type scene struct {
	*environment
	t         *testing.T
	namespace string
	watched   *watched
	// replicas of the service.
	replicas int
	// template is the pod template as it was declared.
	template corev1.PodTemplateSpec
}

// part is a scene that is to be set.
type part struct {
	name   string
	wanted stage.Workload
}

// play sets a scene: a light service, of six pods where the scenario does not say otherwise, with what it wants other.
func play(t *testing.T, name string, wanted stage.Workload) *scene {
	t.Helper()
	return playAll(t, part{name, wanted})[0]
}

// playAll sets scenes at the same time.
func playAll(t *testing.T, parts ...part) []*scene {
	t.Helper()
	scenes := make([]*scene, len(parts))
	group, ctx := errgroup.WithContext(t.Context())
	for i, one := range parts {
		scenes[i] = open(t, one.name)
		scenes[i].setReplicas(cmp.Or(one.wanted.Replicas, usualReplicas))
		group.Go(func() error { return stage.InstallWorkload(ctx, scenes[i].kube, scenes[i].workload(one.wanted)) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, s := range scenes {
		s.template = s.deployment().Spec.Template
	}
	return scenes
}

// workload completes what a scenario wants other. The heap is small and the cache is kept, so that a request is cheap; it allocates
// enough for a collection a second.
func (s *scene) workload(wanted stage.Workload) stage.Workload {
	wanted.Image, wanted.LoadImage, wanted.Namespace = s.images.Workload.Name, s.images.Load.Name, s.namespace
	wanted.Replicas, wanted.MemoryRequest = s.replicas, "32Mi"
	wanted.MemoryLimit = cmp.Or(wanted.MemoryLimit, memoryLimit)
	wanted.Rate = cmp.Or(wanted.Rate, requestRate*s.replicas)
	environment := map[string]string{"LIVE_HEAP_MB": "4", "DOCUMENT_LINES": "20", "CACHE_UNTIL_COLLECTION": ""}
	maps.Copy(environment, wanted.Env)
	wanted.Env = environment
	return wanted
}

// in is the scene within a subtest.
func (s *scene) in(t *testing.T) *scene {
	within := *s
	within.t = t
	return &within
}

// open makes a scene of an empty namespace.
func open(t *testing.T, name string) *scene {
	t.Helper()
	s := &scene{environment: shared, t: t, namespace: namespacePrefix + name}
	s.watched = s.watcher.add(s.namespace)
	t.Cleanup(s.close)
	return s
}

func (s *scene) setReplicas(replicas int) {
	s.replicas = replicas
	s.watched.set(func(w *watched) { w.replicas = replicas })
}

// close tells of broken invariants, shows what there is to see where the test failed, and takes the namespace away.
func (s *scene) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, violation := range s.watcher.release(ctx, s.namespace) {
		s.t.Error(violation)
	}
	if s.t.Failed() {
		s.dump(ctx)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if err := client.IgnoreNotFound(s.client.Delete(ctx, namespace)); err != nil {
		s.t.Errorf("delete namespace %s: %v", s.namespace, err)
	}
}

// await polls until a check returns nil. A check that sees that it can't come about any more fails the test itself.
func (s *scene) await(what string, limit time.Duration, check func(ctx context.Context) error) {
	s.t.Helper()
	began := time.Now()
	if err := stage.Await(s.t.Context(), what, limit, check); err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("%s %s: %s (%.0f s)", time.Now().Format(time.TimeOnly), s.namespace, what, time.Since(began).Seconds())
}

func (s *scene) deployment() *appsv1.Deployment {
	s.t.Helper()
	var deployment appsv1.Deployment
	key := client.ObjectKey{Namespace: s.namespace, Name: stage.WorkloadDeployment}
	if err := s.client.Get(s.t.Context(), key, &deployment); err != nil {
		s.t.Fatal(err)
	}
	return &deployment
}

// checkTemplate fails the test where the pod template is not what was declared.
func (s *scene) checkTemplate() {
	s.t.Helper()
	deployment := s.deployment()
	if deployment.Generation != 1 || !equality.Semantic.DeepEqual(deployment.Spec.Template, s.template) {
		s.t.Errorf("the pod template of generation %d is %+v, want it as it was declared", deployment.Generation, deployment.Spec.Template)
	}
}

// pods are the service's pods that are not going away.
func (s *scene) pods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := s.client.List(ctx, &pods, client.InNamespace(s.namespace), client.MatchingLabels{"app": stage.WorkloadDeployment})
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", s.namespace, err)
	}
	return living(pods.Items), nil
}

func living(pods []corev1.Pod) []corev1.Pod {
	var kept []corev1.Pod
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
			kept = append(kept, pod)
		}
	}
	return kept
}

// settingsOf reads what a pod's process starts with.
func settingsOf(pod *corev1.Pod) (settings.Settings, error) {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == stage.WorkloadDeployment {
			return settings.Declared(&pod.Spec.Containers[i])
		}
	}
	return settings.Settings{}, fmt.Errorf("pod %s has no container %s", pod.Name, stage.WorkloadDeployment)
}

// awaitPods waits until there are all pods, each ready and with these settings.
func (s *scene) awaitPods(want settings.Settings, limit time.Duration) {
	s.t.Helper()
	s.await("every pod to run "+want.Canonical(), limit, func(ctx context.Context) error {
		pods, err := s.pods(ctx)
		if err != nil {
			return err
		}
		if len(pods) != s.replicas {
			return fmt.Errorf("there are %d pods, want %d", len(pods), s.replicas)
		}
		for i := range pods {
			got, err := settingsOf(&pods[i])
			if err != nil {
				return err
			}
			if got != want || !isReady(&pods[i]) {
				return fmt.Errorf("pod %s runs %s, ready is %t", pods[i].Name, got.Canonical(), isReady(&pods[i]))
			}
		}
		return nil
	})
}

// declared is what the template says.
func declared() settings.Settings {
	return settings.Settings{GOGC: declaredGOGC, GOMAXPROCS: declaredProcessors}
}

// podIDs are the UIDs of the living pods, by which a replaced one shows.
func (s *scene) podIDs() map[string]bool {
	s.t.Helper()
	pods, err := s.pods(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, pod := range pods {
		ids[string(pod.UID)] = true
	}
	return ids
}

// awaitGauge waits until Prometheus shows a gauge of every living pod at a value.
func (s *scene) awaitGauge(metric string, want float64) {
	s.t.Helper()
	s.await(fmt.Sprintf("%s to be %.0f in every process", metric, want), soonLimit, func(ctx context.Context) error {
		pods, err := s.pods(ctx)
		if err != nil {
			return err
		}
		measured, err := s.measured(ctx, metric)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			if got, found := measured[pod.Name]; !found || got != want {
				return fmt.Errorf("%s of pod %s is %.0f (sampled: %t)", metric, pod.Name, got, found)
			}
		}
		return nil
	})
}

// policyKey names the one policy that a scene has.
func (s *scene) policyKey() client.ObjectKey {
	return client.ObjectKey{Namespace: s.namespace, Name: stage.WorkloadDeployment}
}

func (s *scene) policy() *v1alpha1.RuntimeTuningPolicy {
	s.t.Helper()
	var policy v1alpha1.RuntimeTuningPolicy
	if err := s.client.Get(s.t.Context(), s.policyKey(), &policy); err != nil {
		s.t.Fatal(err)
	}
	return &policy
}
