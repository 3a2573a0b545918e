package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/gopacer/gopacer/test/cluster/programs"
	"github.com/gopacer/gopacer/test/stage"
)

// findKubectl takes that of the user, and builds one where there is none.
func findKubectl(ctx context.Context, output io.Writer) (string, error) {
	if path, err := exec.LookPath("kubectl"); err == nil {
		return path, nil
	}
	paths, err := programs.Ensure(ctx, output, programs.Kubectl)
	if err != nil {
		return "", err
	}
	return paths[programs.Kubectl], nil
}

// errDeclined is no failure: it is what the user wanted.
var errDeclined = errors.New("nothing was done; without " + kubeconfigVariable + " the demonstration plays on a cluster of its own")

// ask shows which cluster it is about, and goes on only where a person says yes.
func (g *givenCluster) ask(ctx context.Context) error {
	question, err := describeCluster(g.kubeconfig)
	if err != nil {
		return err
	}
	if !isTerminal(os.Stdin) {
		return fmt.Errorf("%s\n%s needs a person to say yes: run it in a terminal", question, kubeconfigVariable)
	}
	fmt.Printf("%s\nGo on? [y/N] ", question)
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		answered <- line
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case line := <-answered:
		if !agrees(line) {
			return errDeclined
		}
		return nil
	}
}

// agrees is strict: what is not a yes is a no.
func agrees(answer string) bool {
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// describeCluster says what the kubeconfig's current context points to, and what would happen there.
func describeCluster(kubeconfig string) (string, error) {
	loaded, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return "", fmt.Errorf("read %s=%s: %w", kubeconfigVariable, kubeconfig, err)
	}
	current := loaded.Contexts[loaded.CurrentContext]
	if current == nil || loaded.Clusters[current.Cluster] == nil {
		return "", fmt.Errorf("read %s=%s: it has no current context with a cluster: choose one with `kubectl config use-context`", kubeconfigVariable, kubeconfig)
	}
	return fmt.Sprintf(`The demonstration would play on this cluster:

  context  %s
  server   %s

It installs gopacer (namespace %s, a CustomResourceDefinition, cluster roles, and a webhook that hears of new pods in
every namespace and changes the demonstration's alone) and a service under load (namespace %s). At the end it takes
both away.`,
		loaded.CurrentContext, loaded.Clusters[current.Cluster].Server, stage.OperatorNamespace, stage.WorkloadNamespace), nil
}
