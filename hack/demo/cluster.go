package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/gopacer/gopacer/test/cluster"
	"github.com/gopacer/gopacer/test/stage"
)

// ownVenue builds what a cluster of the demonstration's own needs. That takes minutes on a fresh machine, and seconds later.
func ownVenue(ctx context.Context, output *timeline) (*venue, error) {
	output.say("build", "a cluster's programs and three images; minutes on a fresh machine, seconds after that")
	if err := cluster.Prepare(ctx, os.Stdout); err != nil {
		return nil, err
	}
	images, err := stage.BuildImages(ctx, output)
	if err != nil {
		return nil, err
	}
	output.restart()
	made := &venue{
		names:  imageNames{operator: images.Operator.Name, workload: images.Workload.Name, load: images.Load.Name},
		closed: "the cluster is down, and nothing of it is left", byHand: "make cluster-down",
	}
	made.open = func(ctx context.Context) error { return made.openOwn(ctx, output, images) }
	// Why a cluster did not start is for its own error to say; what can't be taken away then was not the demonstration's.
	made.close = func(ctx context.Context) error { _ = cluster.Down(ctx); return nil }
	return made, nil
}

// openOwn starts the cluster. One that ran before is used, and left running afterwards.
func (v *venue) openOwn(ctx context.Context, output *timeline, images stage.Images) error {
	_, err := cluster.Open(ctx)
	ranBefore := err == nil
	running, err := cluster.Up(ctx, cluster.Options{Output: output})
	if err != nil {
		return err
	}
	v.close = cluster.Down
	v.kube = stage.Kube{Kubectl: running.Kubectl(), Kubeconfig: running.Kubeconfig()}
	v.prometheus, v.prometheusURL, v.scrapeInterval = running.PrometheusURL(), running.PrometheusURL(), running.ScrapeInterval()
	if ranBefore {
		v.close, v.closed = v.remove, "the service and gopacer are gone; the cluster, which ran before, still runs"
		if err := v.clear(ctx, output); err != nil {
			return err
		}
	}
	output.waiting("loading the images into the cluster")
	if err := stage.Load(ctx, running, images); err != nil {
		return err
	}
	output.say("cluster", "a real Kubernetes cluster with Prometheus runs on this machine")
	return nil
}

// clear takes away what an earlier demonstration left: its policy's status would make another demonstration of this one.
func (v *venue) clear(ctx context.Context, output *timeline) error {
	occupied, err := v.occupied(ctx)
	if err != nil || len(occupied) == 0 {
		return err
	}
	output.waiting("taking away what an earlier demonstration left")
	if err := v.remove(ctx); err != nil {
		return errors.Join(errors.New("the cluster is in use; `make cluster-down` takes it away"), err)
	}
	output.say("cluster", "took away what an earlier demonstration left")
	return nil
}

// venue is the user's own cluster, which is touched only after a question.
func (g *givenCluster) venue(ctx context.Context, output *timeline) (*venue, error) {
	kubectl, err := findKubectl(ctx, output)
	if err != nil {
		return nil, err
	}
	made := &venue{
		kube:  stage.Kube{Kubectl: kubectl, Kubeconfig: g.kubeconfig},
		names: g.names, prometheus: g.prometheus, prometheusURL: g.prometheusURL, scrapeInterval: g.scrapeInterval,
		closed: "the service and gopacer are gone from your cluster",
		byHand: fmt.Sprintf("kubectl delete rtp --all --namespace %[1]s && kubectl delete namespace %[1]s && kubectl delete --kustomize config/default", stage.WorkloadNamespace),
	}
	if err := g.ask(ctx); err != nil {
		return nil, err
	}
	occupied, err := made.occupied(ctx)
	if err != nil {
		return nil, err
	}
	if len(occupied) > 0 {
		return nil, fmt.Errorf("the cluster has %v already, and the demonstration would change what is in there: delete it first, or use another cluster", occupied)
	}
	output.restart()
	made.open = func(context.Context) error { return nil }
	made.close = made.remove
	return made, nil
}
