package programs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Assets returns a folder that serves as KUBEBUILDER_ASSETS: it has etcd, kube-apiserver and
// kubectl. A kubectl in PATH is used if there is one, because it is the dearest to link and
// tests hardly run it.
func Assets(ctx context.Context, output io.Writer) (string, error) {
	names := []string{Etcd, APIServer}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		names = append(names, Kubectl)
	}
	paths, err := Ensure(ctx, output, names...)
	if err != nil {
		return "", err
	}
	if paths[Kubectl] == "" {
		paths[Kubectl] = kubectl
	}
	// The folder lies beside the API server, so another version gets another one.
	folder := filepath.Join(filepath.Dir(paths[APIServer]), "assets")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("create the folder for test programs: %w", err)
	}
	for name, target := range paths {
		if err := link(target, filepath.Join(folder, name)); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// link makes name point to target, also where it pointed elsewhere before.
func link(target, name string) error {
	if present, err := os.Readlink(name); err == nil && present == target {
		return nil
	}
	temporary := fmt.Sprintf("%s.%d", name, os.Getpid())
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove an old link: %w", err)
	}
	if err := os.Symlink(target, temporary); err != nil {
		return fmt.Errorf("link %s to %s: %w", name, target, err)
	}
	if err := os.Rename(temporary, name); err != nil {
		return fmt.Errorf("link %s to %s: %w", name, target, err)
	}
	return nil
}
