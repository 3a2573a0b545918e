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
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/gopacer/gopacer/api/v1alpha1"
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
	return client.New(config, client.Options{Scheme: newScheme()})
})

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
	if next := r.next(review.Request.Namespace); next != nil {
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
