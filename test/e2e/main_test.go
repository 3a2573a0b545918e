//go:build e2e

// Package e2e_test holds gopacer against its promises on a real cluster: a real service under load, a real Prometheus, and
// the manager as a user installs it. Scenarios assert on status, on pods and on events, never on what is logged.
//
// The cluster and what was loaded into it are left running, so that the next run begins at once; `make cluster-down` takes
// it away.
package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// sideBySide is how many scenarios run at a time. They mostly wait, and each takes about a tenth of a processor: more of
// them would starve pods on a machine with two.
const sideBySide = 3

// setUpLimit holds also where the cluster's programs have to be built.
const setUpLimit = 45 * time.Minute

// full asks for the scenarios that take too long to be waited for after every change.
var full = flag.Bool("full", false, "run also the scenarios that take more than a few minutes; `make test-e2e-full` does")

// shared is what all scenarios stand on.
var shared *environment

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	flag.Parse()
	capParallel()
	// Watches that end and begin again are no news to who reads the tests.
	log.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	began := time.Now()
	within, cancel := context.WithTimeout(ctx, setUpLimit)
	defer cancel()
	var err error
	if shared, err = setUp(within, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "set up the cluster for the tests: %v\n", err)
		return 1
	}
	fmt.Printf("the cluster is set up (%.0f s)\n", time.Since(began).Seconds())
	if err := shared.watch(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "watch the cluster: %v\n", err)
		return 1
	}
	return m.Run()
}

// capParallel sets how many tests run at a time where the command line does not.
func capParallel() {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(sideBySide))
	}
}

// TestSideBySide has the scenarios that leave the manager and Prometheus alone, so that they may run beside each other. The longest begin first.
// A promotion rests on six pods that are alike: it runs only beside those that let the machine be, and the others wait for it.
func TestSideBySide(t *testing.T) {
	for _, group := range []struct {
		name      string
		scenarios []scenario
	}{
		{"Long", []scenario{
			{"Sweep", sweep, true}, {"Leak", leak, true}, {"Gain", gain, true}, {"SmallService", smallService, true}, {"Calibration", calibration, true},
			{"OwnQuery", ownQuery, true}, {"Throttled", throttled, true},
		}},
		{"Quiet", []scenario{{"Promotion", promotion, false}, {"NullCandidate", nullCandidate, false}, {"BadInput", badInput, false}, {"NoTraffic", noTraffic, false}}},
		{"Loud", []scenario{{"SharedBreach", sharedBreach, false}, {"LatencyBreach", latencyBreach, false}, {"OverriddenInCode", overriddenInCode, false}}},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, one := range group.scenarios {
				t.Run(one.name, one.test)
			}
		})
	}
}

type scenario struct {
	name string
	run  func(t *testing.T)
	// long scenarios run only where the flag -full asks for them.
	long bool
}

func (s scenario) test(t *testing.T) {
	if s.long && !*full {
		t.Skip("it takes long, and runs only with the flag -full, as in `make test-e2e-full`")
	}
	t.Parallel()
	s.run(t)
}
