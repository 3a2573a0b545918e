package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// suite is a compiled test binary.
type suite struct {
	path, folder, binary string
}

// build compiles the tests of the package, and of further ones, with all its mutants in place of its files.
func build(ctx context.Context, r *room, folder string, further []string) ([]*suite, error) {
	overlay, err := r.write(folder)
	if err != nil {
		return nil, err
	}
	packages, err := list(ctx, append([]string{r.path}, further...))
	if err != nil {
		return nil, err
	}
	var suites []*suite
	for i, one := range packages {
		made := &suite{path: one.ImportPath, folder: one.Dir, binary: filepath.Join(folder, fmt.Sprintf("%d.test", i))}
		command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", made.binary, made.path)
		if said, err := command.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("compile the tests of %s: %w\n%s", made.path, err, said)
		}
		if _, err := os.Stat(made.binary); err == nil { // a package without tests has none
			suites = append(suites, made)
		}
	}
	return suites, nil
}

// write writes the files with the mutants, and the file that tells the compiler to take them.
func (r *room) write(folder string) (overlay string, err error) {
	replaced := map[string]string{}
	for path, text := range r.rendered(func(one *mutant) bool { return !one.broken }) {
		replaced[path] = filepath.Join(folder, filepath.Base(path))
		if err := os.WriteFile(replaced[path], []byte(text), 0o644); err != nil {
			return "", fmt.Errorf("write the mutants: %w", err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	overlay = filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o644); err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	return overlay, nil
}

// names are the tests of a suite, with its examples and the seeds of its fuzz tests.
func (s *suite) names(ctx context.Context) ([]string, error) {
	command := exec.CommandContext(ctx, s.binary, "-test.list", "^(Test|Fuzz|Example)")
	command.Dir = s.folder
	said, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w", s.path, err)
	}
	return strings.Fields(string(said)), nil
}
