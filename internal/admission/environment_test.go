package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/internal/workload"
)

// environment is an API server with the CRD and the webhook configuration as they are installed; it starts with the first test that asks for it.
var environment = &envtest.Environment{
	CRDDirectoryPaths:     []string{"../../config/crd/bases"},
	ErrorIfCRDPathMissing: true,
}

// patience takes the place of the webhook's short times, so that a busy machine fails no test; TestTimesFit holds the real ones.
const patience = 10 * time.Second

func readConfiguration() (*registrationv1.MutatingWebhookConfiguration, error) {
	text, err := os.ReadFile("../../config/webhook/manifests.yaml")
	if err != nil {
		return nil, err
	}
	var configuration registrationv1.MutatingWebhookConfiguration
	return &configuration, yaml.UnmarshalStrict(text, &configuration)
}

// served are the webhook replicas of each test, by the namespace that the test has to itself.
var served = &router{replicas: map[string][]http.Handler{}}

var startServer = sync.OnceValues(func() (client.Client, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, errors.New("this test needs an API server, and KUBEBUILDER_ASSETS is not set: run make test, which builds one")
	}
	configuration, err := readConfiguration()
	if err != nil {
		return nil, fmt.Errorf("read the webhook configuration: %w", err)
	}
	configuration.Webhooks[0].TimeoutSeconds = ptr.To(int32(2 * patience / time.Second))
	environment.WebhookInstallOptions.MutatingWebhooks = []*registrationv1.MutatingWebhookConfiguration{configuration}
	config, err := environment.Start()
	if err != nil {
		return nil, fmt.Errorf("start an API server: %w", err)
	}
	config.QPS = -1
	options := environment.WebhookInstallOptions
	server := webhook.NewServer(webhook.Options{Host: options.LocalServingHost, Port: options.LocalServingPort, CertDir: options.LocalServingCertDir})
	server.Register(Path, served)
	go func() { // it ends with the test binary
		if err := server.Start(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "serve the webhook:", err)
		}
	}()
	c, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, err
	}
	return c, installPolicy(c)
})

// installPolicy stores the MutatingAdmissionPolicy and its binding. They act where a test stores a RuntimeBaseline.
func installPolicy(c client.Client) error {
	var policy registrationv1.MutatingAdmissionPolicy
	var binding registrationv1.MutatingAdmissionPolicyBinding
	for file, object := range map[string]client.Object{"policy.yaml": &policy, "binding.yaml": &binding} {
		text, err := os.ReadFile("../../config/admissionpolicy/" + file)
		if err != nil {
			return err
		}
		if err := yaml.UnmarshalStrict(text, object); err != nil {
			return err
		}
		if err := c.Create(context.Background(), object); err != nil {
			return fmt.Errorf("store %s: %w", file, err)
		}
	}
	return nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

func TestMain(m *testing.M) {
	code := m.Run()
	if environment.Config != nil {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
		}
	}
	os.Exit(code)
}

// unserved is a label of pods that the webhook is not there for.
const unserved = "unserved-by-the-webhook"

// router hands the pods of a namespace to its replicas in turn.
type router struct {
	mutex    sync.Mutex
	replicas map[string][]http.Handler
}

func (r *router) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	var review admissionv1.AdmissionReview
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil || review.Request == nil {
		http.Error(response, fmt.Sprintf("not an admission review: %v", err), http.StatusBadRequest)
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	if next := r.next(review.Request.Namespace); next != nil && !strings.Contains(string(review.Request.Object.Raw), unserved) {
		next.ServeHTTP(response, request)
		return
	}
	http.NotFound(response, request)
}

func (r *router) next(namespace string) http.Handler {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	replicas := r.replicas[namespace]
	if len(replicas) == 0 {
		return nil
	}
	r.replicas[namespace] = append(replicas[1:len(replicas):len(replicas)], replicas[0])
	return replicas[0]
}

func (r *router) serve(namespace string, replicas ...http.Handler) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.replicas[namespace] = replicas
}

// shop is a namespace of a test's own.
type shop struct {
	t         *testing.T
	client    client.Client
	namespace string
	// withPolicy says that what is promoted is there for the MutatingAdmissionPolicy too.
	withPolicy bool
}

// bothWays runs a test as before Kubernetes 1.36, where the webhook alone gives new pods their settings, and with the policy in front of it.
func bothWays(t *testing.T, test func(*testing.T, *shop)) {
	t.Run("webhook only", func(t *testing.T) { test(t, newShop(t)) })
	t.Run("policy and webhook", func(t *testing.T) {
		s := newShop(t)
		s.withPolicy = true
		test(t, s)
	})
}

// another namespace, of the same kind.
func (s *shop) another(t *testing.T) *shop {
	t.Helper()
	other := newShop(t)
	other.withPolicy = s.withPolicy
	return other
}

func newShop(t *testing.T) *shop {
	t.Helper()
	c, err := startServer()
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-"}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return &shop{t: t, client: c, namespace: namespace.Name}
}

// policy stores a policy with its status.
func (s *shop) policy(policy *v1alpha1.RuntimeTuningPolicy) *v1alpha1.RuntimeTuningPolicy {
	s.t.Helper()
	status := policy.Status
	policy.ObjectMeta = metav1.ObjectMeta{Name: policy.Name, Namespace: s.namespace}
	if err := s.client.Create(s.t.Context(), policy); err != nil {
		s.t.Fatalf("create the policy: %v", err)
	}
	policy.Status = status
	s.updateStatus(policy)
	return policy
}

