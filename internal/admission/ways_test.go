package admission

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/workload"
)

// incoming are pods as a ReplicaSet asks for them.
var incoming = map[string]func(app *corev1.Container){
	"as it was proven on":     func(*corev1.Container) {},
	"another value declared":  func(app *corev1.Container) { app.Env[1].Value = "50" },
	"the same, otherwise put": func(app *corev1.Container) { app.Env[1].Value = "+025" },
	"none declared":           func(app *corev1.Container) { app.Env = app.Env[:1] },
	"no environment":          func(app *corev1.Container) { app.Env = nil },
	"GODEBUG of its own": func(app *corev1.Container) {
		app.Env = append(app.Env, corev1.EnvVar{Name: "GODEBUG", Value: "netdns=go,gctrace=1"})
	},
	"a managed key of GODEBUG": func(app *corev1.Container) {
		app.Env = append(app.Env, corev1.EnvVar{Name: "GODEBUG", Value: "netdns=go,disablethp=0,gctrace=1"})
	},
	"GOGC from elsewhere":       func(app *corev1.Container) { app.Env[1] = fromLimit("GOGC") },
	"GOMAXPROCS from the limit": func(app *corev1.Container) { app.Env = append(app.Env, fromLimit("GOMAXPROCS")) },
	"GOGC twice":                func(app *corev1.Container) { app.Env = append(app.Env, app.Env[1]) },
	"GODEBUG twice": func(app *corev1.Container) {
		app.Env = append(app.Env, corev1.EnvVar{Name: "GODEBUG"}, corev1.EnvVar{Name: "GODEBUG"})
	},
	"a smaller limit":   func(app *corev1.Container) { app.Resources = memoryLimit("256Mi") },
	"the same limit":    func(app *corev1.Container) { app.Resources = memoryLimit("512Mi") },
	"another container": func(app *corev1.Container) { app.Name = "renamed" },
}

// TestSamePods: whichever way they come, the same pods start with the same: by the webhook alone, by the policy alone, and by both.
func TestSamePods(t *testing.T) {
	alone, both, without := newShop(t), newShop(t), newShop(t)
	both.withPolicy, without.withPolicy = true, true
	for _, s := range []*shop{alone, both, without} {
		policy := newPolicy()
		policy.Status.Trial = nil
		policy.Status.Baseline.Settings = settings.Settings{GOGC: 150, MemoryLimitBytes: 400 << 20, GODEBUG: "disablethp=1"}.API()
		policy.Status.Baseline.Footing.MemoryLimit = ptr.To(resource.MustParse("512Mi"))
		s.policy(policy)
		if s != without {
			s.serve(s.policies())
		}
	}
	for name, change := range incoming {
		t.Run(name, func(t *testing.T) {
			var pods []*corev1.Pod
			for _, s := range []*shop{alone, both, without} {
				pod := s.mustPod(func(pod *corev1.Pod) { change(&pod.Spec.Containers[1]) })
				pod.ObjectMeta = metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations, OwnerReferences: pod.OwnerReferences}
				pods = append(pods, pod)
			}
			delete(pods[2].Annotations, v1alpha1.AnnotationDeclared)
			for i, way := range []string{"policy and webhook", "policy alone"} {
				if diff := cmp.Diff(pods[0], pods[i+1], cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("pod (-webhook alone +%s):\n%s", way, diff)
				}
			}
		})
	}
}

// TestWebhookAwayWithPolicy: proven settings do not depend on gopacer's own pods. What the pod declared stays noted on it.
func TestWebhookAwayWithPolicy(t *testing.T) {
	s := newShop(t)
	s.withPolicy = true
	s.policy(newPolicy())
	pod := s.mustPod(nil)
	if got := settingsOf(t, pod); got != baseline {
		t.Errorf("the pod starts with %+v, want the baseline", got)
	}
	marks := map[string]string{v1alpha1.AnnotationSettings: "GOGC=150", v1alpha1.AnnotationDeclared: string(revision) + "/app/GOGC=25"}
	if diff := cmp.Diff(marks, pod.Annotations); diff != "" || pod.Labels[v1alpha1.LabelPolicy] != "policy" {
		t.Errorf("labels %v, annotations (-want +got):\n%s", pod.Labels, diff)
	}
	if got := pod.Spec.InitContainers[0].Env[0].Value; got != "10" {
		t.Errorf("an init container starts with GOGC=%s", got)
	}
}

