package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// hierarchy is one tree of control groups. Version 1 has one for each set of controllers,
// version 2 a single one; a machine can have both.
type hierarchy struct {
	root        string
	controllers []string
	unified     bool
}

// Group is a control group of the same name in every hierarchy. Every process of a cluster is
// in the group or below, because children inherit it: so they are found after any crash.
type Group struct {
	name        string
	hierarchies []hierarchy
}

// FindGroup returns the group of that name, which need not exist.
func FindGroup(name string) (Group, error) {
	mounts, err := Mounts()
	if err != nil {
		return Group{}, err
	}
	return Group{name: name, hierarchies: findHierarchies(mounts)}, nil
}

func findHierarchies(mounts []Mount) []hierarchy {
	var found []hierarchy
	for _, mount := range mounts {
		switch mount.Filesystem {
		case "cgroup":
			found = append(found, hierarchy{root: mount.Point, controllers: mount.Options})
		case "cgroup2":
			content, _ := os.ReadFile(filepath.Join(mount.Point, "cgroup.controllers"))
			found = append(found, hierarchy{root: mount.Point, controllers: strings.Fields(string(content)), unified: true})
		}
	}
	return found
}

// MissingControllers returns those of the wanted controllers that no hierarchy has.
func (g Group) MissingControllers(wanted ...string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(name string) bool {
		return slices.ContainsFunc(g.hierarchies, func(h hierarchy) bool { return slices.Contains(h.controllers, name) })
	})
}

// Create makes the group, with a child group daemons for the processes that are not in pods:
// in version 2 a group that hands controllers on to its children can't have processes itself.
func (g Group) Create() error {
	for _, h := range g.hierarchies {
		if err := h.delegate(h.root); err != nil {
			return err
		}
		for _, folder := range []string{filepath.Join(h.root, g.name), filepath.Join(h.root, g.name, daemons)} {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return fmt.Errorf("create the control group %s: %w", folder, err)
			}
			if err := h.inheritCPUSet(folder); err != nil {
				return err
			}
		}
		if err := h.delegate(filepath.Join(h.root, g.name)); err != nil {
			return err
		}
		if err := h.prefer(filepath.Join(h.root, g.name)); err != nil {
			return err
		}
	}
	return nil
}

// prefer gives the group four times the processor time of one process beside it: all pods together would else have to make do with
// what is left by each single compiler of a test run, and would miss their probes.
func (h hierarchy) prefer(folder string) error {
	if !slices.Contains(h.controllers, "cpu") {
		return nil
	}
	name, weight := "cpu.shares", "4096"
	if h.unified {
		name, weight = "cpu.weight", "400"
	}
	if err := os.WriteFile(filepath.Join(folder, name), []byte(weight), 0o644); err != nil {
		return fmt.Errorf("write %s of the control group %s: %w", name, folder, err)
	}
	return nil
}

// daemons is the child group of the processes that are not in pods.
const daemons = "daemons"

// DaemonsFile is the file through which a process joins the group. In version 1 one hierarchy is
// enough to find the process again, and the others would move it out of limits that somebody set.
func (g Group) DaemonsFile() (string, error) {
	for _, wanted := range []string{"", "pids"} {
		for _, h := range g.hierarchies {
			if (wanted == "" && h.unified) || (wanted != "" && slices.Contains(h.controllers, wanted)) {
				return filepath.Join(h.root, g.name, daemons, "cgroup.procs"), nil
			}
		}
	}
	return "", errors.New("find a control group hierarchy to start processes in: there is neither version 2 nor the pids controller of version 1")
}

// delegated are the controllers that kubelet expects in its group where the machine has them, and
// the one for disks.
var delegated = []string{"cpu", "cpuset", "memory", "hugetlb", "pids", "io"}

// delegate hands controllers of a version 2 group on to its children.
func (h hierarchy) delegate(folder string) error {
	var enabled []string
	for _, name := range delegated {
		if h.unified && slices.Contains(h.controllers, name) {
			enabled = append(enabled, "+"+name)
		}
	}
	if len(enabled) == 0 {
		return nil
	}
	err := os.WriteFile(filepath.Join(folder, "cgroup.subtree_control"), []byte(strings.Join(enabled, " ")), 0o644)
	if errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("hand controllers on from the control group %s: %w; it has processes of its own, as in a container: run in a machine, or move them into a child group first", folder, err)
	}
	if err != nil {
		return fmt.Errorf("hand controllers on from the control group %s: %w", folder, err)
	}
	return nil
}

// inheritCPUSet fills the CPUs and memory nodes of a version 1 group, which start out empty.
func (h hierarchy) inheritCPUSet(folder string) error {
	if h.unified || !slices.Contains(h.controllers, "cpuset") {
		return nil
	}
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		content, err := os.ReadFile(filepath.Join(filepath.Dir(folder), name))
		if err != nil {
			return fmt.Errorf("read the parent's %s of the control group %s: %w", name, folder, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return fmt.Errorf("write %s of the control group %s: %w", name, folder, err)
		}
	}
	return nil
}

// folders returns the group and all groups below it in all hierarchies, deepest first.
func (g Group) folders() []string {
	var folders []string
	for _, h := range g.hierarchies {
		_ = filepath.WalkDir(filepath.Join(h.root, g.name), func(path string, entry fs.DirEntry, err error) error {
			// A group can vanish while it is walked over, which is what is wanted here.
			if err == nil && entry.IsDir() {
				folders = append(folders, path)
			}
			return nil
		})
	}
	slices.Reverse(folders)
	return folders
}

// Folders returns the groups of that name that exist.
func (g Group) Folders() []string {
	folders := g.folders()
	slices.Reverse(folders)
	return folders
}

// Members returns the processes in the group and below it that still run.
func (g Group) Members() []Process {
	seen := map[int]bool{}
	var members []Process
	for _, folder := range g.folders() {
		content, _ := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
		for _, field := range strings.Fields(string(content)) {
			id, err := strconv.Atoi(field)
			if err != nil || seen[id] {
				continue
			}
			seen[id] = true
			if process, err := FindProcess(id); err == nil && !process.gone() {
				members = append(members, process)
			}
		}
	}
	return members
}

// Kill ends all processes in the group. They are looked up again until none is left, because
// a process can start another while it is being killed.
func (g Group) Kill(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		members := g.Members()
		if len(members) == 0 {
			return nil
		}
		for _, process := range members {
			if err := process.Signal(syscall.SIGKILL); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kill the processes in the control group %s: %w; still there: %v", g.name, context.Cause(ctx), g.Members())
		case <-time.After(pollInterval):
		}
	}
}

// Remove removes the group and all groups below it. The kernel frees a group a moment after its
// last process ended, so a busy one is tried again.
func (g Group) Remove(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		var last error
		for _, folder := range g.folders() {
			if err := syscall.Rmdir(folder); err != nil && !errors.Is(err, syscall.ENOENT) {
				last = fmt.Errorf("remove the control group %s: %w", folder, err)
			}
		}
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(pollInterval):
		}
	}
}
