// Package programs builds the programs a Kubernetes cluster is made of from their Go modules,
// and keeps them in a cache outside the clone.
package programs

import (
	"fmt"
	"slices"
)

// The names of the programs, as they are called in the cache.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubelet           = "kubelet"
	Proxy             = "kube-proxy"
	Kubectl           = "kubectl"
	Containerd        = "containerd"
	Shim              = "containerd-shim-runc-v2"
	Ctr               = "ctr"
	Runc              = "runc"
	HostLocal         = "host-local"
	Bridge            = "bridge"
	Prometheus        = "prometheus"
)

// program is one main package of a module.
type program struct {
	name        string
	packagePath string
	// output is what the go command calls the binary, where that is not the program's name.
	output string
}

func (p program) outputName() string {
	if p.output != "" {
		return p.output
	}
	return p.name
}

// module is one folder below hack/cluster/programs, with a go.mod of its own: these programs
// need versions of shared libraries that would not go together in one.
type module struct {
	name     string
	programs []program
	tags     string
	cgo      bool
	// versionFrom is a module whose version the linker writes into versionVariable. Without it
	// the Kubernetes programs call themselves v0.0.0, and clients that ask for the version are
	// led astray.
	versionFrom     string
	versionVariable string
	// coldSeconds is what the build took with an empty build cache on two cores. It only
	// serves to estimate the time left.
	coldSeconds float64
	// linkSeconds is the part of it that a full build cache does not save.
	linkSeconds float64
}

// modules are in the order in which a person waits for them: tests without a node need only
// the first two.
var modules = []module{
	{
		name:        "etcd",
		programs:    []program{{name: Etcd, packagePath: "go.etcd.io/etcd/server/v3", output: "server"}},
		coldSeconds: 35, linkSeconds: 1,
	},
	{
		name: "kubernetes",
		programs: []program{
			{name: APIServer, packagePath: "k8s.io/kubernetes/cmd/kube-apiserver"},
			{name: ControllerManager, packagePath: "k8s.io/kubernetes/cmd/kube-controller-manager"},
			{name: Scheduler, packagePath: "k8s.io/kubernetes/cmd/kube-scheduler"},
			{name: Kubelet, packagePath: "k8s.io/kubernetes/cmd/kubelet"},
			{name: Proxy, packagePath: "k8s.io/kubernetes/cmd/kube-proxy"},
			{name: Kubectl, packagePath: "k8s.io/kubernetes/cmd/kubectl"},
		},
		versionFrom:     "k8s.io/kubernetes",
		versionVariable: "k8s.io/component-base/version.gitVersion",
		coldSeconds:     380, linkSeconds: 18,
	},
	{
		name: "containerd",
		programs: []program{
			{name: Containerd, packagePath: "github.com/containerd/containerd/v2/cmd/containerd"},
			{name: Shim, packagePath: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"},
			{name: Ctr, packagePath: "github.com/containerd/containerd/v2/cmd/ctr"},
		},
		tags:        "no_btrfs no_devmapper no_zfs",
		coldSeconds: 58, linkSeconds: 2,
	},
	{
		name:        "runc",
		programs:    []program{{name: Runc, packagePath: "github.com/opencontainers/runc"}},
		cgo:         true,
		coldSeconds: 11, linkSeconds: 1,
	},
	{
		name: "cni",
		programs: []program{
			{name: HostLocal, packagePath: "github.com/containernetworking/plugins/plugins/ipam/host-local"},
			{name: Bridge, packagePath: "github.com/containernetworking/plugins/plugins/main/bridge"},
		},
		coldSeconds: 9, linkSeconds: 1,
	},
	{
		name:        "prometheus",
		programs:    []program{{name: Prometheus, packagePath: "github.com/prometheus/prometheus/cmd/prometheus"}},
		tags:        "remove_all_sd enable_kubernetes_sd",
		coldSeconds: 285, linkSeconds: 3,
	},
}

// All returns the names of all programs of a cluster.
func All() []string {
	var names []string
	for _, m := range modules {
		for _, p := range m.programs {
			names = append(names, p.name)
		}
	}
	return names
}

// selectPrograms returns, module by module, those of the named programs that it holds.
func selectPrograms(names []string) (map[string][]program, error) {
	selected := map[string][]program{}
	known := 0
	for _, m := range modules {
		for _, p := range m.programs {
			if slices.Contains(names, p.name) {
				selected[m.name] = append(selected[m.name], p)
				known++
			}
		}
	}
	if known < len(slices.Compact(slices.Sorted(slices.Values(names)))) {
		return nil, fmt.Errorf("select programs %q: some of them are unknown; known are %q", names, All())
	}
	return selected, nil
}
