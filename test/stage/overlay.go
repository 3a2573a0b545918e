package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gopacer/gopacer/test/cluster/programs"
)

// kustomization is what an overlay here can say.
type kustomization struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace,omitempty"`
	Resources  []string `json:"resources"`
	Images     []image  `json:"images,omitempty"`
	Patches    []patch  `json:"patches,omitempty"`
}

type image struct {
	Name    string `json:"name"`
	NewName string `json:"newName"`
	NewTag  string `json:"newTag,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

type patch struct {
	Target *target `json:"target,omitempty"`
	Patch  string  `json:"patch"`
}

type target struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// replaceImage says that an image of the manifests is to be another one: name:tag, or name@sha256:…
func replaceImage(name, by string) image {
	if repository, digest, found := strings.Cut(by, "@"); found {
		return image{Name: name, NewName: repository, Digest: digest}
	}
	// A colon before the last slash is that of a registry's port.
	if colon := strings.LastIndex(by, ":"); colon > strings.LastIndex(by, "/") {
		return image{Name: name, NewName: by[:colon], NewTag: by[colon+1:]}
	}
	return image{Name: name, NewName: by, NewTag: "latest"}
}

// newPatch writes a strategic merge patch.
func newPatch(object map[string]any) (patch, error) {
	text, err := yaml.Marshal(object)
	if err != nil {
		return patch{}, fmt.Errorf("write a patch: %w", err)
	}
	return patch{Patch: string(text)}, nil
}

// writeOverlay writes the overlay over a folder of the repository into out/stage, and returns its folder for kubectl's -k.
func writeOverlay(name, base string, content kustomization) (string, error) {
	repository, err := programs.Repository()
	if err != nil {
		return "", fmt.Errorf("write an overlay: %w", err)
	}
	folder := filepath.Join(repository, "out", "stage", name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("create the folder of an overlay: %w", err)
	}
	// kustomize takes no absolute paths.
	resource, err := filepath.Rel(folder, filepath.Join(repository, base))
	if err != nil {
		return "", fmt.Errorf("find %s from %s: %w", base, folder, err)
	}
	content.APIVersion, content.Kind, content.Resources = "kustomize.config.k8s.io/v1beta1", "Kustomization", []string{resource}
	text, err := yaml.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("write an overlay: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), text, 0o644); err != nil {
		return "", fmt.Errorf("write an overlay: %w", err)
	}
	return folder, nil
}
