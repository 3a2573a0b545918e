package stage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"sigs.k8s.io/yaml"
)

// Names that test/workload/manifests has.
const (
	WorkloadNamespace  = "shop"
	WorkloadDeployment = "checkout"
	LoadDeployment     = "load"
	// defaultRate is that of the manifests, in requests a second over all pods.
	defaultRate = 180
	workload    = "localhost/gopacer-workload"
	load        = "localhost/gopacer-load"
)

// workloadLimit is for pods that build their heap on a machine that is busy.
const workloadLimit = 3 * time.Minute

// Workload is how the service under test and its load differ from test/workload/manifests. What is zero stays as it is
// there.
type Workload struct {
	// Image and LoadImage are those of the service and of the load generator.
	Image, LoadImage string
	// Namespace is created where it is missing.
	Namespace string
	Replicas  int
	// Env is set in the service's container; an empty value takes the variable out.
	Env map[string]string
	// Rate is requests a second over all pods; a negative one is no load at all.
	Rate int
	// MemoryLimit of the service's container, such as 512Mi.
	MemoryLimit string
	// MemoryRequest of the same; it must not exceed MemoryLimit.
	MemoryRequest string
	// CPULimit of the same, such as 100m; at least what the manifests request, 50m.
	CPULimit string
}

// InstallWorkload applies an overlay over test/workload/manifests and waits until every pod is ready. It may be called
// again, to change the workload.
func InstallWorkload(ctx context.Context, kube Kube, wanted Workload) error {
	if wanted.Namespace == "" {
		wanted.Namespace = WorkloadNamespace
	}
	content, err := wanted.overlay()
	if err != nil {
		return err
	}
	folder, err := writeOverlay("workload-"+wanted.Namespace, "test/workload/manifests", content)
	if err != nil {
		return err
	}
	if _, err := kube.Run(ctx, "", "apply", "--server-side", "--kustomize", folder); err != nil {
		return fmt.Errorf("install the workload: %w", err)
	}
	for _, name := range []string{WorkloadDeployment, LoadDeployment} {
		if err := kube.AwaitDeployment(ctx, wanted.Namespace, name, workloadLimit); err != nil {
			return fmt.Errorf("install the workload: %w", err)
		}
	}
	return nil
}

// UninstallWorkload deletes the namespace of the workload and waits until it is gone.
func UninstallWorkload(ctx context.Context, kube Kube, namespace string) error {
	if _, err := kube.Run(ctx, "", "delete", "namespace", namespace, "--ignore-not-found", "--timeout", deleteLimit.String()); err != nil {
		return fmt.Errorf("uninstall the workload: %w", err)
	}
	return nil
}

func (w Workload) overlay() (kustomization, error) {
	content := kustomization{Namespace: w.Namespace}
	if w.Image != "" {
		content.Images = append(content.Images, replaceImage(workload, w.Image))
	}
	if w.LoadImage != "" {
		content.Images = append(content.Images, replaceImage(load, w.LoadImage))
	}
	service, err := newPatch(deploymentPatch(WorkloadDeployment, w.service()))
	if err != nil {
		return kustomization{}, err
	}
	generator, err := newPatch(deploymentPatch(LoadDeployment, w.load()))
	if err != nil {
		return kustomization{}, err
	}
	arguments, err := w.loadArguments()
	if err != nil {
		return kustomization{}, err
	}
	content.Patches = []patch{service, generator, arguments}
	return content, nil
}

func deploymentPatch(name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "namespace": WorkloadNamespace},
		"spec":     spec,
	}
}

// service is the part of the Deployment's spec that is to be other than in the manifests.
func (w Workload) service() map[string]any {
	container := map[string]any{"name": WorkloadDeployment, "imagePullPolicy": "IfNotPresent", "env": w.environment()}
	container["resources"] = w.resources()
	spec := map[string]any{"template": podWith(container)}
	if w.Replicas != 0 {
		spec["replicas"] = w.Replicas
	}
	return spec
}

func (w Workload) resources() map[string]any {
	limits, resources := map[string]any{}, map[string]any{}
	if w.MemoryLimit != "" {
		limits["memory"] = w.MemoryLimit
	}
	if w.CPULimit != "" {
		limits["cpu"] = w.CPULimit
	}
	if len(limits) > 0 {
		resources["limits"] = limits
	}
	if w.MemoryRequest != "" {
		resources["requests"] = map[string]any{"memory": w.MemoryRequest}
	}
	return resources
}

func (w Workload) environment() []map[string]any {
	entries := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(w.Env)) {
		if w.Env[name] == "" {
			entries = append(entries, map[string]any{"name": name, "$patch": "delete"})
			continue
		}
		entries = append(entries, map[string]any{"name": name, "value": w.Env[name]})
	}
	return entries
}

func (w Workload) load() map[string]any {
	spec := map[string]any{"template": podWith(map[string]any{"name": LoadDeployment, "imagePullPolicy": "IfNotPresent"})}
	if w.Rate < 0 {
		spec["replicas"] = 0
	}
	return spec
}

func podWith(container map[string]any) map[string]any {
	return map[string]any{"spec": map[string]any{"containers": []any{container}}}
}

// loadArguments is a JSON patch: arguments have no names by which they could be merged.
func (w Workload) loadArguments() (patch, error) {
	rate := defaultRate
	if w.Rate > 0 {
		rate = w.Rate
	}
	operations, err := yaml.Marshal([]map[string]any{{
		"op": "replace", "path": "/spec/template/spec/containers/0/args",
		"value": []string{"-namespace=" + w.Namespace, "-service=" + WorkloadDeployment, "-rate=" + strconv.Itoa(rate)},
	}})
	if err != nil {
		return patch{}, fmt.Errorf("write a patch: %w", err)
	}
	return patch{Target: &target{Kind: "Deployment", Name: LoadDeployment}, Patch: string(operations)}, nil
}
