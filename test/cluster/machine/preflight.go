package machine

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Lack is something that the machine needs to have for a cluster, and how to get it.
type Lack struct {
	What string
	Cure string
	// Packages would cure it on Debian.
	Packages []string
}

func (l Lack) String() string {
	if l.Cure == "" {
		return l.What
	}
	return l.What + ": " + l.Cure
}

// LackOfRoot says what keeps any cluster from running here at all.
func LackOfRoot() []Lack {
	if runtime.GOOS != "linux" {
		return []Lack{{What: "a cluster runs on Linux only, and this is " + runtime.GOOS,
			Cure: "use a virtual machine, or a cluster of your own through its kubeconfig"}}
	}
	if os.Geteuid() != 0 {
		return []Lack{{What: "this is not root, and only root can start containers", Cure: "run it with sudo -E, or in a root shell"}}
	}
	return nil
}

// commandPackages are the commands that the cluster's programs run, and the packages that have them.
var commandPackages = map[string]string{
	"iptables":         "iptables",
	"iptables-save":    "iptables",
	"iptables-restore": "iptables",
	"ip":               "iproute2",
	"mount":            "mount",
	"umount":           "mount",
}

// LackOfCommands says which packages are missing. A C compiler is needed only where runc has to
// be built.
func LackOfCommands(compiler bool) []Lack {
	var packages, commands []string
	need := func(command, debianPackage string) {
		if _, err := exec.LookPath(find(command)); err == nil {
			return
		}
		commands = append(commands, command)
		packages = append(packages, debianPackage)
	}
	for command, debianPackage := range commandPackages {
		need(command, debianPackage)
	}
	if compiler {
		if _, err := exec.LookPath("gcc"); err != nil {
			commands = append(commands, "gcc")
			packages = append(packages, "gcc", "libc6-dev")
		}
	}
	if len(commands) == 0 {
		return nil
	}
	slices.Sort(commands)
	slices.Sort(packages)
	packages = slices.Compact(packages)
	return []Lack{{
		What:     "commands are missing: " + strings.Join(commands, ", "),
		Cure:     "apt-get install -y " + strings.Join(packages, " ") + " (on Debian; other systems name the packages alike)",
		Packages: packages,
	}}
}

// LackOfControllers says which control group controllers are missing.
func LackOfControllers(group Group) []Lack {
	missing := group.MissingControllers("cpu", "cpuset", "memory", "pids")
	if len(missing) == 0 {
		return nil
	}
	return []Lack{{
		What: "control group controllers are missing: " + strings.Join(missing, ", "),
		Cure: "mount them below /sys/fs/cgroup, or boot with systemd.unified_cgroup_hierarchy=1 cgroup_enable=memory",
	}}
}

// LackOfSpace says whether the disk is too full.
func LackOfSpace(folder, purpose string, bytes uint64) []Lack {
	for {
		if _, err := os.Stat(folder); err == nil || folder == "/" {
			break
		}
		folder = filepath.Dir(folder)
	}
	free, err := freeBytes(folder)
	if err != nil || free >= bytes {
		return nil
	}
	const gigabyte = 1 << 30
	return []Lack{{
		What: fmt.Sprintf("%s has %.1f GB free, and %s wants %.0f GB", folder, float64(free)/gigabyte, purpose, float64(bytes)/gigabyte),
		Cure: "free some space, or choose another disk with GOPACER_CACHE (programs) and GOPACER_CLUSTER_DIR (the cluster)",
	}}
}

// LackOfPorts says which of the addresses something else listens on.
func LackOfPorts(wanted []netip.AddrPort) []Lack {
	var taken []netip.AddrPort
	for _, name := range []string{"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"} {
		file, err := os.Open(name)
		if err != nil {
			continue
		}
		taken = append(taken, parseListeners(file)...)
		_ = file.Close()
	}
	var lacks []Lack
	for _, address := range wanted {
		for _, other := range taken {
			if other.Port() == address.Port() && (other.Addr().IsUnspecified() || other.Addr() == address.Addr()) {
				lacks = append(lacks, Lack{
					What: fmt.Sprintf("port %d is in use by a program that listens on %s", address.Port(), other),
					Cure: fmt.Sprintf("stop it; `ss -ltnp 'sport = :%d'` shows which it is", address.Port()),
				})
				break
			}
		}
	}
	return lacks
}

// parseListeners reads /proc/net/tcp or tcp6 and returns the addresses that are listened on.
func parseListeners(content io.Reader) []netip.AddrPort {
	const addressField, stateField, listening = 1, 3, "0A"
	var addresses []netip.AddrPort
	lines := bufio.NewScanner(content)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) <= stateField || fields[stateField] != listening {
			continue
		}
		if address, err := parseAddress(fields[addressField]); err == nil {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// parseAddress reads an address as the kernel prints it: words of four bytes, each in the byte
// order of the machine, and the port.
func parseAddress(text string) (netip.AddrPort, error) {
	digits, portDigits, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("parse address %q: %w", text, err)
	}
	port, err := strconv.ParseUint(portDigits, 16, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("parse the port of address %q: %w", text, err)
	}
	for word := 0; word+4 <= len(raw); word += 4 {
		slices.Reverse(raw[word : word+4])
	}
	address, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("parse address %q: it has %d bytes", text, len(raw))
	}
	return netip.AddrPortFrom(address.Unmap(), uint16(port)), nil
}
