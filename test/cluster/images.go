package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gopacer/gopacer/test/cluster/programs"
	"github.com/gopacer/gopacer/test/oci"
)

const pauseImage = "localhost/pause:dev"

// modulePath is that of this module, for the small programs of the cluster that are part of it.
const modulePath = "github.com/gopacer/gopacer/test/cluster/"

// LoadImage imports an image's archive, as package oci or `docker save` write it, so that pods
// with imagePullPolicy Never or IfNotPresent find it.
func (c *Cluster) LoadImage(ctx context.Context, archive string) error {
	return c.layout.loadImage(ctx, c.record.Programs, archive)
}

func (l layout) loadImage(ctx context.Context, paths programs.Paths, archive string) error {
	if _, err := os.Stat(archive); err != nil {
		return fmt.Errorf("load an image: %w", err)
	}
	command := exec.CommandContext(ctx, paths[programs.Ctr], "--address", l.ContainerdSocket(), "--namespace", "k8s.io",
		"images", "import", archive)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("load the image archive %s with `%s`: %w: %s", archive, strings.Join(command.Args, " "), err,
			strings.TrimSpace(string(output)))
	}
	return nil
}

// buildPauseImage builds the image of the first container of every pod.
func (l layout) buildPauseImage(ctx context.Context, repository string) error {
	return oci.Build{
		Package: modulePath + "pause",
		Folder:  repository,
		Name:    pauseImage,
		Out:     l.pauseArchive(),
	}.Run(ctx)
}

func (l layout) pauseArchive() string { return l.Path("images/pause.tar") }

// runtimePath is the OCI runtime that containerd calls: the one that knows where runc is, beside it.
func (l layout) runtimePath() string { return l.Path("runtime/runtime") }

// installRuntime puts runc, and the program that stands before it, into the cluster's folder.
func (l layout) installRuntime(ctx context.Context, repository, runc string) error {
	if err := os.MkdirAll(filepath.Dir(l.runtimePath()), 0o700); err != nil {
		return fmt.Errorf("create the folder of the container runtime: %w", err)
	}
	if err := os.Symlink(runc, filepath.Join(filepath.Dir(l.runtimePath()), "runc")); err != nil && !os.IsExist(err) {
		return fmt.Errorf("link runc into the cluster's folder: %w", err)
	}
	program, err := buildProgram(ctx, repository, modulePath+"runtime")
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.runtimePath(), program, 0o700); err != nil {
		return fmt.Errorf("install the program before runc: %w", err)
	}
	return nil
}

// buildProgram returns a static program of this module. It is built outside the cluster's folder,
// so that a build that outlives a killed command does not write where nothing is any more.
func buildProgram(ctx context.Context, repository, packagePath string) ([]byte, error) {
	workplace, err := os.MkdirTemp("", "program-")
	if err != nil {
		return nil, fmt.Errorf("create a folder to build %s in: %w", packagePath, err)
	}
	defer func() { _ = os.RemoveAll(workplace) }()
	binary := filepath.Join(workplace, "program")
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, packagePath)
	command.Dir = repository
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s with `%s`: %w: %s", packagePath, strings.Join(command.Args, " "), err, output)
	}
	return os.ReadFile(binary)
}
