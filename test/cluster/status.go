package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gopacer/gopacer/test/cluster/machine"
)

// Status writes what runs, where it is reached, and how it is used. It returns ErrNotRunning
// where there is nothing, and another error where something of the cluster is amiss.
func Status(ctx context.Context, output io.Writer) error {
	if err := asError(machine.LackOfRoot()); err != nil {
		return err
	}
	cluster, err := find()
	if errors.Is(err, ErrNotRunning) {
		return errors.Join(err, leftoversError(ctx))
	}
	if err != nil {
		return err
	}
	var failures []error
	table := tabwriter.NewWriter(output, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tPROCESS\tMEMORY\tSTATE")
	for _, name := range Components() {
		failures = append(failures, cluster.describe(ctx, table, name))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	if !cluster.record.Complete {
		failures = append(failures, errors.New("the cluster's start did not come to its end; `make cluster-up` starts anew"))
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return cluster.writeUse(ctx, output)
}

func (c *Cluster) describe(ctx context.Context, output io.Writer, name string) error {
	process, running := c.layout.running(name)
	if !running {
		fmt.Fprintf(output, "%s\t-\t-\tnot running\n", name)
		return fmt.Errorf("%s is not running; its log is %s; `make cluster-up` starts it", name, c.layout.log(name))
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	state, err := "ready", c.layout.probes()[name](ctx)
	if err != nil {
		state = "not ready"
		err = fmt.Errorf("%s is not ready: %w; its log is %s", name, err, c.layout.log(name))
	}
	fmt.Fprintf(output, "%s\t%d\t%d MB\t%s\n", name, process.ID, process.Memory()>>20, state)
	return err
}

// writeUse says how the cluster is used.
func (c *Cluster) writeUse(ctx context.Context, output io.Writer) error {
	client, err := c.layout.client()
	if err != nil {
		return err
	}
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("count the pods: %w", err)
	}
	running := 0
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	_, err = fmt.Fprintf(output, `
up for      %s, %d of %d pods running
API         %s
Prometheus  %s   in the cluster also http://%s:%d (Service %s/%s)
logs        %s
to use it   export KUBECONFIG=%s
`,
		time.Since(c.record.Created).Round(time.Second), running, len(pods.Items), apiServerURL(), c.PrometheusURL(),
		prometheusService, prometheusPort, monitoringNamespace, prometheusObjectName, c.layout.Path("logs"), c.Kubeconfig())
	return err
}

// leftoversError names what a cluster left behind that was not taken down properly.
func leftoversError(ctx context.Context) error {
	directory, err := Directory()
	if err != nil {
		return err
	}
	left, err := layout{root: directory}.leftovers(ctx)
	if err != nil || len(left) == 0 {
		return err
	}
	return fmt.Errorf("but something of one is left, such as %s; `make cluster-down` takes it away", left[0])
}
