package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// settingsFolder is where the kernel shows its settings as files.
const settingsFolder = "/proc/sys"

// changed are the kernel settings that this package, kubelet and kube-proxy write.
var changed = []string{
	"net/ipv4/ip_forward",
	"net/ipv4/conf/all/route_localnet",
	"net/bridge/bridge-nf-call-iptables",
	"net/netfilter/nf_conntrack_max",
	"vm/overcommit_memory",
	"kernel/panic",
	"kernel/panic_on_oops",
	"kernel/keys/root_maxkeys",
	"kernel/keys/root_maxbytes",
}

// BridgeFiltering is the setting that sends packets between two ports of a bridge through the
// firewall. Without it a reply from a pod does not get the address of the Service back.
const BridgeFiltering = "net/bridge/bridge-nf-call-iptables"

// Forwarding is the setting that makes the machine a router.
const Forwarding = "net/ipv4/ip_forward"

// Settings are values of kernel settings by their path below /proc/sys.
type Settings map[string]string

// ReadSettings returns the settings that a cluster changes, as they are now.
func ReadSettings() (Settings, error) {
	settings := Settings{}
	for _, name := range changed {
		content, err := os.ReadFile(filepath.Join(settingsFolder, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the kernel setting %s: %w", name, err)
		}
		settings[name] = strings.TrimSpace(string(content))
	}
	return settings, nil
}

// WriteSetting sets one kernel setting.
func WriteSetting(name, value string) error {
	if err := os.WriteFile(filepath.Join(settingsFolder, name), []byte(value), 0o644); err != nil {
		return fmt.Errorf("set the kernel setting %s to %s: %w", name, value, err)
	}
	return nil
}

// Restore sets those settings that differ now.
func (s Settings) Restore() error {
	present, err := ReadSettings()
	if err != nil {
		return err
	}
	var failures []error
	for name, value := range s {
		if current, found := present[name]; found && current != value {
			failures = append(failures, WriteSetting(name, value))
		}
	}
	return errors.Join(failures...)
}

// LoadModules loads the kernel modules of containers and their networks, where they are modules and
// not there yet. That they are missing shows in what needs them.
func LoadModules(ctx context.Context) {
	for _, module := range []string{"overlay", "br_netfilter"} {
		_ = exec.CommandContext(ctx, find("modprobe"), module).Run()
	}
}

// FiltersBridges says whether the kernel can send packets between the ports of a bridge through
// the firewall.
func FiltersBridges() bool {
	_, err := os.Stat(filepath.Join(settingsFolder, BridgeFiltering))
	return err == nil
}
