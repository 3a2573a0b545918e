package cluster

import (
	"context"
	"fmt"

	"github.com/gopacer/gopacer/test/cluster/programs"
)

// component is a program that runs for as long as the cluster.
type component struct {
	name      string
	program   string
	arguments []string
	// ready returns what is still amiss, or nil when the component does its work.
	ready func(ctx context.Context) error
}

// Names of the components, for Stop and Start.
const (
	Etcd              = programs.Etcd
	APIServer         = programs.APIServer
	ControllerManager = programs.ControllerManager
	Scheduler         = programs.Scheduler
	Containerd        = programs.Containerd
	Kubelet           = programs.Kubelet
	Proxy             = programs.Proxy
	Prometheus        = programs.Prometheus
)

// Components returns the names of all components, in the order in which they depend on each other.
func Components() []string {
	return []string{Etcd, APIServer, ControllerManager, Scheduler, Containerd, Kubelet, Proxy, Prometheus}
}

func (l layout) component(name string, paths programs.Paths) (component, error) {
	probe := l.probes()[name]
	arguments := l.arguments(name)
	if probe == nil || arguments == nil {
		return component{}, fmt.Errorf("find component %q: there are %q", name, Components())
	}
	return component{name: name, program: paths[name], arguments: arguments, ready: probe}, nil
}

func (l layout) arguments(name string) []string {
	switch name {
	case Etcd:
		return l.etcdArguments()
	case APIServer:
		return l.apiServerArguments()
	case ControllerManager:
		return l.controllerManagerArguments()
	case Scheduler:
		return l.schedulerArguments()
	case Containerd:
		return []string{"--config=" + l.configuration("containerd.toml")}
	case Kubelet:
		return l.kubeletArguments()
	case Proxy:
		return []string{"--config=" + l.configuration("kube-proxy.yaml")}
	case Prometheus:
		return l.prometheusArguments()
	}
	return nil
}

func (l layout) etcdArguments() []string {
	client := fmt.Sprintf("https://%s:%d", hostAddress, etcdPort)
	peer := fmt.Sprintf("http://%s:%d", hostAddress, etcdPeerPort)
	return []string{
		"--name=" + nodeName,
		"--data-dir=" + l.Path("etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + nodeName + "=" + peer,
		"--cert-file=" + l.Certificate("etcd-server"),
		"--key-file=" + l.Key("etcd-server"),
		"--client-cert-auth",
		"--trusted-ca-file=" + l.Certificate(etcdAuthority),
		// The data is gone with the cluster, so it need not survive a power failure.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func (l layout) apiServerArguments() []string {
	const issuer = "https://kubernetes.default.svc.cluster.local"
	return []string{
		// Pods reach the API through the Service kubernetes, so it must be at an address that
		// is the same from everywhere.
		"--bind-address=" + hostAddress.String(),
		"--advertise-address=" + hostAddress.String(),
		fmt.Sprintf("--secure-port=%d", apiServerPort),
		"--service-cluster-ip-range=" + serviceNetwork.String(),
		fmt.Sprintf("--etcd-servers=https://%s:%d", hostAddress, etcdPort),
		"--etcd-cafile=" + l.Certificate(etcdAuthority),
		"--etcd-certfile=" + l.Certificate("etcd-client"),
		"--etcd-keyfile=" + l.Key("etcd-client"),
		"--client-ca-file=" + l.Certificate(clusterAuthority),
		"--tls-cert-file=" + l.Certificate("kube-apiserver"),
		"--tls-private-key-file=" + l.Key("kube-apiserver"),
		"--kubelet-certificate-authority=" + l.Certificate(clusterAuthority),
		"--kubelet-client-certificate=" + l.Certificate("kubelet-client"),
		"--kubelet-client-key=" + l.Key("kubelet-client"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=" + issuer,
		"--service-account-key-file=" + l.Key("service-account"),
		"--service-account-signing-key-file=" + l.Key("service-account"),
		// Without these, servers that ask the API who a client is complain every few seconds.
		"--requestheader-client-ca-file=" + l.Certificate(proxyAuthority),
		"--requestheader-allowed-names=" + proxyClient,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + l.Certificate(proxyClient),
		"--proxy-client-key-file=" + l.Key(proxyClient),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
	}
}

func (l layout) controllerManagerArguments() []string {
	kubeconfig := l.KubeconfigOf(ControllerManager)
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", controllerManagerPort),
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		// The default is outside the cluster's folder.
		"--flex-volume-plugin-dir=" + l.Path("volume-plugins"),
		"--service-account-private-key-file=" + l.Key("service-account"),
		"--root-ca-file=" + l.Certificate(clusterAuthority),
		"--cluster-signing-cert-file=" + l.Certificate(clusterAuthority),
		"--cluster-signing-key-file=" + l.Key(clusterAuthority),
		"--kube-api-qps=100",
		"--kube-api-burst=200",
	}
}

func (l layout) schedulerArguments() []string {
	kubeconfig := l.KubeconfigOf(Scheduler)
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", schedulerPort),
		"--leader-elect=false",
	}
}

func (l layout) kubeletArguments() []string {
	return []string{
		"--config=" + l.configuration("kubelet.yaml"),
		"--kubeconfig=" + l.KubeconfigOf(Kubelet),
		"--root-dir=" + l.Path("kubelet"),
		"--cert-dir=" + l.Path("kubelet/pki"),
		"--hostname-override=" + nodeName,
		"--node-ip=" + hostAddress.String(),
	}
}

func (l layout) prometheusArguments() []string {
	return []string{
		"--config.file=" + l.configuration("prometheus.yaml"),
		"--storage.tsdb.path=" + l.Path("prometheus"),
		"--storage.tsdb.retention.time=1d",
		// A new pod is scraped a second after it has an address, not five.
		"--scrape.discovery-reload-interval=1s",
		fmt.Sprintf("--web.listen-address=%s:%d", hostAddress, prometheusPort),
		"--log.level=warn",
	}
}
