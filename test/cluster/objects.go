package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

const (
	prometheusUser       = "gopacer:prometheus"
	monitoringNamespace  = "monitoring"
	prometheusObjectName = "prometheus"
)

// createObjects makes what Prometheus needs: the right to find pods and to read the kubelet's metrics, and an address at which
// software in the cluster reaches it. It runs beside the cluster, so the Service has no selector.
func createObjects(ctx context.Context, client kubernetes.Interface) error {
	name := metav1.ObjectMeta{Name: prometheusObjectName}
	inMonitoring := metav1.ObjectMeta{Name: prometheusObjectName, Namespace: monitoringNamespace}
	creations := []func() error{
		func() error {
			role := &rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
				{APIGroups: []string{""}, Resources: []string{"nodes/metrics"}, Verbs: []string{"get"}},
			}}
			_, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
			return err
		},
		func() error {
			binding := &rbacv1.ClusterRoleBinding{
				ObjectMeta: name,
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: prometheusObjectName},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: prometheusUser}},
			}
			_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
			return err
		},
		func() error {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: monitoringNamespace}}
			_, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
			return err
		},
		func() error {
			service := &corev1.Service{ObjectMeta: inMonitoring, Spec: corev1.ServiceSpec{
				ClusterIP: prometheusService.String(),
				Ports:     []corev1.ServicePort{{Name: "http", Port: prometheusPort}},
			}}
			_, err := client.CoreV1().Services(monitoringNamespace).Create(ctx, service, metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := client.DiscoveryV1().EndpointSlices(monitoringNamespace).Create(ctx, prometheusEndpoint(inMonitoring), metav1.CreateOptions{})
			return err
		},
	}
	for _, create := range creations {
		if err := create(); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the objects for Prometheus: %w", err)
		}
	}
	return nil
}

func prometheusEndpoint(meta metav1.ObjectMeta) *discoveryv1.EndpointSlice {
	meta.Labels = map[string]string{
		discoveryv1.LabelServiceName: prometheusObjectName,
		discoveryv1.LabelManagedBy:   "gopacer-cluster",
	}
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  meta,
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{hostAddress.String()}}},
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](prometheusPort)}},
	}
}

// nodeReady says what keeps the node from running pods.
func nodeReady(ctx context.Context, client kubernetes.Interface) error {
	node, err := client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		if condition.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
			return nil
		}
		return fmt.Errorf("the node is not ready: %s; taints %v", condition.Message, node.Spec.Taints)
	}
	return errors.New("the node has no condition Ready yet")
}

// podsCanStart says what keeps pods from being created: each needs its namespace's service account.
func podsCanStart(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	return err
}
