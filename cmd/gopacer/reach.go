package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// reachPoll is how often the endpoints of the webhook's Service are looked at.
	reachPoll = time.Second
	// proxySync is what the nodes' proxies get to follow an endpoint that has become ready.
	proxySync = 2 * time.Second
	// reachTimeout ends the wait: a manager outside of the cluster has no endpoint, and serves what needs no webhook.
	reachTimeout = time.Minute
)

var errUnreachable = errors.New("the webhook's Service has no ready endpoint")

// reach tells when the API server can call the webhook.
type reach struct {
	reader    client.Reader
	namespace string
	clock     clock.Clock
}

// wait returns when the Service leads to a replica, when it has waited long enough, or when the context ends.
func (r *reach) wait(ctx context.Context) {
	deadline := r.clock.Now().Add(reachTimeout)
	for {
		err := r.ready(ctx)
		if err == nil {
			r.pause(ctx, proxySync)
			return
		}
		if ctx.Err() != nil {
			return
		}
		if !r.clock.Now().Before(deadline) {
			logf.FromContext(ctx).Error(err, "Go on without a webhook that the API server can reach: trials will revert as NotAdmitted", "service", webhookService, "waited", reachTimeout.String())
			return
		}
		r.pause(ctx, reachPoll)
	}
}

func (r *reach) pause(ctx context.Context, duration time.Duration) {
	select {
	case <-ctx.Done():
	case <-r.clock.After(duration):
	}
}

// ready is nil where any replica can be reached.
func (r *reach) ready(ctx context.Context) error {
	var slices discoveryv1.EndpointSliceList
	service := client.MatchingLabels{discoveryv1.LabelServiceName: webhookService}
	if err := r.reader.List(ctx, &slices, client.InNamespace(r.namespace), service); err != nil {
		return fmt.Errorf("list the endpoints of Service %s/%s: %w", r.namespace, webhookService, err)
	}
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, true) { // unknown counts as ready, as the API says
				return nil
			}
		}
	}
	return errUnreachable
}
