package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gopacer/gopacer/test/stage"
)

// venue is the cluster where the demonstration plays, with what it needs there.
type venue struct {
	kube  stage.Kube
	names imageNames
	// prometheus is its address in the cluster, prometheusURL that from here.
	prometheus, prometheusURL string
	scrapeInterval            time.Duration

	// open makes the cluster ready, close takes away what open and the demonstration brought.
	open, close func(ctx context.Context) error
	// closed says what close did, and byHand how to do it without.
	closed, byHand string
}

// venue says where the demonstration plays. Nothing has happened to the place yet but that its images are built.
func (c choices) venue(ctx context.Context, output *timeline) (*venue, error) {
	if c.given != nil {
		return c.given.venue(ctx, output)
	}
	return ownVenue(ctx, output)
}

func (v *venue) config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", v.kube.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", v.kube.Kubeconfig, err)
	}
	// The pods and the policy are looked at all the time.
	config.QPS, config.Burst = 50, 100
	return config, nil
}

// install puts operator, service and load on the cluster, as a user would.
func (v *venue) install(ctx context.Context, output *timeline) error {
	output.waiting("installing gopacer from config/default")
	err := stage.InstallOperator(ctx, v.kube, stage.Operator{
		Image: v.names.operator, PrometheusAddress: v.prometheus, ScrapeInterval: v.scrapeInterval,
	})
	if err != nil {
		return err
	}
	output.say("install", "gopacer runs in namespace %s, installed from config/default", stage.OperatorNamespace)
	output.waiting("starting the service and its load")
	err = stage.InstallWorkload(ctx, v.kube, stage.Workload{Image: v.names.workload, LoadImage: v.names.load, Namespace: stage.WorkloadNamespace})
	if err != nil {
		return err
	}
	output.say("install", "service %s/%s runs, under a steady load", stage.WorkloadNamespace, stage.WorkloadDeployment)
	return nil
}

// remove takes operator, service and load away.
func (v *venue) remove(ctx context.Context) error {
	return errors.Join(stage.UninstallOperator(ctx, v.kube), stage.UninstallWorkload(ctx, v.kube, stage.WorkloadNamespace))
}

// occupied names the namespaces of the demonstration that the cluster has already.
func (v *venue) occupied(ctx context.Context) ([]string, error) {
	output, err := v.kube.Run(ctx, "", "get", "namespace", stage.OperatorNamespace, stage.WorkloadNamespace, "--ignore-not-found", "--output", "name")
	if err != nil {
		return nil, fmt.Errorf("look at the cluster: %w", err)
	}
	return strings.Fields(output), nil
}

func (v *venue) howToLook() string {
	return fmt.Sprintf(`The cluster is kept, as %[1]s asks for. To look around:

  export KUBECONFIG=%[2]s
  kubectl get rtp --namespace %[3]s                     what the policy is doing
  kubectl describe rtp checkout --namespace %[3]s       its trials, with their evidence
  kubectl get pods --namespace %[3]s --label-columns tuning.gopacer.dev/cohort
  kubectl logs deployment/gopacer --namespace %[4]s
  Prometheus: %[5]s

To take it away: %[6]s`, keepVariable, v.kube.Kubeconfig, stage.WorkloadNamespace, stage.OperatorNamespace, v.prometheusURL, v.byHand)
}

// opened says that there is a cluster to look at, and to take something away from.
func (v *venue) opened() bool { return v.kube.Kubeconfig != "" }

// nextStep keeps what explains a failure, before it is taken away, and says where it is.
func (v *venue) nextStep(ctx context.Context, kept bool) string {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	folder, err := outFolder()
	if err != nil {
		return err.Error()
	}
	saved := map[string][]string{
		"operator.log":  {"logs", "deployment/" + stage.OperatorDeployment, "--namespace", stage.OperatorNamespace, "--tail", "2000"},
		"policy.yaml":   {"get", "rtp", "--namespace", stage.WorkloadNamespace, "--output", "yaml"},
		"pods.txt":      {"get", "pods", "--all-namespaces", "--output", "wide"},
		"events.txt":    {"get", "events", "--all-namespaces", "--sort-by", ".lastTimestamp"},
		"pods-now.yaml": {"get", "pods", "--namespace", stage.WorkloadNamespace, "--output", "yaml"},
	}
	for name, arguments := range saved {
		text, err := v.kube.Run(ctx, "", arguments...)
		if err != nil {
			text += err.Error()
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return fmt.Sprintf("save %s: %v", name, err)
		}
	}
	text := "what the policy, its pods and the operator said last is in " + folder
	if !kept {
		text += fmt.Sprintf("\nto look at the cluster after a failure, run it again with %s=1", keepVariable)
	}
	return text
}
