//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	prometheusapi "github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/cluster"
	"github.com/gopacer/gopacer/test/stage"
)

const (
	// namespacePrefix begins the namespaces of the scenarios, and of nothing else.
	namespacePrefix = "e2e-"
	// scrapeInterval is that of the cluster's Prometheus, unless it was started with another.
	scrapeInterval = time.Second
	// goneLimit is for what is deleted to be gone.
	goneLimit = 3 * time.Minute
)

// environment is a cluster with gopacer on it.
type environment struct {
	cluster       *cluster.Cluster
	configuration *rest.Config
	kube          stage.Kube
	images        stage.Images
	client        client.Client
	prometheus    prometheus.API
	watcher       *watcher
}

func setUp(ctx context.Context, out io.Writer) (*environment, error) {
	running, err := cluster.Up(ctx, cluster.Options{Output: out, ScrapeInterval: scrapeInterval})
	if err != nil {
		return nil, err
	}
	e := &environment{cluster: running, kube: stage.Kube{Kubectl: running.Kubectl(), Kubeconfig: running.Kubeconfig()}}
	if err := e.connect(); err != nil {
		return nil, err
	}
	if e.images, err = stage.BuildImages(ctx, out); err != nil {
		return nil, err
	}
	if err := stage.Load(ctx, running, e.images); err != nil {
		return nil, err
	}
	if err := e.installOperator(ctx); err != nil {
		return nil, err
	}
	return e, e.removeLeftovers(ctx)
}

func (e *environment) connect() error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	var err error
	if e.configuration, err = e.cluster.RESTConfig(); err != nil {
		return err
	}
	if e.client, err = client.New(e.configuration, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	asked, err := prometheusapi.NewClient(prometheusapi.Config{Address: e.cluster.PrometheusURL()})
	if err != nil {
		return fmt.Errorf("make a client of Prometheus: %w", err)
	}
	e.prometheus = prometheus.NewAPI(asked)
	return nil
}

func (e *environment) installOperator(ctx context.Context) error {
	return stage.InstallOperator(ctx, e.kube, stage.Operator{
		Image: e.images.Operator.Name, PrometheusAddress: e.cluster.PrometheusURL(), ScrapeInterval: scrapeInterval,
	})
}

// removeLeftovers takes away the namespaces of a run that was cut short. The manager has to be there, for their policies
// have finalizers.
func (e *environment) removeLeftovers(ctx context.Context) error {
	var namespaces corev1.NamespaceList
	if err := e.client.List(ctx, &namespaces); err != nil {
		return fmt.Errorf("look for namespaces of an earlier run: %w", err)
	}
	for i := range namespaces.Items {
		if !strings.HasPrefix(namespaces.Items[i].Name, namespacePrefix) {
			continue
		}
		if err := client.IgnoreNotFound(e.client.Delete(ctx, &namespaces.Items[i])); err != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete a namespace of an earlier run: %w", err)
		}
		if err := stage.Await(ctx, "the end of an earlier run's namespace", goneLimit, e.gone(&namespaces.Items[i])); err != nil {
			return err
		}
	}
	return nil
}

// gone checks that an object is no longer there.
func (e *environment) gone(object client.Object) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		err := e.client.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopyObject().(client.Object))
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return fmt.Errorf("%s is still there", object.GetName())
	}
}

// scaleOperator changes how many managers there are.
func (e *environment) scaleOperator(ctx context.Context, replicas int32) error {
	key := client.ObjectKey{Namespace: stage.OperatorNamespace, Name: stage.OperatorDeployment}
	var operator appsv1.Deployment
	if err := e.client.Get(ctx, key, &operator); err != nil {
		return fmt.Errorf("get the manager's Deployment: %w", err)
	}
	before := operator.DeepCopy()
	operator.Spec.Replicas = ptr.To(replicas)
	if err := e.client.Patch(ctx, &operator, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("scale the manager: %w", err)
	}
	return e.kube.AwaitDeployment(ctx, key.Namespace, key.Name, readyLimit)
}

// operatorPods are the manager's pods that are not going away.
func (e *environment) operatorPods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := e.client.List(ctx, &pods, client.InNamespace(stage.OperatorNamespace), client.MatchingLabels{"app.kubernetes.io/name": stage.OperatorDeployment})
	if err != nil {
		return nil, fmt.Errorf("list the manager's pods: %w", err)
	}
	return living(pods.Items), nil
}
