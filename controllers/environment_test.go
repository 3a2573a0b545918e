package controllers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/gopacer/gopacer/api/v1alpha1"
)

// environment is the API server that the tests share; it starts with the first test that asks for it.
var environment = &envtest.Environment{CRDDirectoryPaths: []string{"../config/crd/bases"}, ErrorIfCRDPathMissing: true}

var startServer = sync.OnceValues(func() (client.WithWatch, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, errors.New("this test needs an API server, and KUBEBUILDER_ASSETS is not set: run make test, which builds one")
	}
	config, err := environment.Start()
	if err != nil {
		return nil, fmt.Errorf("start an API server: %w", err)
	}
	config.QPS = -1
	return client.NewWithWatch(config, client.Options{Scheme: newScheme()})
})

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	code := m.Run()
	if environment.Config != nil {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
		}
	}
	os.Exit(code)
}
