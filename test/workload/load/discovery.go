package main

import (
	"context"
	"fmt"
	"net"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
)

// discovery follows the ready endpoints of a Service.
type discovery struct {
	kubeconfig string // empty: the pod's own service account
	namespace  string
	service    string
}

// follow keeps the ring equal to the Service's ready endpoints until the context ends. It returns when the watch runs;
// requests that come before the first list find an empty ring, and are counted as such.
func (d discovery) follow(ctx context.Context, endpoints *ring) error {
	configuration, err := d.configuration()
	if err != nil {
		return err
	}
	client, err := discoveryclient.NewForConfig(configuration)
	if err != nil {
		return fmt.Errorf("make a client for EndpointSlices: %w; check the kubeconfig", err)
	}
	slices := cache.NewFilteredListWatchFromClient(client.RESTClient(), "endpointslices", d.namespace,
		func(options *metav1.ListOptions) {
			options.LabelSelector = discoveryv1.LabelServiceName + "=" + d.service
		})
	informer := cache.NewSharedIndexInformer(slices, &discoveryv1.EndpointSlice{}, 0, cache.Indexers{})
	update := func() { endpoints.set(readyEndpoints(informer.GetStore().List())) }
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { update() },
		UpdateFunc: func(any, any) { update() },
		DeleteFunc: func(any) { update() },
	}); err != nil {
		return fmt.Errorf("watch the EndpointSlices of %s/%s: %w", d.namespace, d.service, err)
	}
	go informer.RunWithContext(ctx)
	return nil
}

func (d discovery) configuration() (*rest.Config, error) {
	if d.kubeconfig == "" {
		configuration, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("find the cluster: %w; outside a pod give -kubeconfig or -targets", err)
		}
		return configuration, nil
	}
	configuration, err := clientcmd.BuildConfigFromFlags("", d.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read -kubeconfig %s: %w", d.kubeconfig, err)
	}
	return configuration, nil
}

// readyEndpoints lists host:port of every endpoint that is ready, at the first port of its slice. An endpoint that
// drains is not ready, though it still serves.
func readyEndpoints(objects []any) []string {
	var ready []string
	for _, object := range objects {
		slice, isSlice := object.(*discoveryv1.EndpointSlice)
		if !isSlice || len(slice.Ports) == 0 || slice.Ports[0].Port == nil {
			continue
		}
		port := strconv.Itoa(int(*slice.Ports[0].Port))
		for _, endpoint := range slice.Endpoints {
			// A slice without the condition says nothing against the endpoint: the API takes it as ready.
			if ptr.Deref(endpoint.Conditions.Ready, true) && len(endpoint.Addresses) > 0 {
				ready = append(ready, net.JoinHostPort(endpoint.Addresses[0], port))
			}
		}
	}
	return ready
}