func (s *shop) updateStatus(policy *v1alpha1.RuntimeTuningPolicy) {
	s.t.Helper()
	if err := s.client.Status().Update(s.t.Context(), policy); err != nil {
		s.t.Fatalf("write the policy's status: %v", err)
	}
	s.keep(policy)
}

// keep stores the RuntimeBaseline that goes with a policy's status, and waits until the API server goes by it.
func (s *shop) keep(policy *v1alpha1.RuntimeTuningPolicy) {
	s.t.Helper()
	if !s.withPolicy {
		return
	}
	s.store(policy.Spec.TargetRef, workload.Given(policy))
	probe := newPod()
	probe.OwnerReferences[0].Name = policy.Spec.TargetRef.Name + "-5d9c"
	s.awaitPolicy(policy, probe)
}

// store writes what new pods of a target start with.
func (s *shop) store(target v1alpha1.TargetReference, given *v1alpha1.GivenBaseline) {
	s.t.Helper()
	baseline := workload.NewBaseline(s.namespace, target)
	if _, err := controllerutil.CreateOrUpdate(s.t.Context(), s.client, baseline, func() error {
		baseline.Spec.Baseline, baseline.Spec.ChangedAt = given, metav1.NewTime(noon)
		return nil
	}); err != nil {
		s.t.Fatalf("store the RuntimeBaseline: %v", err)
	}
}

// awaitPolicy waits until the MutatingAdmissionPolicy gives a pod of the policy's target what the webhook would.
func (s *shop) awaitPolicy(policy *v1alpha1.RuntimeTuningPolicy, probe *corev1.Pod) {
	s.t.Helper()
	target := policy.Spec.TargetRef.Name
	probe.Namespace, probe.GenerateName = s.namespace, "probe-"
	probe.Labels[unserved] = ""
	want := probe.DeepCopy()
	Decide(want, policy).Write(want)
	var got *corev1.Pod
	err := wait.PollUntilContextTimeout(s.t.Context(), 5*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		got = probe.DeepCopy()
		err := s.client.Create(ctx, got, client.DryRunAll)
		_, marked := got.Annotations[v1alpha1.AnnotationDeclared]
		return marked == (want.Labels[v1alpha1.LabelPolicy] != "") && cmp.Equal(container(want, "app").Env, container(got, "app").Env), err
	})
	if err != nil {
		s.t.Fatalf("the MutatingAdmissionPolicy does not give %s: %v\n%s", target, err, cmp.Diff(container(want, "app").Env, container(got, "app").Env))
	}
}

// pod asks for a pod like the ReplicaSet controller does, after a change.
func (s *shop) pod(change func(*corev1.Pod), options ...client.CreateOption) (*corev1.Pod, error) {
	pod := newPod()
	pod.Namespace = s.namespace
	if change != nil {
		change(pod)
	}
	return pod, s.client.Create(s.t.Context(), pod, options...)
}

func (s *shop) mustPod(change func(*corev1.Pod), options ...client.CreateOption) *corev1.Pod {
	s.t.Helper()
	pod, err := s.pod(change, options...)
	if err != nil {
		s.t.Fatalf("create a pod: %v", err)
	}
	return pod
}

// canaries are the pods of the namespace that run the candidate, by name.
func (s *shop) canaries() []string {
	s.t.Helper()
	var pods corev1.PodList
	if err := s.client.List(s.t.Context(), &pods, client.InNamespace(s.namespace)); err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for i := range pods.Items {
		if tuned := container(&pods.Items[i], "app"); tuned != nil && settingsOf(s.t, &pods.Items[i]) == candidate {
			names = append(names, pods.Items[i].Name)
		}
	}
	return names
}

// policies are what the manager uses: a cache with its index, and the API server itself.
func (s *shop) policies() ClusterPolicies {
	s.t.Helper()
	informers, err := cache.New(environment.Config, cache.Options{Scheme: newScheme()})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := IndexTargets(s.t.Context(), informers); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- informers.Start(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			s.t.Error(err)
		}
	})
	if _, err := informers.GetInformer(s.t.Context(), &v1alpha1.RuntimeTuningPolicy{}); err != nil {
		s.t.Fatal(err)
	}
	if !informers.WaitForCacheSync(s.t.Context()) {
		s.t.Fatal("the cache did not fill")
	}
	return ClusterPolicies{Cache: informers, Server: s.client}
}

// serve sends the namespace's pods to a webhook replica for each of the given policies.
func (s *shop) serve(policies ...Policies) {
	s.t.Helper()
	var replicas []http.Handler
	for _, each := range policies {
		replicas = append(replicas, s.replica(each, fixedClock()).Webhook())
	}
	served.serve(s.namespace, replicas...)
}

// replica is a handler that must not meet an error while the test lasts.
func (s *shop) replica(policies Policies, clock clock.PassiveClock) *Handler {
	handler, registry := newHandler(s.t, policies, clock)
	handler.liveTimeout = patience
	s.t.Cleanup(func() {
		if count := admissions(s.t, registry)[resultError]; count > 0 {
			s.t.Errorf("%v admissions met an error", count)
		}
	})
	return handler
}
