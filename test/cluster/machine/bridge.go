package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
)

// Bridge is the network of a cluster's pods, and the address at which they reach the machine.
type Bridge struct {
	Name string
	// Address is the machine's own, with the length of the pods' prefix.
	Address netip.Prefix
	// Services is routed to the bridge, so that Services are reachable from the machine also
	// where it has no default route.
	Services netip.Prefix
}

// Exists says whether there is a network interface of that name.
func (b Bridge) Exists() bool {
	_, err := net.InterfaceByName(b.Name)
	return err == nil
}

// Create makes the bridge.
func (b Bridge) Create(ctx context.Context) error {
	for _, arguments := range [][]string{
		{"link", "add", b.Name, "type", "bridge"},
		{"address", "add", b.Address.String(), "dev", b.Name},
		{"link", "set", b.Name, "up"},
		{"route", "add", b.Services.String(), "dev", b.Name, "src", b.Address.Addr().String()},
	} {
		if err := run(ctx, "", "ip", arguments...); err != nil {
			return fmt.Errorf("create the network bridge %s: %w", b.Name, err)
		}
	}
	return nil
}

// Remove removes the bridge and the ends of the pods' cables that are still plugged in. The
// kernel removes the other ends, and the addresses and routes.
func (b Bridge) Remove(ctx context.Context) error {
	if !b.Exists() {
		return nil
	}
	ports, err := b.ports(ctx)
	for _, port := range ports {
		// It can be gone already: it ends with the network namespace of its pod.
		_ = run(ctx, "", "ip", "link", "delete", port)
	}
	if removal := run(ctx, "", "ip", "link", "delete", b.Name); removal != nil {
		err = errors.Join(err, fmt.Errorf("remove the network bridge: %w", removal))
	}
	return err
}

// ports returns the names of the interfaces that are plugged into the bridge.
func (b Bridge) ports(ctx context.Context) ([]string, error) {
	output, err := exec.CommandContext(ctx, find("ip"), "-json", "link", "show", "master", b.Name).Output()
	if err != nil {
		return nil, fmt.Errorf("list the ports of the network bridge %s: %w", b.Name, err)
	}
	var links []struct {
		Name string `json:"ifname"`
	}
	if err := json.Unmarshal(output, &links); err != nil {
		return nil, fmt.Errorf("read the ports of the network bridge %s: %w", b.Name, err)
	}
	names := make([]string, 0, len(links))
	for _, link := range links {
		names = append(names, link.Name)
	}
	return names, nil
}

// Overlaps returns the name and address of another network interface in the networks that the
// bridge takes, or nothing.
func (b Bridge) Overlaps() (string, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return "", fmt.Errorf("list the network interfaces: %w", err)
	}
	for _, other := range interfaces {
		if other.Name == b.Name {
			continue
		}
		addresses, err := other.Addrs()
		if err != nil {
			return "", fmt.Errorf("list the addresses of %s: %w", other.Name, err)
		}
		for _, address := range addresses {
			prefix, err := netip.ParsePrefix(address.String())
			if err == nil && (prefix.Overlaps(b.Address.Masked()) || prefix.Overlaps(b.Services)) {
				return other.Name + " " + prefix.String(), nil
			}
		}
	}
	return "", nil
}
