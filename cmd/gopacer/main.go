// Command gopacer is the manager: it reconciles RuntimeTuningPolicies and serves the webhook that gives new pods their settings.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"
	_ "time/tzdata" // the image has no zoneinfo of its own, and a policy's maintenance windows name time zones

	"go.uber.org/zap/zapcore"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // to run the manager outside of a cluster, with any kubeconfig
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/controllers"
	"github.com/gopacer/gopacer/internal/admission"
	"github.com/gopacer/gopacer/internal/fleet"
	"github.com/gopacer/gopacer/internal/signal/prometheus"
)

type options struct {
	config         string
	namespace      string
	metricsAddress string
	probeAddress   string
	webhookPort    int
	certificateDir string
	leaderElection bool
}

func main() {
	var o options
	flag.StringVar(&o.config, "config", "/etc/gopacer/config.yaml", "File with the Prometheus providers that policies may name, and with what holds for all trials together.")
	flag.StringVar(&o.namespace, "namespace", "gopacer-system", "Namespace of the manager: its lease, its webhook's Service and certificate.")
	flag.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "Address of the manager's own metrics.")
	flag.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "Address of /healthz and /readyz.")
	flag.IntVar(&o.webhookPort, "webhook-port", 9443, "Port of the pod webhook.")
	flag.StringVar(&o.certificateDir, "certificate-dir", "/certs", "Folder that the manager keeps the webhook's certificate in; it must be writable.")
	flag.BoolVar(&o.leaderElection, "leader-elect", true, "Let one of several managers reconcile; all of them serve the webhook.")
	// An error's stack trace shows only the loop that logged it; the error itself says what failed.
	logging := zap.Options{StacktraceLevel: zapcore.PanicLevel}
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))
	if err := run(ctrl.SetupSignalHandler(), o); err != nil {
		fmt.Fprintf(os.Stderr, "gopacer: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	providers, err := prometheus.Load(o.config)
	if err != nil {
		return err
	}
	limits, err := fleet.NewReader(o.config, time.Now, func(message string) { ctrl.Log.WithName("fleet").Info(message) })
	if err != nil {
		return err
	}
	source, err := prometheus.NewSource(providers, metrics.Registry, time.Now)
	if err != nil {
		return err
	}
	defer source.Close()
	mgr, err := newManager(o)
	if err != nil {
		return err
	}
	policies := admission.ClusterPolicies{Cache: mgr.GetClient(), Server: mgr.GetAPIReader()}
	if err := admission.IndexTargets(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	reconcilerMetrics, err := controllers.NewMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	server, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("set up a client without a cache: %w", err)
	}
	reconciler := &controllers.Reconciler{
		Client: mgr.GetClient(), Server: server, Policies: policies, Observer: source, Fleet: limits,
		Events: mgr.GetEventRecorder("gopacer"), Metrics: reconcilerMetrics, Clock: clock.RealClock{},
	}
	records := &controllers.Records{Client: mgr.GetClient(), Server: mgr.GetAPIReader(), Clock: clock.RealClock{}}
	if err := records.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the care for records: %w", err)
	}
	handler, err := admission.NewHandler(policies, clock.RealClock{}, metrics.Registry)
	if err != nil {
		return err
	}
	// The reconciler starts only when the webhook answers: a pod replaced before would come back without its settings.
	gate, err := serveWebhook(mgr, o, handler, func() error { return reconciler.SetupWithManager(mgr) })
	if err != nil {
		return err
	}
	if err := addProbes(mgr, gate); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func newManager(o options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register Kubernetes' types: %w", err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register gopacer's types: %w", err)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find a cluster: %w; run in a pod, or set KUBECONFIG", err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 metricsserver.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:  o.probeAddress,
		LeaderElection:          o.leaderElection,
		LeaderElectionID:        "gopacer",
		LeaderElectionNamespace: o.namespace,
		// A manager that stops cleanly hands over at once; one that dies is followed after the lease has run out.
		LeaderElectionReleaseOnCancel: true,
		Cache:                         cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		// Few are ever asked for, and a ControllerRevision holds a whole template.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&appsv1.ControllerRevision{}, &corev1.PersistentVolumeClaim{}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("set up the manager: %w", err)
	}
	return mgr, nil
}

func addProbes(mgr manager.Manager, gate *webhookGate) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add the liveness probe: %w", err)
	}
	if err := mgr.AddReadyzCheck("webhook", gate.check); err != nil {
		return fmt.Errorf("add the readiness probe: %w", err)
	}
	return nil
}