// TestPolicyFindsTarget: for a target of each kind, the policy gives the baseline to the pods that are the target's by workload.TargetsOf.
func TestPolicyFindsTarget(t *testing.T) {
	owned := func(apiVersion, kind, name string, labels map[string]string) *corev1.Pod {
		pod := newPod()
		pod.Labels = labels
		pod.OwnerReferences[0].APIVersion, pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].Name = apiVersion, kind, name
		return pod
	}
	rollout := map[string]string{"rollouts-pod-template-hash": "5d9c"}
	pods := []*corev1.Pod{
		newPod(), owned("apps/v1", "ReplicaSet", "checkout-5d9c", rollout), owned("apps/v1", "ReplicaSet", "checkout", map[string]string{}),
		owned("apps/v1", "ReplicaSet", "checkout-api-5d9c", newPod().Labels), owned("apps/v1", "StatefulSet", "checkout", map[string]string{}),
		owned("apps/v1", "DaemonSet", "checkout", map[string]string{}), owned("example.com/v1", "Fleet", "checkout", map[string]string{}),
		owned("batch/v1", "Job", "checkout", map[string]string{}),
	}
	for _, target := range []v1alpha1.TargetReference{
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "checkout"}, {APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "checkout"},
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "checkout"}, {APIVersion: "apps/v1", Kind: "StatefulSet", Name: "checkout"},
		{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "checkout"}, {APIVersion: "example.com/v1beta1", Kind: "Fleet", Name: "checkout"},
	} {
		t.Run(target.Kind, func(t *testing.T) {
			s := newShop(t)
			policy := newPolicy()
			policy.Spec.TargetRef = target
			s.store(target, workload.Given(policy))
			probe := pods[slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return isOf(pod, target) })].DeepCopy()
			s.awaitPolicy(policy, probe)
			for _, pod := range pods {
				got := pod.DeepCopy()
				got.Namespace = s.namespace
				if err := s.client.Create(t.Context(), got, client.DryRunAll); err != nil {
					t.Fatal(err)
				}
				if given := settingsOf(t, got) == baseline; given != isOf(pod, target) {
					t.Errorf("a pod of %s %s, labels %v, gets the baseline: %t", pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].Name, pod.Labels, given)
				}
			}
		})
	}
}

func isOf(pod *corev1.Pod, target v1alpha1.TargetReference) bool {
	targets, _ := workload.TargetsOf(pod)
	return slices.ContainsFunc(targets, func(other v1alpha1.TargetReference) bool { return workload.SameTarget(other, target) })
}

// TestBlackHole has the API server ask a webhook that takes the call and never answers: pods start with the baseline, late by the timeout at most.
func TestBlackHole(t *testing.T) {
	s := newShop(t)
	s.withPolicy = true
	s.policy(newPolicy())
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	configuration, err := readConfiguration()
	if err != nil {
		t.Fatal(err)
	}
	hole := &configuration.Webhooks[0]
	timeout := time.Duration(*hole.TimeoutSeconds) * time.Second
	configuration.Name, hole.Name = "black-hole", "black-hole.tuning.gopacer.dev"
	hole.ClientConfig = registrationv1.WebhookClientConfig{URL: ptr.To("https://" + listener.Addr().String() + Path)}
	hole.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}}
	if err := s.client.Create(t.Context(), configuration); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.client.Delete(context.Background(), configuration); err != nil {
			t.Error(err)
		}
	})
	var pod *corev1.Pod
	var took time.Duration
	for deadline := time.Now().Add(patience); took < timeout && time.Now().Before(deadline); { // until the API server has heard of the webhook
		started := time.Now()
		pod = s.mustPod(nil)
		took = time.Since(started)
	}
	// The machine may be busy; what counts is that nothing waits for the request's own 34 s, or for the listener.
	if took < timeout || took > timeout+patience {
		t.Errorf("the pod took %s, the webhook may take %s", took, timeout)
	}
	if got := settingsOf(t, pod); got != baseline {
		t.Errorf("the pod starts with %+v, want the baseline", got)
	}
}

// TestUndo takes back what was given just now, and nothing else.
func TestUndo(t *testing.T) {
	given := func(app *corev1.Container) { app.Env[1].Value = "150" }
	for name, test := range map[string]struct {
		note, settings string
		change         func(*corev1.Container)
		want           settings.Settings
	}{
		"given":                      {string(revision) + "/app/GOGC=25", "GOGC=150", given, declared},
		"given, and nothing before":  {string(revision) + "/app/", "GOGC=150", given, settings.Settings{}},
		"changed by another webhook": {string(revision) + "/app/GOGC=25", "GOGC=150", func(app *corev1.Container) { app.Env[1].Value = "70" }, settings.Settings{GOGC: 70}},
		"added to by another webhook": {string(revision) + "/app/GOGC=25", "GOGC=150", func(app *corev1.Container) {
			given(app)
			app.Env = append(app.Env, corev1.EnvVar{Name: "GOMEMLIMIT", Value: "1024"})
		}, settings.Settings{GOGC: 25, MemoryLimitBytes: 1024}},
		"a template made from such a pod": {"another-revision/app/GOGC=25", "GOGC=150", given, baseline},
		"no such container":               {string(revision) + "/gone/GOGC=25", "GOGC=150", given, baseline},
		"not by the policy":               {"GOGC=25", "GOGC=150", given, baseline},
		"unreadable":                      {string(revision) + "/app/GOGC=lots", "GOGC=150", given, baseline},
		"unreadable settings":             {string(revision) + "/app/GOGC=25", "x", given, baseline},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod()
			pod.Annotations = map[string]string{v1alpha1.AnnotationDeclared: test.note, v1alpha1.AnnotationSettings: test.settings}
			test.change(container(pod, "app"))
			Undo(pod)
			if got := settingsOf(t, pod); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
