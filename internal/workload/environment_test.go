package workload

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// environment is the API server that the tests share; it starts with the first test that asks for it.
var environment = &envtest.Environment{CRDs: []*apiextensionsv1.CustomResourceDefinition{
	scalable("argoproj.io", "v1alpha1", "Rollout", "rollouts"), scalable("example.com", "v1", "Fleet", "fleets"), unscalable(scalable("example.com", "v1", "Flock", "flocks")),
}}

// scalable is a kind with any fields, and a scale.
func scalable(group, version, kind, plural string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: plural, Singular: strings.ToLower(kind)},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{
					SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas", LabelSelectorPath: ptr.To(".status.selector"),
				}},
			}},
		},
	}
}

func unscalable(kind *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	kind.Spec.Versions[0].Subresources = nil
	return kind
}

var startServer = sync.OnceValues(func() (client.Client, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, fmt.Errorf("this test needs an API server, and KUBEBUILDER_ASSETS is not set: run make test, which builds one")
	}
	config, err := environment.Start()
	if err != nil {
		return nil, fmt.Errorf("start an API server: %w", err)
	}
	return client.New(config, client.Options{Scheme: clientscheme.Scheme})
})

func TestMain(m *testing.M) {
	code := m.Run()
	if environment.Config != nil {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
		}
	}
	os.Exit(code)
}

// cluster is a client of a real API server, and a namespace of the test's own.
func cluster(t *testing.T) (client.Client, string) {
	t.Helper()
	c, err := startServer()
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "workload-"}}
	create(t, c, namespace)
	return c, namespace.Name
}

func create(t *testing.T, c client.Client, object client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatalf("create %T: %v", object, err)
	}
}

// deleteNow deletes a pod without grace, as a kubelet would at the end.
func deleteNow(t *testing.T, c client.Client, pod *corev1.Pod) {
	t.Helper()
	if err := c.Delete(context.Background(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatalf("delete pod %s: %v", pod.Name, err)
	}
}

func get(t *testing.T, c client.Client, namespace, name string, object client.Object) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		t.Fatalf("get %T %s: %v", object, name, err)
	}
}

var appLabels = map[string]string{"app": "checkout"}

func podTemplate(containers ...corev1.Container) corev1.PodTemplateSpec {
	if len(containers) == 0 {
		containers = []corev1.Container{{Name: "app", Image: "app"}}
	}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: appLabels}, Spec: corev1.PodSpec{Containers: containers}}
}

// newDeployment is settled: its controller has seen it, and all pods are of its one template.
func newDeployment(containers ...corev1.Container) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: "checkout", Namespace: "shop", UID: "deployment", Generation: 3,
			Annotations: map[string]string{revisionAnnotation: "2"},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](2),
			Selector: &metav1.LabelSelector{MatchLabels: appLabels},
			Template: podTemplate(containers...),
		},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2},
	}
}

func newReplicaSet(owner *appsv1.Deployment, hash, revision string, replicas int32) appsv1.ReplicaSet {
	return appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: owner.Name + "-" + hash, Namespace: owner.Namespace, UID: types.UID("replicaset-" + hash), Labels: appLabels,
			Annotations:     map[string]string{revisionAnnotation: revision},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: appLabels}, Template: podTemplate(),
		},
		Status: appsv1.ReplicaSetStatus{Replicas: replicas},
	}
}

func newPod(owner *appsv1.ReplicaSet, hash, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: owner.Namespace,
			Labels:          map[string]string{"app": "checkout", appsv1.DefaultDeploymentUniqueLabelKey: hash},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		},
		Spec: podTemplate().Spec,
	}
}
