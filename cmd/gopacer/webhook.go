package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/gopacer/gopacer/internal/admission"
)

// Names that config/webhook has as well.
const (
	webhookConfiguration = "gopacer-pods"
	webhookService       = "gopacer-webhook"
	certificateSecret    = "gopacer-webhook-cert"
)

// answerPoll is how often a server that is starting is asked whether it answers.
const answerPoll = 50 * time.Millisecond

// webhookGate starts the webhook's server once its certificate is there and known to the API server, and lets the rest begin once the
// API server can reach it.
type webhookGate struct {
	server    webhook.Server
	certified <-chan struct{}
	started   chan struct{}
	reachable func(context.Context)
	then      func() error
}

var (
	_ manager.Runnable               = (*webhookGate)(nil)
	_ manager.LeaderElectionRunnable = (*webhookGate)(nil)
)

// serveWebhook adds the certificate's rotation, its files, and the server to the manager.
func serveWebhook(mgr manager.Manager, o options, handler *admission.Handler, then func() error) (*webhookGate, error) {
	secret := types.NamespacedName{Namespace: o.namespace, Name: certificateSecret}
	certified := make(chan struct{})
	err := rotator.AddRotator(mgr, &rotator.CertRotator{
		SecretKey:      secret,
		CertDir:        o.certificateDir,
		CAName:         "gopacer-ca",
		CAOrganization: "gopacer",
		DNSName:        fmt.Sprintf("%s.%s.svc", webhookService, o.namespace),
		IsReady:        certified,
		FieldOwner:     "gopacer",
		// Its two loops else fill an empty Secret at the same time, and one of them fails with a conflict.
		EnableReadinessCheck: true,
		Webhooks:             []rotator.WebhookInfo{{Name: webhookConfiguration, Type: rotator.Mutating}},
	})
	if err != nil {
		return nil, fmt.Errorf("set up the rotation of the webhook's certificate: %w", err)
	}
	files := &certificateFiles{reader: mgr.GetAPIReader(), secret: secret, folder: o.certificateDir}
	if err := mgr.Add(files); err != nil {
		return nil, fmt.Errorf("add the certificate's files to the manager: %w", err)
	}
	server := webhook.NewServer(webhook.Options{Port: o.webhookPort, CertDir: o.certificateDir})
	server.Register(admission.Path, handler.Webhook())
	reach := &reach{reader: mgr.GetAPIReader(), namespace: o.namespace, clock: clock.RealClock{}}
	gate := &webhookGate{server: server, certified: certified, started: make(chan struct{}), reachable: reach.wait, then: then}
	if err := mgr.Add(gate); err != nil {
		return nil, fmt.Errorf("add the webhook to the manager: %w", err)
	}
	return gate, nil
}

// NeedLeaderElection is false: every replica serves.
func (g *webhookGate) NeedLeaderElection() bool { return false }

// Start serves until the context ends.
func (g *webhookGate) Start(ctx context.Context) error {
	select {
	case <-g.certified:
	case <-ctx.Done():
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() {
		defer cancel()
		served <- g.server.Start(ctx)
	}()
	err := g.startRest(ctx)
	if err != nil {
		cancel()
	}
	if serveErr := <-served; serveErr != nil {
		return fmt.Errorf("serve the pod webhook: %w", serveErr)
	}
	return err
}

// startRest waits until the server answers, says so to the readiness probe, and goes on when the Service leads to it: a pod that is
// replaced before would come back without its settings. It does nothing where the server was stopped before.
func (g *webhookGate) startRest(ctx context.Context) error {
	answers := func(context.Context) (bool, error) { return g.server.StartedChecker()(nil) == nil, nil }
	if err := wait.PollUntilContextCancel(ctx, answerPoll, true, answers); err != nil {
		return nil
	}
	close(g.started)
	g.reachable(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return g.then()
}

// check is the readiness probe.
func (g *webhookGate) check(request *http.Request) error {
	select {
	case <-g.started:
		return g.server.StartedChecker()(request)
	default:
		return errors.New("the webhook does not answer yet: its certificate is not ready")
	}
}
