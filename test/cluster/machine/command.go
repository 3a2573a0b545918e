package machine

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// run runs a command, and puts what it said into the error.
func run(ctx context.Context, input, name string, arguments ...string) error {
	command := exec.CommandContext(ctx, name, arguments...)
	if input != "" {
		command.Stdin = strings.NewReader(input)
	}
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("run `%s`: %w: %s", strings.Join(command.Args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}
