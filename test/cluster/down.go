package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/gopacer/test/cluster/machine"
)

// Down stops everything that Up started, also where Up or the cluster crashed, and takes away
// what they left on the machine. It returns an error that names what is left, if anything is.
func Down(ctx context.Context) error {
	directory, err := Directory()
	if err != nil {
		return err
	}
	if err := asError(machine.LackOfRoot()); err != nil {
		return err
	}
	owner, err := acquire(ctx, io.Discard)
	if err != nil {
		return err
	}
	defer owner.release()
	if err := owner.check(directory); err != nil {
		return err
	}
	return layout{root: directory}.remove(ctx, owner)
}

const removalLimit = 20 * time.Second

// remove takes the cluster away. Every part is tried, whatever became of the others.
func (l layout) remove(ctx context.Context, owner *ownership) error {
	if err := l.checkOwn(); err != nil {
		return err
	}
	r, err := l.readRecord()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	failures := []error{err, l.killProcesses(ctx)}
	machine.ForgetConnections(ctx, podNetwork)
	failures = append(failures,
		machine.Unmount(l.root),
		bridge().Remove(ctx),
		machine.CleanFirewall(ctx, bridgeName),
		removeGroup(ctx),
		r.Kernel.Restore(),
		removeStrays(l),
		l.removeFolder(),
	)
	left, err := l.leftovers(ctx)
	failures = append(failures, err)
	if len(left) > 0 {
		failures = append(failures, fmt.Errorf("take the cluster down: something is left:\n  %s", strings.Join(left, "\n  ")))
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	owner.surrender()
	return nil
}

// killProcesses ends the components, the pods and what else they started. They get no time to
// tidy up: whatever they would tidy up goes with the cluster.
func (l layout) killProcesses(ctx context.Context) error {
	group, err := machine.FindGroup(groupName)
	if err != nil {
		return err
	}
	failures := []error{group.Kill(ctx, removalLimit)}
	// All of them were in the group, unless a start failed between its two halves.
	for _, name := range Components() {
		failures = append(failures, l.halt(ctx, name))
	}
	return errors.Join(failures...)
}

func removeGroup(ctx context.Context) error {
	group, err := machine.FindGroup(groupName)
	if err != nil {
		return err
	}
	return group.Remove(ctx, removalLimit)
}

// strays are the files that kubelet and the network plugins write to fixed places.
func (l layout) strays() ([]string, error) {
	var found []string
	links, err := filepath.Glob("/var/log/containers/*.log")
	if err != nil {
		return nil, fmt.Errorf("look for links to container logs: %w", err)
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(target, l.root+"/") {
			found = append(found, link)
		}
	}
	results, err := filepath.Glob("/var/lib/cni/results/" + networkName + "-*")
	if err != nil {
		return nil, fmt.Errorf("look for results of network plugins: %w", err)
	}
	sockets, err := filepath.Glob(devicePlugins + "/kubelet*")
	if err != nil {
		return nil, fmt.Errorf("look for the socket of device plugins: %w", err)
	}
	return slices.Concat(found, results, sockets), nil
}

// devicePlugins is where kubelet listens for device plugins, whatever its root folder is.
const devicePlugins = "/var/lib/kubelet/device-plugins"

func removeStrays(l layout) error {
	found, err := l.strays()
	failures := []error{err}
	for _, path := range found {
		failures = append(failures, os.Remove(path))
	}
	// The folders go as well where nobody else uses them: a folder that is not empty stays.
	for _, folder := range []string{"/var/log/containers", "/var/lib/cni/results", "/var/lib/cni", devicePlugins, filepath.Dir(devicePlugins)} {
		_ = os.Remove(folder)
	}
	return errors.Join(failures...)
}

// removeFolder removes the cluster's folder, but never through a mount: behind one there may be
// files that are not the cluster's.
func (l layout) removeFolder() error {
	points, err := machine.MountsBelow(l.root)
	if err != nil {
		return err
	}
	if len(points) > 0 {
		return fmt.Errorf("remove %s: %s is still mounted; unmount it and try again", l.root, points[0])
	}
	entries, err := os.ReadDir(l.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	failures := []error{err}
	for _, entry := range entries {
		// The marker goes last, so that a removal that was interrupted can be continued.
		if entry.Name() != marker {
			failures = append(failures, os.RemoveAll(l.Path(entry.Name())))
		}
	}
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("remove the cluster's folder: %w", err)
	}
	if err := os.RemoveAll(l.root); err != nil {
		return fmt.Errorf("remove the cluster's folder: %w", err)
	}
	return nil
}

// leftovers names everything of the cluster that is still on the machine.
func (l layout) leftovers(ctx context.Context) ([]string, error) {
	var left []string
	group, err := machine.FindGroup(groupName)
	failures := []error{err}
	for _, process := range group.Members() {
		left = append(left, fmt.Sprintf("process %d", process.ID))
	}
	for _, folder := range group.Folders() {
		left = append(left, "control group "+folder)
	}
	naming, err := machine.ProcessesNaming(l.root, Components()...)
	failures = append(failures, err)
	left = append(left, naming...)
	points, err := machine.MountsBelow(l.root)
	failures = append(failures, err)
	for _, point := range points {
		left = append(left, "mount "+point)
	}
	if bridge().Exists() {
		left = append(left, "network interface "+bridgeName)
	}
	rules, err := machine.FirewallRemains(ctx, bridgeName)
	failures = append(failures, err)
	left = append(left, rules...)
	strays, err := l.strays()
	failures = append(failures, err)
	for _, path := range append(strays, l.root) {
		if _, err := os.Lstat(path); err == nil {
			left = append(left, "file "+path)
		}
	}
	return left, errors.Join(failures...)
}
