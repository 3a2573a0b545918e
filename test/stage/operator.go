package stage

import (
	"context"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/gopacer/gopacer/test/cluster/programs"
)

// What config/default calls the things that are waited for or changed.
const (
	OperatorNamespace  = "gopacer-system"
	OperatorDeployment = "gopacer"
	// policies is the resource, and policyDefinition the CRD.
	policies             = "runtimetuningpolicies.tuning.gopacer.dev"
	policyDefinition     = "crd/" + policies
	webhookConfiguration = "gopacer-pods"
	configurationMap     = "gopacer-config"
	operatorImage        = "gopacer/gopacer"

	readyLimit  = 2 * time.Minute
	deleteLimit = 3 * time.Minute
)

// Operator is what an installation of gopacer has of its own.
type Operator struct {
	// Image is the manager's.
	Image string
	// PrometheusAddress is where pods reach Prometheus.
	PrometheusAddress string
	// ScrapeInterval is that of Prometheus.
	ScrapeInterval time.Duration
}

// InstallOperator applies an overlay over config/default and waits until the manager serves. It may be called again, to
// change the installation.
func InstallOperator(ctx context.Context, kube Kube, operator Operator) error {
	content, err := operator.overlay()
	if err != nil {
		return err
	}
	folder, err := writeOverlay("operator", "config/default", content)
	if err != nil {
		return err
	}
	if _, err := kube.Run(ctx, "", "apply", "--server-side", "--kustomize", folder); err != nil {
		return fmt.Errorf("install gopacer: %w", err)
	}
	if _, err := kube.Run(ctx, "", "wait", "--for=condition=Established", "--timeout=60s", policyDefinition); err != nil {
		return fmt.Errorf("install gopacer: %w", err)
	}
	if err := kube.AwaitDeployment(ctx, OperatorNamespace, OperatorDeployment, readyLimit); err != nil {
		return fmt.Errorf("install gopacer: %w", err)
	}
	return kube.awaitWebhook(ctx)
}

// overlay names the image and the Prometheus.
func (o Operator) overlay() (kustomization, error) {
	configuration, err := yaml.Marshal(map[string]any{"providers": []map[string]any{{
		"name": "default", "address": o.PrometheusAddress, "scrapeInterval": o.ScrapeInterval.String(),
	}}})
	if err != nil {
		return kustomization{}, fmt.Errorf("write the manager's configuration: %w", err)
	}
	configured, err := newPatch(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": configurationMap, "namespace": OperatorNamespace},
		"data":     map[string]any{"config.yaml": string(configuration)},
	})
	if err != nil {
		return kustomization{}, err
	}
	return kustomization{Images: []image{replaceImage(operatorImage, o.Image)}, Patches: []patch{configured}}, nil
}

// awaitWebhook waits for the certificate authority in the webhook's configuration: until then pods start without gopacer.
func (k Kube) awaitWebhook(ctx context.Context) error {
	return Await(ctx, "the webhook's certificate", readyLimit, func(ctx context.Context) error {
		var configuration admissionv1.MutatingWebhookConfiguration
		if err := k.Get(ctx, &configuration, "mutatingwebhookconfiguration", webhookConfiguration); err != nil {
			return err
		}
		for _, webhook := range configuration.Webhooks {
			if len(webhook.ClientConfig.CABundle) == 0 {
				return fmt.Errorf("webhook %s has no caBundle yet: see the logs of Deployment %s/%s", webhook.Name, OperatorNamespace, OperatorDeployment)
			}
		}
		return nil
	})
}

// UninstallOperator deletes all policies while the manager can still carry out what their deletionPolicy asks for, and
// then everything of config/default.
func UninstallOperator(ctx context.Context, kube Kube) error {
	installed, err := kube.Run(ctx, "", "get", policyDefinition, "--ignore-not-found", "--output", "name")
	if err != nil {
		return fmt.Errorf("uninstall gopacer: %w", err)
	}
	if installed != "" {
		if _, err := kube.Run(ctx, "", "delete", policies, "--all", "--all-namespaces", "--timeout", deleteLimit.String()); err != nil {
			return fmt.Errorf("delete the policies before gopacer: %w", err)
		}
	}
	repository, err := programs.Repository()
	if err != nil {
		return fmt.Errorf("uninstall gopacer: %w", err)
	}
	if _, err := kube.Run(ctx, "", "delete", "--ignore-not-found", "--timeout", deleteLimit.String(), "--kustomize", repository+"/config/default"); err != nil {
		return fmt.Errorf("uninstall gopacer: %w", err)
	}
	return nil
}
