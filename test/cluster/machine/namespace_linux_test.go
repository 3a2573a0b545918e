package machine

import (
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// inNetworkNamespace lets the test, and the commands that it runs, have network interfaces and
// firewall rules of their own.
func inNetworkNamespace(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 || len(LackOfCommands(false)) > 0 {
		t.Skip("needs root, ip and iptables")
	}
	// The thread is not given back: it ends with the test, and the namespace with it.
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("needs network namespaces:", err)
	}
}

func TestCleanFirewallRemovesANodesRulesAndNoOthers(t *testing.T) {
	inNetworkNamespace(t)
	const rules = `*nat
:KUBE-SERVICES - [0:0]
:KUBE-SVC-A - [0:0]
:KUBE-MARK-MASQ - [0:0]
:OTHER - [0:0]
-A PREROUTING -m comment --comment "kubernetes \"service\" portals" -j KUBE-SERVICES
-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-SERVICES -d 10.211.0.1/32 -p tcp -m comment --comment "default/kubernetes:https cluster IP" -m tcp --dport 443 -j KUBE-SVC-A
-A KUBE-SVC-A -j KUBE-MARK-MASQ
-A POSTROUTING -m comment --comment "not -j KUBE-SERVICES" -j OTHER
COMMIT
`
	if err := run(t.Context(), rules, "iptables-restore", "--noflush"); err != nil {
		t.Skip("needs a kernel with these rules:", err)
	}
	if err := AllowForwarding(t.Context(), "br0"); err != nil {
		t.Fatal(err)
	}
	remains, err := FirewallRemains(t.Context(), "br0")
	if err != nil || len(remains) != 8 {
		t.Fatalf("FirewallRemains() = %q, %v, want three chains, two rules that jump to them, three of the bridge", remains, err)
	}
	if err := CleanFirewall(t.Context(), "br0"); err != nil {
		t.Fatal(err)
	}
	remains, err = FirewallRemains(t.Context(), "br0")
	if err != nil || len(remains) != 0 {
		t.Errorf("FirewallRemains() after cleaning = %q, %v, want nothing", remains, err)
	}
	saved, err := exec.CommandContext(t.Context(), find("iptables-save")).Output()
	if err != nil || strings.Count(string(saved), "-j OTHER") != 1 || strings.Contains(string(saved), ":KUBE") {
		t.Errorf("the firewall after cleaning, %v, has not just the other rule:\n%s", err, saved)
	}
}

func TestBridge(t *testing.T) {
	inNetworkNamespace(t)
	b := Bridge{
		Name:     "test0",
		Address:  netip.MustParsePrefix("10.210.0.1/24"),
		Services: netip.MustParsePrefix("10.211.0.0/24"),
	}
	if err := b.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Two pods' cables, one of which lost its other end.
	for _, name := range []string{"cable0", "cable1"} {
		if err := run(t.Context(), "", "ip", "link", "add", name, "type", "veth", "peer", "name", name+"peer"); err != nil {
			t.Skip("needs a kernel with veth:", err)
		}
		if err := run(t.Context(), "", "ip", "link", "set", name, "master", b.Name); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Remove(t.Context()); err != nil {
		t.Errorf("Remove() of no bridge = %v", err)
	}
	left, err := exec.CommandContext(t.Context(), find("ip"), "-brief", "link").Output()
	if err != nil || strings.Contains(string(left), "cable") || strings.Contains(string(left), "test0") {
		t.Errorf("interfaces left, %v:\n%s", err, left)
	}
}
