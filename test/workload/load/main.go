// Command load sends requests to the ready endpoints of a Service at a fixed rate, in turn. Its loop is open: requests
// start when they are due, however slow the service is, and their latency counts from then.
//
// On -listen it serves /metrics, and /rate: GET reads the requests a second, POST /rate?value=N changes them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

const (
	headerTimeout = 5 * time.Second

	exitFailed   = 1
	exitBadInput = 2
)

func main() {
	read, err := parseOptions(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitBadInput)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, read); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
}

// run generates load until the context or the duration ends.
func run(ctx context.Context, read options) error {
	if read.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, read.duration)
		defer cancel()
	}
	endpoints := new(ring)
	endpoints.set(read.targets)
	if len(read.targets) == 0 {
		if err := read.discovery.follow(ctx, endpoints); err != nil {
			return err
		}
	}
	requests := newSchedule(time.Now(), read.rate)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	sender := &generator{
		schedule:  requests,
		endpoints: endpoints,
		metrics:   newMetrics(registry, endpoints, requests),
		client:    newClient(read.inFlight),
		path:      read.path,
		timeout:   read.timeout,
		slots:     make(chan struct{}, read.inFlight),
		now:       time.Now,
	}
	closeControl, err := serveControl(ctx, read.listen, controlHandler(registry, requests, time.Now))
	if err != nil {
		return err
	}
	sender.run(ctx)
	return closeControl()
}

// newClient keeps connections open, as a service mesh or a pool does: a connection for every request would measure
// handshakes. It follows no redirects, and no proxy comes between it and the service.
func newClient(connections int) *http.Client {
	return &http.Client{
		Transport: &http.Transport{MaxIdleConns: connections, MaxIdleConnsPerHost: connections},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// serveControl starts the control endpoint and returns how to close it.
func serveControl(ctx context.Context, address string, handler http.Handler) (func() error, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; set -listen to a free address", address, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	return func() error {
		err := server.Close()
		if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
		if err != nil {
			return fmt.Errorf("serve metrics on %s: %w", address, err)
		}
		return nil
	}, nil
}
