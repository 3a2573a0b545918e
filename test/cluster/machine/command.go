package machine

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// find returns the path of a command. Those of the administrator are found also where PATH, as
// after `su`, does not name their folders.
func find(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, folder := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return path
		}
	}
	return name
}

// run runs a command, and puts what it said into the error.
func run(ctx context.Context, input, name string, arguments ...string) error {
	command := exec.CommandContext(ctx, find(name), arguments...)
	if input != "" {
		command.Stdin = strings.NewReader(input)
	}
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("run `%s`: %w: %s", strings.Join(command.Args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}
