// Package cluster runs a real Kubernetes cluster with one node and Prometheus on a plain Linux
// machine: without systemd, Docker, an image registry or the internet. There is one cluster on a
// machine; everything of it is in one folder, and taking it down leaves nothing behind.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gopacer/gopacer/test/cluster/machine"
	"github.com/gopacer/gopacer/test/cluster/programs"
)

// ErrNotRunning is what Open returns where there is no cluster that could be used.
var ErrNotRunning = errors.New("no cluster is running; start one with `make cluster-up`")

// Cluster is a running cluster.
type Cluster struct {
	layout layout
	record record
}

// Open attaches to the machine's running cluster.
func Open(ctx context.Context) (*Cluster, error) {
	cluster, err := find()
	if err != nil {
		return nil, err
	}
	if !cluster.record.Complete || cluster.record.BootID != bootID() {
		return nil, fmt.Errorf("open the cluster in %s: it was never complete, or the machine booted since: %w", cluster.layout.root, ErrNotRunning)
	}
	if err := cluster.layout.probes()[APIServer](ctx); err != nil {
		return nil, fmt.Errorf("open the cluster in %s: its API server does not answer: %w; `make cluster-up` repairs it", cluster.layout.root, err)
	}
	return cluster, nil
}

// find returns the cluster as it is recorded, whether it runs or not.
func find() (*Cluster, error) {
	directory, err := Directory()
	if err != nil {
		return nil, err
	}
	l := layout{root: directory}
	r, err := l.readRecord()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for a cluster in %s: %w", directory, ErrNotRunning)
	}
	if err != nil {
		return nil, fmt.Errorf("read what is recorded of the cluster: %w", err)
	}
	return &Cluster{layout: l, record: r}, nil
}

// Directory returns the folder that has everything of the cluster, such as the logs.
func (c *Cluster) Directory() string { return c.layout.root }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.layout.Kubeconfig() }

// RESTConfig returns the administrator's access for Go clients.
func (c *Cluster) RESTConfig() (*rest.Config, error) { return c.layout.restConfig() }

func (l layout) restConfig() (*rest.Config, error) {
	configuration, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the cluster's kubeconfig %s: %w", l.Kubeconfig(), err)
	}
	// Tests make many requests at once, and nobody else is to be protected from them.
	configuration.QPS, configuration.Burst = 200, 400
	return configuration, nil
}

func (l layout) client() (kubernetes.Interface, error) {
	configuration, err := l.restConfig()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(configuration)
	if err != nil {
		return nil, fmt.Errorf("make a client of the cluster: %w", err)
	}
	return client, nil
}

// PrometheusURL returns the address of Prometheus as it is reached from this machine and from pods.
func (c *Cluster) PrometheusURL() string {
	return fmt.Sprintf("http://%s:%d", hostAddress, prometheusPort)
}

// ScrapeInterval is how often Prometheus scrapes.
func (c *Cluster) ScrapeInterval() time.Duration {
	interval, err := time.ParseDuration(c.record.ScrapeInterval)
	if err != nil {
		return time.Second // what Up takes where nothing else is asked for
	}
	return interval
}

// Kubectl returns the path of a kubectl: the one in PATH, or else the cluster's own.
func (c *Cluster) Kubectl() string {
	if path, err := exec.LookPath("kubectl"); err == nil {
		return path
	}
	return c.record.Programs[programs.Kubectl]
}

// Stop stops one component, as a test of an outage does.
func (c *Cluster) Stop(ctx context.Context, name string) error {
	if _, err := c.layout.component(name, c.record.Programs); err != nil {
		return err
	}
	return c.layout.halt(ctx, name)
}

// Start starts one component and returns when it is ready. One that runs is left alone.
func (c *Cluster) Start(ctx context.Context, name string) error {
	wanted, err := c.layout.component(name, c.record.Programs)
	if err != nil {
		return err
	}
	return c.layout.ensure(ctx, wanted)
}

// ensure starts the component if it does not run, and waits until it is ready.
func (l layout) ensure(ctx context.Context, c component) error {
	process, running := l.running(c.name)
	if !running {
		// One that was killed may still be ending, with its ports taken.
		err := process.AwaitEnd(ctx, stopGrace)
		if err != nil {
			return fmt.Errorf("start %s: %w", c.name, err)
		}
		if process, err = l.launch(c); err != nil {
			return err
		}
	}
	return l.awaitComponent(ctx, c, process)
}

// Process returns the process of a component, for tests that harm it. Found is false when it
// does not run.
func (c *Cluster) Process(name string) (process machine.Process, found bool) {
	return c.layout.running(name)
}
