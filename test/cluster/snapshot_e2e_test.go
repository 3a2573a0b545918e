//go:build e2e

package cluster_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machineState is what a cluster could leave behind, seen without the cluster's own code.
type machineState map[string][]string

func snapshot(t *testing.T) machineState {
	t.Helper()
	return machineState{
		"mounts":     mountPoints(t),
		"interfaces": names(t, "/sys/class/net"),
		"namespaces": names(t, "/run/netns"),
		"firewall":   firewallRules(t),
		"groups":     controlGroups(t),
		"processes":  clusterProcesses(t),
		"folders": slices.Concat(names(t, "/var/lib/kubelet"), names(t, "/var/lib/cni"), names(t, "/var/log/containers"),
			names(t, "/run/containerd"), names(t, "/var/lib/containerd"), names(t, "/usr/libexec/kubernetes")),
		"settings": {setting(t, "net/ipv4/ip_forward"), setting(t, "kernel/panic"), setting(t, "kernel/panic_on_oops"),
			setting(t, "vm/overcommit_memory"), setting(t, "net/ipv4/conf/all/route_localnet")},
	}
}

// mustBeAll fails when the machine has something now that it did not have then.
func (before machineState) mustBeAll(t *testing.T) {
	t.Helper()
	for kind, present := range snapshot(t) {
		for _, name := range present {
			if !slices.Contains(before[kind], name) {
				t.Errorf("%s: %s is left", kind, name)
			}
		}
	}
}

func mountPoints(t *testing.T) []string {
	t.Helper()
	var points []string
	for line := range strings.Lines(read(t, "/proc/self/mountinfo")) {
		points = append(points, strings.Fields(line)[4])
	}
	return points
}

func firewallRules(t *testing.T) []string {
	t.Helper()
	var rules []string
	for _, command := range []string{"iptables-save", "ip6tables-save"} {
		output, err := exec.Command(command).Output()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		for line := range strings.Lines(string(output)) {
			// A chain that a program made has no policy. Those with one belong to the kernel.
			if strings.HasPrefix(line, "-A") || (strings.HasPrefix(line, ":") && strings.Contains(line, " - ")) {
				rules = append(rules, command+" "+strings.TrimSpace(line))
			}
		}
	}
	return rules
}

func controlGroups(t *testing.T) []string {
	t.Helper()
	var groups []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (strings.Contains(path, "gopacer") || strings.Contains(path, "kubepods")) {
			groups = append(groups, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// clusterProcesses are those whose command line has the cluster's folder in it, and their children.
func clusterProcesses(t *testing.T) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range lines {
		content, _ := os.ReadFile(path)
		command := strings.ReplaceAll(string(content), "\x00", " ")
		if strings.Contains(command, os.Getenv("GOPACER_CLUSTER_DIR")+"/") || strings.HasPrefix(command, "/echo ") || strings.HasPrefix(command, "/pause ") {
			found = append(found, path+" "+command)
		}
	}
	return found
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		found = append(found, filepath.Join(folder, entry.Name()))
	}
	return found
}

func setting(t *testing.T, name string) string {
	t.Helper()
	return name + "=" + strings.TrimSpace(read(t, filepath.Join("/proc/sys", name)))
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
