// Command service is the service under test: it allocates like a real HTTP service, and shows what its garbage collector
// does with it. The environment decides everything, so that a pod template does:
//
//	LISTEN                  address to serve on (":8080")
//	LIVE_HEAP_MB            MiB of live heap (40)
//	DOCUMENT_LINES          lines of a request's document; a line allocates about 5 KB (40)
//	CACHE_UNTIL_COLLECTION  1: keep a cache that every garbage collection empties; filling it takes a walk over the heap
//	DRAIN                   how long to go on serving after readiness failed (2s)
//	LEAK_BYTES_PER_SECOND   keep so many more bytes every second
//	LEAK_GOROUTINES_PER_SECOND
//	                        start so many more goroutines every second that wait for ever
//	OVERRIDE_GOGC           call debug.SetGCPercent at start: a number, or off
//	CRASH_WHEN              exit 1 a second after the start if the condition holds
//	SLOW_SHARE, SLOW_BY     delay a share of the requests, 0.1 is every tenth, by a duration (300ms)
//	SLOW_WHEN               only if the condition holds
//	ERROR_SHARE             answer a share of the requests with 500
//	ERROR_WHEN              only if the condition holds
//	NO_RUNTIME_METRICS      1: expose the Go collector's default metrics only
//	NO_GO_METRICS           1: expose no Go metrics at all
//
// A condition compares GOGC, GOMEMLIMIT or GOMAXPROCS, as the process got them, with a constant: GOGC>100,
// GOMEMLIMIT<64MiB; see package condition.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

const (
	crashAfter      = time.Second     // late enough to be seen running
	shutdownTimeout = 5 * time.Second // with DRAIN, less than the pod's grace period
	headerTimeout   = 5 * time.Second

	exitFailed   = 1
	exitBadInput = 2
)

func main() {
	read, err := readSettings(os.LookupEnv)
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

// run serves until the context ends, and then drains; or until a crash that the settings ask for.
func run(ctx context.Context, read settings) error {
	if read.overrideGOGC != nil {
		debug.SetGCPercent(*read.overrideGOGC)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", read.listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; set LISTEN to a free address", read.listen, err)
	}
	served := &service{settings: read}
	server := &http.Server{Handler: served.handler(), ReadHeaderTimeout: headerTimeout}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	go served.build()
	if read.leakBytesPerSecond > 0 {
		go leakBytes(ctx, read.leakBytesPerSecond)
	}
	if read.leakGoroutinesPerSecond > 0 {
		go leakGoroutines(ctx, read.leakGoroutinesPerSecond)
	}
	var crash <-chan time.Time
	if read.crashCondition != "" {
		crash = time.After(crashAfter)
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", read.listen, err)
	case <-crash:
		return fmt.Errorf("crash, because CRASH_WHEN=%s holds", read.crashCondition)
	case <-ctx.Done():
		return served.drain(context.WithoutCancel(ctx), server)
	}
}

// drain lets clients go before the server does: readiness fails first, then whoever has not heard of it is still served
// for a while, and only then is the listener closed and what is under way finished.
func (s *service) drain(ctx context.Context, server *http.Server) error {
	s.draining.Store(true)
	wait(ctx, s.settings.drain)
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("finish the requests within %v: %w", shutdownTimeout, err), server.Close())
	}
	return nil
}
