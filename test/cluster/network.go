package cluster

import (
	"net/netip"

	"github.com/gopacer/gopacer/test/cluster/machine"
)

// Names that the cluster has on the machine. There can be one cluster on a machine.
const (
	nodeName    = "gopacer-0"
	bridgeName  = "gopacer0"
	groupName   = "gopacer"
	networkName = "gopacer"
)

// The cluster's networks. Nothing of them is reachable from outside the machine.
var (
	podNetwork     = netip.MustParsePrefix("10.210.0.0/24")
	serviceNetwork = netip.MustParsePrefix("10.211.0.0/24")
	hostAddress    = netip.MustParseAddr("10.210.0.1")
	// kubernetesService is the first address of the Service network; the API server takes it.
	kubernetesService = netip.MustParseAddr("10.211.0.1")
	prometheusService = netip.MustParseAddr("10.211.0.90")
)

// The ports that the components listen on.
const (
	etcdPort              = 2379
	etcdPeerPort          = 2380
	apiServerPort         = 6443
	prometheusPort        = 9090
	proxyMetricsPort      = 10249
	proxyHealthPort       = 10256
	kubeletPort           = 10250
	kubeletHealthPort     = 10248
	controllerManagerPort = 10257
	schedulerPort         = 10259
)

func bridge() machine.Bridge {
	return machine.Bridge{
		Name:     bridgeName,
		Address:  netip.PrefixFrom(hostAddress, podNetwork.Bits()),
		Services: serviceNetwork,
	}
}

// listeners are the addresses that must be free.
func listeners() []netip.AddrPort {
	loopback := netip.MustParseAddr("127.0.0.1")
	addresses := []netip.AddrPort{
		netip.AddrPortFrom(loopback, kubeletHealthPort),
		netip.AddrPortFrom(loopback, controllerManagerPort),
		netip.AddrPortFrom(loopback, schedulerPort),
	}
	for _, port := range []uint16{etcdPort, etcdPeerPort, apiServerPort, prometheusPort, proxyMetricsPort, proxyHealthPort, kubeletPort} {
		addresses = append(addresses, netip.AddrPortFrom(hostAddress, port))
	}
	return addresses
}
