package stage

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

func kubectl(t *testing.T) string {
	t.Helper()
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		return filepath.Join(assets, "kubectl")
	}
	found, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("no kubectl in PATH and no KUBEBUILDER_ASSETS: run `make test`")
	}
	return found
}

// render returns the objects of an overlay by kind/name.
func render(t *testing.T, name, base string, content kustomization) map[string]string {
	t.Helper()
	folder, err := writeOverlay(name, base, content)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	kube := Kube{Kubectl: kubectl(t), Kubeconfig: filepath.Join(t.TempDir(), "none")}
	output, err := kube.Run(t.Context(), "", "kustomize", folder)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]string{}
	for _, document := range strings.Split(output, "\n---\n") {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		objects[object.Kind+"/"+object.Metadata.Name] = document
	}
	return objects
}

func read[T any](t *testing.T, objects map[string]string, name string) T {
	t.Helper()
	var object T
	if objects[name] == "" {
		t.Fatalf("the overlay has no %s", name)
	}
	if err := yaml.Unmarshal([]byte(objects[name]), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestOperatorOverlay(t *testing.T) {
	content, err := Operator{Image: "localhost/gopacer:abc", PrometheusAddress: "http://prometheus:1", ScrapeInterval: time.Second}.overlay()
	if err != nil {
		t.Fatal(err)
	}
	objects := render(t, "test-operator", "config/default", content)
	deployment := read[appsv1.Deployment](t, objects, "Deployment/"+OperatorDeployment)
	if got := deployment.Spec.Template.Spec.Containers[0].Image; got != "localhost/gopacer:abc" {
		t.Errorf("image %s", got)
	}
	got := read[corev1.ConfigMap](t, objects, "ConfigMap/"+configurationMap).Data
	want := map[string]string{"config.yaml": "providers:\n- address: http://prometheus:1\n  name: default\n  scrapeInterval: 1s\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWorkloadOverlay(t *testing.T) {
	wanted := Workload{
		Image: "registry:5000/service", LoadImage: "registry/load@sha256:" + strings.Repeat("a", 64), Namespace: "elsewhere", Replicas: 8,
		Env: map[string]string{"GOGC": "100", "GOMAXPROCS": "", "SLOW_SHARE": "0.1"}, Rate: 50, MemoryLimit: "1Gi", CPULimit: "300m",
	}
	content, err := wanted.overlay()
	if err != nil {
		t.Fatal(err)
	}
	objects := render(t, "test-workload", "test/workload/manifests", content)
	service := read[appsv1.Deployment](t, objects, "Deployment/"+WorkloadDeployment)
	container := service.Spec.Template.Spec.Containers[0]
	environment := map[string]string{}
	for _, entry := range container.Env {
		environment[entry.Name] = entry.Value
	}
	if _, found := environment["GOMAXPROCS"]; found || environment["GOGC"] != "100" || environment["SLOW_SHARE"] != "0.1" || environment["LIVE_HEAP_MB"] == "" {
		t.Errorf("environment %v", environment)
	}
	if *service.Spec.Replicas != 8 || service.Namespace != "elsewhere" || container.Image != "registry:5000/service:latest" ||
		container.Resources.Limits.Memory().String() != "1Gi" || container.Resources.Limits.Cpu().String() != "300m" || container.Resources.Requests.Cpu().IsZero() {
		t.Errorf("service %s", objects["Deployment/"+WorkloadDeployment])
	}
	generator := read[appsv1.Deployment](t, objects, "Deployment/"+LoadDeployment)
	if diff := cmp.Diff([]string{"-namespace=elsewhere", "-service=checkout", "-rate=50"}, generator.Spec.Template.Spec.Containers[0].Args); diff != "" {
		t.Error(diff)
	}
	read[corev1.Namespace](t, objects, "Namespace/elsewhere")
	if binding := read[rbacv1.RoleBinding](t, objects, "RoleBinding/load"); binding.Subjects[0].Namespace != "elsewhere" {
		t.Errorf("the load generator's right is that of %v", binding.Subjects)
	}
}

// TestUnchangedWorkload holds the defaults here to those of the manifests.
func TestUnchangedWorkload(t *testing.T) {
	content, err := Workload{Namespace: WorkloadNamespace}.overlay()
	if err != nil {
		t.Fatal(err)
	}
	got := render(t, "test-unchanged", "test/workload/manifests", content)
	want := render(t, "test-bare", "test/workload/manifests", kustomization{})
	for name := range want {
		same := strings.ReplaceAll(want[name], "imagePullPolicy: Never", "imagePullPolicy: IfNotPresent")
		if diff := cmp.Diff(strings.TrimSpace(same), strings.TrimSpace(got[name])); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestReplaceImage(t *testing.T) {
	for by, want := range map[string]image{
		"localhost/a:b":         {Name: "x", NewName: "localhost/a", NewTag: "b"},
		"registry:5000/a":       {Name: "x", NewName: "registry:5000/a", NewTag: "latest"},
		"registry:5000/a:1":     {Name: "x", NewName: "registry:5000/a", NewTag: "1"},
		"registry/a@sha256:123": {Name: "x", NewName: "registry/a", Digest: "sha256:123"},
		"plain":                 {Name: "x", NewName: "plain", NewTag: "latest"},
	} {
		if got := replaceImage("x", by); got != want {
			t.Errorf("%s: %+v", by, got)
		}
	}
}
