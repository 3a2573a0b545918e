package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/gopacer/gopacer/test/cluster/machine"
	"github.com/gopacer/gopacer/test/cluster/programs"
)

const (
	clusterBytes  = 3 << 30
	programsBytes = 8 << 30
)

// LackError lists everything that the machine lacks, one line each.
type LackError struct{ Lacks []machine.Lack }

func (e *LackError) Error() string {
	lines := []string{"this machine can't run the cluster yet:"}
	for _, lack := range e.Lacks {
		lines = append(lines, "  "+lack.String())
	}
	return strings.Join(lines, "\n")
}

func asError(lacks []machine.Lack) error {
	if len(lacks) == 0 {
		return nil
	}
	return &LackError{Lacks: lacks}
}

// preflight checks what has to be there before anything is built or started, and installs
// packages where that was asked for.
func (l layout) preflight(ctx context.Context, output io.Writer) error {
	missing, err := programs.Missing(ctx, programs.All()...)
	if err != nil {
		return err
	}
	compiler := slices.Contains(missing, programs.Runc)
	lacks := machine.LackOfCommands(compiler)
	if len(lacks) > 0 && mayInstall() {
		if err := install(ctx, output, lacks[0].Packages); err != nil {
			return err
		}
		lacks = machine.LackOfCommands(compiler)
	}
	group, err := machine.FindGroup(groupName)
	if err != nil {
		return err
	}
	lacks = append(lacks, machine.LackOfControllers(group)...)
	lacks = append(lacks, machine.LackOfSpace(l.root, "the cluster", clusterBytes)...)
	if len(missing) > 0 {
		cache, err := programs.CacheDirectory()
		if err != nil {
			return err
		}
		lacks = append(lacks, machine.LackOfSpace(cache, "building its programs", programsBytes)...)
	}
	return asError(lacks)
}

// preflightMachine checks, when no cluster of ours is there any more, that nothing else has
// what it is going to take.
func (l layout) preflightMachine(ctx context.Context) error {
	lacks := machine.LackOfPorts(listeners())
	overlap, err := bridge().Overlaps()
	if err != nil {
		return err
	}
	if overlap != "" {
		lacks = append(lacks, machine.Lack{
			What: fmt.Sprintf("the network interface %s is in the networks of the cluster, %s and %s", overlap, podNetwork, serviceNetwork),
			Cure: "take it down while the cluster runs",
		})
	}
	rules, err := machine.FirewallRemains(ctx, bridgeName)
	if err != nil {
		return err
	}
	if len(rules) > 0 {
		lacks = append(lacks, machine.Lack{
			What: fmt.Sprintf("the firewall has %d chains and rules of a Kubernetes node or CNI plugin, such as `%s`", len(rules), rules[0]),
			Cure: "stop that node; if it is gone for good, `make cluster-down` removes them",
		})
	}
	return asError(lacks)
}

// mayInstall says whether packages may be installed unasked: on a machine of continuous
// integration nobody is there to do it.
func mayInstall() bool {
	return os.Getenv("CI") == "true" || os.Getenv(installVariable) == "1"
}

func install(ctx context.Context, output io.Writer, packages []string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New("install packages " + strings.Join(packages, " ") + ": there is no apt-get here; install them by hand")
	}
	fmt.Fprintln(output, "installing", strings.Join(packages, " "))
	for _, arguments := range [][]string{
		{"update", "-qq"},
		append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...),
	} {
		command := exec.CommandContext(ctx, "apt-get", arguments...)
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if said, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("install packages with `%s`: %w: %s", strings.Join(command.Args, " "), err, said)
		}
	}
	return nil
}
