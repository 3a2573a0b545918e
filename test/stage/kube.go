// Package stage puts gopacer, the service under test and its load on a cluster, in the way in which a user would: with
// kubectl and kustomize. The demonstration and the tests on a real cluster stand on it.
package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Kube is a kubectl and the cluster that it talks to. The user's own KUBECONFIG is never read.
type Kube struct {
	// Kubectl is the path of the program.
	Kubectl string
	// Kubeconfig is the file that names the cluster.
	Kubeconfig string
}

// Run runs kubectl and returns what it wrote to its standard output. The error has what it wrote to its standard error.
func (k Kube) Run(ctx context.Context, stdin string, arguments ...string) (string, error) {
	if k.Kubectl == "" || k.Kubeconfig == "" {
		return "", errors.New("run kubectl: its path and a kubeconfig are needed")
	}
	command := exec.CommandContext(ctx, k.Kubectl, append([]string{"--kubeconfig", k.Kubeconfig}, arguments...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+k.Kubeconfig)
	command.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), fmt.Errorf("run `kubectl %s`: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// Get reads an object, or a list of them, into a value: Get(ctx, &pods, "pods", "--namespace", "shop").
func (k Kube) Get(ctx context.Context, value any, arguments ...string) error {
	output, err := k.Run(ctx, "", append(append([]string{"get"}, arguments...), "--output", "json")...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(output), value); err != nil {
		return fmt.Errorf("read what `kubectl get %s` wrote: %w", strings.Join(arguments, " "), err)
	}
	return nil
}
