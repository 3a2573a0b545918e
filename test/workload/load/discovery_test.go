package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// startServer returns an administrator's client of a real API server with all manifests, and a
// kubeconfig of the service account that they give the generator.
func startServer(t *testing.T) (client.Client, string) {
	t.Helper()
	environment := &envtest.Environment{}
	administrator, err := environment.Start()
	if err != nil {
		t.Fatalf("start an API server (KUBEBUILDER_ASSETS names the folder of etcd and kube-apiserver): %v", err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	cluster, err := client.New(administrator, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, cluster, "namespace.yaml")
	apply(t, cluster, "checkout.yaml")
	apply(t, cluster, "load.yaml")
	account, err := environment.AddUser(envtest.User{Name: "system:serviceaccount:shop:load"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	content, err := account.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return cluster, kubeconfig
}

// TestFollow watches a Service with no more rights than the manifests give.
func TestFollow(t *testing.T) {
	cluster, kubeconfig := startServer(t)
	watched := newSlice("checkout-1", "checkout", "10.0.0.1", "10.0.0.2")
	for _, slice := range []*discoveryv1.EndpointSlice{watched, newSlice("other-1", "other", "10.0.0.9")} {
		if err := cluster.Create(t.Context(), slice); err != nil {
			t.Fatal(err)
		}
	}
	endpoints := new(ring)
	follower := discovery{kubeconfig: kubeconfig, namespace: "shop", service: "checkout"}
	if err := follower.follow(t.Context(), endpoints); err != nil {
		t.Fatal(err)
	}
	expectSize(t, endpoints, 2)
	watched.Endpoints[0].Conditions.Ready = ptr.To(false)
	if err := cluster.Update(t.Context(), watched); err != nil {
		t.Fatal(err)
	}
	expectSize(t, endpoints, 1)
	if got, _ := endpoints.take(); got != "10.0.0.2:8080" {
		t.Errorf("the endpoint left is %s", got)
	}
	if err := cluster.Delete(t.Context(), watched); err != nil {
		t.Fatal(err)
	}
	expectSize(t, endpoints, 0)
}

func newSlice(name, service string, addresses ...string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080)}},
	}
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
		})
	}
	return slice
}

func expectSize(t *testing.T, endpoints *ring, want int) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(20 * time.Second)
	for endpoints.size() != want {
		select {
		case <-deadline:
			t.Fatalf("after 20 s there are %d endpoints, want %d", endpoints.size(), want)
		case <-ticker.C:
		}
	}
}
