package cluster

import (
	"bytes"
	"embed"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"text/template"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

//go:embed templates
var templates embed.FS

// configurations are the templates and the files that they become.
func (l layout) configurations() map[string]string {
	return map[string]string{
		"containerd.toml": l.configuration("containerd.toml"),
		"kubelet.yaml":    l.configuration("kubelet.yaml"),
		"kube-proxy.yaml": l.configuration("kube-proxy.yaml"),
		"prometheus.yaml": l.configuration("prometheus.yaml"),
		"cni.conflist":    l.Path("cni/10-gopacer.conflist"),
	}
}

// facts is what the templates can name.
type facts struct {
	layout
	Snapshotter    string
	NetworkPlugins string
	Runtime        string
	ScrapeInterval string
	MasqueradeAll  bool
}

func (facts) PauseImage() string  { return pauseImage }
func (facts) HostAddress() string { return hostAddress.String() }
func (facts) PodNetwork() string  { return podNetwork.String() }
func (facts) NodeName() string    { return nodeName }

// KubeletAddress is where the kubelet serves its own metrics and cAdvisor's.
func (facts) KubeletAddress() string {
	return netip.AddrPortFrom(hostAddress, kubeletPort).String()
}
func (facts) BridgeName() string  { return bridgeName }
func (facts) NetworkName() string { return networkName }
func (facts) Group() string       { return groupName }

// writeConfigurations writes the configuration files of all components.
func (f facts) writeConfigurations() error {
	for name, path := range f.configurations() {
		content, err := f.render(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return fmt.Errorf("write the configuration %s: %w", name, err)
		}
	}
	// Nothing in a pod resolves names; an empty file keeps the machine's servers out of pods.
	if err := os.WriteFile(f.Path("resolv.conf"), nil, 0o644); err != nil {
		return fmt.Errorf("write the pods' resolv.conf: %w", err)
	}
	return nil
}

func (f facts) render(name string) ([]byte, error) {
	parsed, err := template.New(name).Option("missingkey=error").ParseFS(templates, "templates/"+name)
	if err != nil {
		return nil, fmt.Errorf("parse the template %s: %w", name, err)
	}
	var content bytes.Buffer
	if err := parsed.ExecuteTemplate(&content, name, f); err != nil {
		return nil, fmt.Errorf("fill in the template %s: %w", name, err)
	}
	return content.Bytes(), nil
}

// writeKubeconfigs writes one for the administrator and one for each component that is a client.
func (l layout) writeKubeconfigs() error {
	paths := map[string]string{"admin": l.Kubeconfig()}
	for _, component := range []string{"kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "prometheus"} {
		paths[component] = l.KubeconfigOf(component)
	}
	for name, path := range paths {
		if err := l.writeKubeconfig(name, path); err != nil {
			return err
		}
	}
	return nil
}

func (l layout) writeKubeconfig(name, path string) error {
	const clusterName = "gopacer"
	files := map[string][]byte{l.Certificate(clusterAuthority): nil, l.Certificate(name): nil, l.Key(name): nil}
	for file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("write the kubeconfig of %s: %w", name, err)
		}
		files[file] = content
	}
	configuration := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{clusterName: {
			Server:                   apiServerURL(),
			CertificateAuthorityData: files[l.Certificate(clusterAuthority)],
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: files[l.Certificate(name)],
			ClientKeyData:         files[l.Key(name)],
		}},
		Contexts:       map[string]*clientcmdapi.Context{clusterName: {Cluster: clusterName, AuthInfo: name}},
		CurrentContext: clusterName,
	}
	// Only root may read it, like the folder's other secrets.
	if err := clientcmd.WriteToFile(configuration, path); err != nil {
		return fmt.Errorf("write the kubeconfig %s of %s: %w", filepath.Base(path), name, err)
	}
	return nil
}

func apiServerURL() string { return fmt.Sprintf("https://%s:%d", hostAddress, apiServerPort) }
