// Runtime is runc for containers whose seccomp filter is left out. The cluster's runc is built
// without libseccomp, which would be one more package to install, and such a runc refuses every
// pod that asks for the profile RuntimeDefault, as a careful manifest does.
//
// It stands beside runc, takes the filter out of a bundle when a container is created from it,
// and then becomes runc.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if bundle, found := bundleOf(arguments); found {
		if err := removeFilter(filepath.Join(bundle, "config.json")); err != nil {
			return fmt.Errorf("take the seccomp filter out of the container's bundle %s: %w", bundle, err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find runc: %w", err)
	}
	runc := filepath.Join(filepath.Dir(self), "runc")
	return fmt.Errorf("run %s: %w", runc, syscall.Exec(runc, append([]string{runc}, arguments...), os.Environ()))
}

// bundleOf returns the bundle of a command line that creates a container.
func bundleOf(arguments []string) (string, bool) {
	if !slices.Contains(arguments, "create") && !slices.Contains(arguments, "run") {
		return "", false
	}
	for index, argument := range arguments {
		name, value, joined := strings.Cut(argument, "=")
		if name != "--bundle" && name != "-b" {
			continue
		}
		if joined {
			return value, true
		}
		if index+1 < len(arguments) {
			return arguments[index+1], true
		}
	}
	return "", false
}

func removeFilter(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	// Only two levels are taken apart; whatever else is in the file stays as it is written.
	var specification, linux map[string]json.RawMessage
	if err := json.Unmarshal(content, &specification); err != nil {
		return err
	}
	if len(specification["linux"]) == 0 {
		return nil
	}
	if err := json.Unmarshal(specification["linux"], &linux); err != nil {
		return err
	}
	if _, found := linux["seccomp"]; !found {
		return nil
	}
	delete(linux, "seccomp")
	if specification["linux"], err = json.Marshal(linux); err != nil {
		return err
	}
	if content, err = json.Marshal(specification); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
