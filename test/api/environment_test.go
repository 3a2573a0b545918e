// Package api_test holds the RuntimeTuningPolicy's schema, and the manifests in config/, against a real API server.
package api_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

const (
	repository = "../.."
	crdFile    = repository + "/config/crd/bases/tuning.gopacer.dev_runtimetuningpolicies.yaml"
	namespace  = "shop"
)

// The API server that all tests of this package share, and an administrator's way in.
var (
	server  *rest.Config
	cluster client.Client
)

func TestMain(m *testing.M) {
	code, err := runWithServer(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runWithServer(m *testing.M) (int, error) {
	environment := &envtest.Environment{CRDDirectoryPaths: []string{filepath.Dir(crdFile)}, ErrorIfCRDPathMissing: true}
	defer func() { // also where the API server started, and then refused the CRD
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
		}
	}()
	var err error
	if server, err = environment.Start(); err != nil {
		return 0, fmt.Errorf("start an API server (KUBEBUILDER_ASSETS names the folder of etcd and kube-apiserver): %w", err)
	}
	server.QPS = -1 // the tests send hundreds of small requests
	if cluster, err = client.New(server, client.Options{Scheme: newScheme()}); err != nil {
		return 0, err
	}
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := cluster.Create(context.Background(), shop); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// readObject reads one YAML object of a file.
func readObject(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return parseObject(t, content)
}

func parseObject(t *testing.T, content []byte) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(content, &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// create stores an object until the end of the test.
func create(t *testing.T, object client.Object) {
	t.Helper()
	if err := cluster.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Delete(context.Background(), object); err != nil {
			t.Error(err)
		}
	})
}
