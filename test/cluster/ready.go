package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gopacer/gopacer/test/cluster/machine"
)

const (
	pollInterval = 100 * time.Millisecond
	// readyLimit is how long anything may take to become ready. It is long, because a machine
	// that builds something at the same time is slow.
	readyLimit = 2 * time.Minute
	probeLimit = 2 * time.Second
)

// await polls until check returns nil, and returns what was amiss last when it took too long.
func await(ctx context.Context, what string, check func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for {
		attempt, stop := context.WithTimeout(ctx, probeLimit)
		err := check(attempt)
		stop()
		var final finalError
		if err == nil || errors.As(err, &final) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w; last seen: %w", what, context.Cause(ctx), err)
		case <-time.After(pollInterval):
		}
	}
}

// finalError is one that waiting does not cure.
type finalError struct{ error }

// awaitComponent waits until the component is ready, and no longer when its process has ended.
func (l layout) awaitComponent(ctx context.Context, c component, process machine.Process) error {
	err := await(ctx, c.name+" to become ready", func(ctx context.Context) error {
		if !process.Alive() {
			return finalError{fmt.Errorf("start %s: it ended", c.name)}
		}
		return c.ready(ctx)
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w%s", err, l.lastLines(c.name))
	}
	return err
}

// probes tell of each component whether it does its work.
func (l layout) probes() map[string]func(ctx context.Context) error {
	loopback := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	host := func(port int) string { return fmt.Sprintf("%s:%d", hostAddress, port) }
	return map[string]func(ctx context.Context) error{
		Etcd:              l.securely(etcdAuthority, "etcd-client", "https://"+host(etcdPort)+"/health"),
		APIServer:         l.securely(clusterAuthority, "admin", apiServerURL()+"/readyz"),
		ControllerManager: l.unverified("https://" + loopback(controllerManagerPort) + "/healthz"),
		Scheduler:         l.unverified("https://" + loopback(schedulerPort) + "/healthz"),
		Containerd:        func(ctx context.Context) error { return dial(ctx, "unix", l.ContainerdSocket()) },
		Kubelet:           l.unverified("http://" + loopback(kubeletHealthPort) + "/healthz"),
		Proxy:             l.unverified("http://" + host(proxyHealthPort) + "/healthz"),
		Prometheus:        l.unverified("http://" + host(prometheusPort) + "/-/ready"),
	}
}

// securely asks a server that wants a client's certificate.
func (l layout) securely(authority, client, url string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		trusted, err := os.ReadFile(l.Certificate(authority))
		if err != nil {
			return fmt.Errorf("ask %s: %w", url, err)
		}
		certificate, err := tls.LoadX509KeyPair(l.Certificate(client), l.Key(client))
		if err != nil {
			return fmt.Errorf("ask %s: load the certificate of %s: %w", url, client, err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(trusted)
		return get(ctx, url, &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{certificate}})
	}
}

// unverified asks for nothing secret, of a server that signed its certificate itself.
func (l layout) unverified(url string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return get(ctx, url, &tls.Config{InsecureSkipVerify: true})
	}
}

func get(ctx context.Context, url string, security *tls.Config) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	transport := &http.Transport{TLSClientConfig: security, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(response.Body, 500))
		return fmt.Errorf("ask %s: %s: %s", url, response.Status, strings.TrimSpace(string(said)))
	}
	return nil
}

func dial(ctx context.Context, network, address string) error {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	return connection.Close()
}
