package machine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// firewalls are the two commands that a Kubernetes node fills with rules.
var firewalls = []string{"iptables", "ip6tables"}

// chainPrefixes are those of the chains that kubelet, kube-proxy and CNI plugins create.
var chainPrefixes = []string{"KUBE-", "CNI-"}

// AllowForwarding lets packets of the bridge pass on machines whose firewall drops forwarded
// packets, as it does where Docker runs.
func AllowForwarding(ctx context.Context, bridge string) error {
	for _, rule := range [][]string{
		{"FORWARD", "-i", bridge, "-j", "ACCEPT"},
		{"FORWARD", "-o", bridge, "-j", "ACCEPT"},
		{"INPUT", "-i", bridge, "-j", "ACCEPT"},
	} {
		if err := run(ctx, "", "iptables", append([]string{"-w", "5", "-I"}, rule...)...); err != nil {
			return err
		}
	}
	return nil
}

// FirewallRemains returns the chains and rules of a node, one per line as iptables-save writes them.
func FirewallRemains(ctx context.Context, bridge string) ([]string, error) {
	var remains []string
	for _, firewall := range firewalls {
		saved, err := saveFirewall(ctx, firewall)
		if err != nil {
			return nil, err
		}
		for _, table := range parseTables(saved, bridge) {
			for _, chain := range table.chains {
				remains = append(remains, firewall+" -t "+table.name+" chain "+chain)
			}
			for _, rule := range table.rules {
				remains = append(remains, firewall+" -t "+table.name+" "+rule)
			}
		}
	}
	return remains, nil
}

// CleanFirewall removes the chains and rules of a node, and nothing else.
func CleanFirewall(ctx context.Context, bridge string) error {
	var failures []error
	for _, firewall := range firewalls {
		saved, err := saveFirewall(ctx, firewall)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		script := removalScript(parseTables(saved, bridge))
		if script == "" {
			continue
		}
		if err := run(ctx, script, firewall+"-restore", "-w", "5", "--noflush"); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// ForgetConnections removes what the kernel remembers of the network's connections, where the
// command for it is installed. Otherwise it remembers some for days, and a connection of the next
// cluster that has the same ports can be sent to a pod of this one.
func ForgetConnections(ctx context.Context, network netip.Prefix) {
	// It fails where there is nothing to remove, which is as good.
	_ = exec.CommandContext(ctx, find("conntrack"), "-D", "-s", network.String()).Run()
}

func saveFirewall(ctx context.Context, firewall string) (string, error) {
	if _, err := os.Stat("/proc/net/if_inet6"); err != nil && firewall == "ip6tables" {
		// The kernel has no IPv6, and so no rules for it.
		return "", nil
	}
	command := exec.CommandContext(ctx, find(firewall+"-save"))
	output, err := command.Output()
	if errors.Is(err, exec.ErrNotFound) {
		// Without the command no program can have set rules through it.
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("list the firewall rules with %s-save: %w", firewall, err)
	}
	return string(output), nil
}

// table is what a node left in one table of the firewall.
type table struct {
	name   string
	chains []string
	// rules are those outside the node's own chains.
	rules []string
}

// parseTables finds in the output of iptables-save what belongs to a node.
func parseTables(saved, bridge string) []table {
	var tables []table
	var current table
	for line := range strings.Lines(saved) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "*"):
			current = table{name: line[1:]}
		case strings.HasPrefix(line, ":"):
			if name, _, _ := strings.Cut(line[1:], " "); isNodeChain(name) {
				current.chains = append(current.chains, name)
			}
		case strings.HasPrefix(line, "-A "):
			if fields := words(line); !isNodeChain(fields[1]) && isNodeRule(fields, bridge) {
				current.rules = append(current.rules, line)
			}
		case line == "COMMIT":
			if len(current.chains)+len(current.rules) > 0 {
				tables = append(tables, current)
			}
		}
	}
	return tables
}

func isNodeChain(name string) bool {
	return slices.ContainsFunc(chainPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// words splits a rule. A quoted comment is one word, whatever it says.
func words(rule string) []string {
	quoted, escaped := false, false
	return strings.FieldsFunc(rule, func(character rune) bool {
		switch {
		case escaped:
			escaped = false
		case quoted && character == '\\':
			escaped = true
		case character == '"':
			quoted = !quoted
		}
		return character == ' ' && !quoted
	})
}

// isNodeRule says whether a rule jumps to a node's chain or names the bridge.
func isNodeRule(fields []string, bridge string) bool {
	for index := 1; index < len(fields); index++ {
		switch fields[index-1] {
		case "-j", "-g":
			if isNodeChain(fields[index]) {
				return true
			}
		case "-i", "-o":
			if fields[index] == bridge {
				return true
			}
		}
	}
	return false
}

// removalScript is input for iptables-restore --noflush. All chains are emptied before any is
// removed, because they jump to each other.
func removalScript(tables []table) string {
	var script strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&script, "*%s\n", t.name)
		for _, chain := range t.chains {
			// Naming a chain this way empties it.
			fmt.Fprintf(&script, ":%s - [0:0]\n", chain)
		}
		for _, rule := range t.rules {
			fmt.Fprintf(&script, "-D %s\n", strings.TrimPrefix(rule, "-A "))
		}
		for _, chain := range t.chains {
			fmt.Fprintf(&script, "-X %s\n", chain)
		}
		script.WriteString("COMMIT\n")
	}
	return script.String()
}
