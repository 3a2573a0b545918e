package oci

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// Build is a program that is to become an image.
type Build struct {
	// Package is the import path or folder of the main package.
	Package string
	// Folder is where the go command runs; empty is the working directory.
	Folder string
	// Name is what the image will be called.
	Name string
	// Out is the archive to write.
	Out string
	// Architecture is the one of this machine where it is empty.
	Architecture string
}

// Run compiles the program and writes the archive.
func (b Build) Run(ctx context.Context) error {
	if b.Package == "" || b.Name == "" || b.Out == "" {
		return errors.New("build an image: package, name and out are needed")
	}
	if b.Architecture == "" {
		b.Architecture = runtime.GOARCH
	}
	workplace, err := os.MkdirTemp("", "image-")
	if err != nil {
		return fmt.Errorf("create a folder to build %s in: %w", b.Package, err)
	}
	defer func() { _ = os.RemoveAll(workplace) }()
	binary := filepath.Join(workplace, "program")
	if err := b.Compile(ctx, binary); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.Out), 0o755); err != nil {
		return fmt.Errorf("create the folder of %s: %w", b.Out, err)
	}
	image := Image{Name: b.Name, Program: b.program(), Binary: binary, Architecture: b.Architecture}
	// Whoever waits for the archive finds it whole or not at all.
	if err := image.WriteFile(b.Out + ".part"); err != nil {
		return err
	}
	if err := os.Rename(b.Out+".part", b.Out); err != nil {
		return fmt.Errorf("put the archive into place: %w", err)
	}
	return nil
}

// program is the last element of the package's path.
func (b Build) program() string { return path.Base(filepath.ToSlash(b.Package)) }

// Compile writes the static program alone, without an image around it.
func (b Build) Compile(ctx context.Context, binary string) error {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, b.Package)
	command.Dir = b.Folder
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+b.Architecture)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s with `%s`: %w\n%s", b.Package, strings.Join(command.Args, " "), err, output)
	}
	return nil
}
