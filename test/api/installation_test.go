package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/internal/signal/prometheus"
)

const systemNamespace = "gopacer-system"

// TestInstallation applies config/default as a user would, and looks at what that gives.
func TestInstallation(t *testing.T) {
	objects := build(t, repository+"/config/default")
	apply(t, objects)
	t.Run("the manager's pod keeps the restricted pod security standard", testPodSecurity)
	t.Run("applying again keeps the certificates", func(t *testing.T) { testReapply(t, objects) })
	t.Run("permissions", testPermissions)
	t.Run("the manager reads its configuration", testConfiguration)
}

// TestOlderClusters: one that knows no MutatingAdmissionPolicy gets all else.
func TestOlderClusters(t *testing.T) {
	count := func(folder string) map[string]int {
		kinds := map[string]int{}
		for _, object := range build(t, repository+folder) {
			kinds[object.GetKind()]++
		}
		return kinds
	}
	want := count("/config/default")
	if want["MutatingAdmissionPolicy"] != 1 || want["MutatingAdmissionPolicyBinding"] != 1 {
		t.Errorf("the default installs %v", want)
	}
	delete(want, "MutatingAdmissionPolicy")
	delete(want, "MutatingAdmissionPolicyBinding")
	if diff := cmp.Diff(want, count("/config/webhook-only")); diff != "" {
		t.Errorf("kinds (-default +webhook only):\n%s", diff)
	}
}

// build runs kubectl kustomize, as users do.
func build(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	if _, err := os.Stat(kubectl); errors.Is(err, os.ErrNotExist) {
		kubectl = "kubectl"
	}
	var problems bytes.Buffer
	command := exec.CommandContext(t.Context(), kubectl, "kustomize", folder)
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", command, err, problems.String())
	}
	var objects []*unstructured.Unstructured
	for _, document := range bytes.Split(output, []byte("\n---\n")) {
		objects = append(objects, parseObject(t, document))
	}
	return objects
}

func apply(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	strict := client.WithFieldValidation(cluster, metav1.FieldValidationStrict)
	for _, object := range objects {
		content, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		err = strict.Patch(t.Context(), object.DeepCopy(), client.RawPatch(types.ApplyPatchType, content), client.FieldOwner("kubectl"), client.ForceOwnership)
		if err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// testPodSecurity creates the manager's pod: the namespace itself enforces the standard.
func testPodSecurity(t *testing.T) {
	var deployment appsv1.Deployment
	get(t, client.ObjectKey{Namespace: systemNamespace, Name: "gopacer"}, &deployment)
	pod := func() *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "gopacer-try", Namespace: systemNamespace},
			Spec:       *deployment.Spec.Template.Spec.DeepCopy(),
		}
	}
	if err := cluster.Create(t.Context(), pod(), client.DryRunAll); err != nil {
		t.Error(err)
	}
	privileged := pod()
	privileged.Spec.Containers[0].SecurityContext = nil
	if err := cluster.Create(t.Context(), privileged, client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Errorf("error %v, want a pod without a security context forbidden", err)
	}
}

// testConfiguration reads the installed configuration as the manager does.
func testConfiguration(t *testing.T) {
	var configuration corev1.ConfigMap
	get(t, client.ObjectKey{Namespace: systemNamespace, Name: "gopacer-config"}, &configuration)
	providers, err := prometheus.Parse([]byte(configuration.Data["config.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	if len(providers) != 1 || providers[0].Name != defaulted().Metrics.Provider {
		t.Errorf("providers %v, want only the one that policies name by default", providers)
	}
}

// testReapply plays the certificate rotator, and then a second apply: neither must undo the other's work.
func testReapply(t *testing.T, objects []*unstructured.Unstructured) {
	var secret corev1.Secret
	secretKey := client.ObjectKey{Namespace: systemNamespace, Name: "gopacer-webhook-cert"}
	get(t, secretKey, &secret)
	if len(secret.Data) != 0 {
		t.Errorf("the installation brings %d certificates along, want none", len(secret.Data))
	}
	secret.Data = map[string][]byte{"tls.crt": []byte("certificate")}
	update(t, &secret)
	var webhook admissionregistrationv1.MutatingWebhookConfiguration
	webhookKey := client.ObjectKey{Name: "gopacer-pods"}
	get(t, webhookKey, &webhook)
	webhook.Webhooks[0].ClientConfig.CABundle = server.CAData
	update(t, &webhook)

	apply(t, objects)
	get(t, secretKey, &secret)
	get(t, webhookKey, &webhook)
	if len(secret.Data["tls.crt"]) == 0 || len(webhook.Webhooks[0].ClientConfig.CABundle) == 0 {
		t.Errorf("certificate of %d bytes, certificate authority of %d, want both kept",
			len(secret.Data["tls.crt"]), len(webhook.Webhooks[0].ClientConfig.CABundle))
	}
}

// TestSamples holds the samples against the schema.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob(repository + "/config/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d samples: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if err := strictDryRun(t.Context(), readObject(t, file)); err != nil {
				t.Error(err)
			}
		})
	}
}

func strictDryRun(ctx context.Context, object *unstructured.Unstructured) error {
	err := client.WithFieldValidation(cluster, metav1.FieldValidationStrict).Create(ctx, object, client.DryRunAll)
	if err != nil {
		return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

func get(t *testing.T, key client.ObjectKey, object client.Object) {
	t.Helper()
	if err := cluster.Get(t.Context(), key, object); err != nil {
		t.Fatal(err)
	}
}

func update(t *testing.T, object client.Object) {
	t.Helper()
	if err := cluster.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}
