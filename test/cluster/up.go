package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gopacer/gopacer/test/cluster/machine"
	"github.com/gopacer/gopacer/test/cluster/programs"
)

// Options are the choices of who starts a cluster.
type Options struct {
	// Output gets one line for each stage.
	Output io.Writer
	// ScrapeInterval is that of Prometheus; one second where it is zero.
	ScrapeInterval time.Duration
}

func (o Options) withDefaults() (Options, error) {
	if o.Output == nil {
		o.Output = io.Discard
	}
	if text := os.Getenv(scrapeIntervalVariable); o.ScrapeInterval == 0 && text != "" {
		interval, err := time.ParseDuration(text)
		if err != nil || interval <= 0 {
			return o, fmt.Errorf("read %s=%q: it must be a duration such as 1s", scrapeIntervalVariable, text)
		}
		o.ScrapeInterval = interval
	}
	if o.ScrapeInterval == 0 {
		o.ScrapeInterval = time.Second
	}
	return o, nil
}

// Prepare checks what the machine must have, and builds the programs of a cluster, so that Up has
// only to start them.
func Prepare(ctx context.Context, output io.Writer) error {
	directory, err := Directory()
	if err != nil {
		return err
	}
	if err := asError(machine.LackOfRoot()); err != nil {
		return err
	}
	if err := (layout{root: directory}).preflight(ctx, output); err != nil {
		return err
	}
	_, err = programs.Ensure(ctx, output, programs.All()...)
	return err
}

// Up starts the machine's cluster and returns when pods can be created on it. A cluster that
// runs is left as it is; of one that has lost components, these are started again.
func Up(ctx context.Context, options Options) (*Cluster, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	directory, err := Directory()
	if err != nil {
		return nil, err
	}
	if err := asError(machine.LackOfRoot()); err != nil {
		return nil, err
	}
	owner, err := acquire(ctx, options.Output)
	if err != nil {
		return nil, err
	}
	defer owner.release()
	if err := owner.check(directory); err != nil {
		return nil, err
	}
	l := layout{root: directory}
	if err := l.checkOwn(); err != nil {
		return nil, err
	}
	if cluster, err := l.resume(ctx, owner, options.Output); cluster != nil || err != nil {
		return cluster, err
	}
	if err := l.preflight(ctx, options.Output); err != nil {
		return nil, err
	}
	paths, err := programs.Ensure(ctx, options.Output, programs.All()...)
	if err != nil {
		return nil, err
	}
	return l.create(ctx, owner, options, paths)
}

// resume returns the cluster if there is one that can be used, after repairs where they are
// needed. What is left of a start that failed, or of the time before the machine booted, it
// takes away.
func (l layout) resume(ctx context.Context, owner *ownership, output io.Writer) (*Cluster, error) {
	present, err := l.exists()
	if err != nil || (!present && owner.directory == "") {
		return nil, err
	}
	r, err := l.readRecord()
	if err != nil || !r.Complete || r.BootID != bootID() {
		fmt.Fprintln(output, "taking away what is left of an earlier cluster")
		return nil, l.remove(ctx, owner)
	}
	cluster := &Cluster{layout: l, record: r}
	repaired, err := cluster.repair(ctx, output)
	if err != nil {
		return nil, fmt.Errorf("repair the cluster: %w\nto start anew: make cluster-down cluster-up", err)
	}
	if repaired == 0 {
		fmt.Fprintln(output, "the cluster is up already")
	}
	return cluster, nil
}

// repair starts the components that have ended. It looks again after it started some: one that was killed a moment before may still have
// been ending at the first look.
func (c *Cluster) repair(ctx context.Context, output io.Writer) (repaired int, err error) {
	for {
		started, err := c.startEnded(ctx, output)
		repaired += started
		if err != nil {
			return repaired, err
		}
		if started == 0 {
			return repaired, c.layout.awaitUsable(ctx)
		}
	}
}

func (c *Cluster) startEnded(ctx context.Context, output io.Writer) (started int, err error) {
	for _, name := range Components() {
		if _, running := c.layout.running(name); running {
			continue
		}
		began := time.Now()
		if err := c.Start(ctx, name); err != nil {
			return started, err
		}
		fmt.Fprintf(output, "%s was not running; started it in %.1f s\n", name, time.Since(began).Seconds())
		started++
	}
	return started, nil
}

// create starts a new cluster.
func (l layout) create(ctx context.Context, owner *ownership, options Options, paths programs.Paths) (*Cluster, error) {
	started := time.Now()
	if err := l.preflightMachine(ctx); err != nil {
		return nil, err
	}
	machine.LoadModules(ctx)
	kernel, err := machine.ReadSettings()
	if err != nil {
		return nil, err
	}
	if err := owner.claim(l.root); err != nil {
		return nil, err
	}
	if err := l.createFolders(); err != nil {
		return nil, err
	}
	r := record{BootID: bootID(), Programs: paths, ScrapeInterval: options.ScrapeInterval.String(), Created: started, Kernel: kernel}
	if err := l.writeRecord(r); err != nil {
		return nil, fmt.Errorf("record the cluster: %w", err)
	}
	steps, err := l.steps(r)
	if err != nil {
		return nil, err
	}
	if err := runSteps(ctx, options.Output, started, steps); err != nil {
		return nil, fmt.Errorf("start the cluster: %w\nlogs are in %s; to take away what was started: make cluster-down", err, l.Path("logs"))
	}
	r.Complete = true
	if err := l.writeRecord(r); err != nil {
		return nil, fmt.Errorf("record the cluster: %w", err)
	}
	fmt.Fprintf(options.Output, "%5.1f s  the cluster is up\n", time.Since(started).Seconds())
	return &Cluster{layout: l, record: r}, nil
}

// steps are the parts of starting a cluster, and what each needs to be there.
func (l layout) steps(r record) ([]step, error) {
	repository, err := programs.Repository()
	if err != nil {
		return nil, err
	}
	steps := []step{
		{name: "certificates and configuration", run: func(context.Context) error { return l.configure(r) }},
		{name: "control groups", run: func(context.Context) error { return createGroup() }},
		{name: "network", run: createNetwork},
		{name: "pause image", run: func(ctx context.Context) error { return l.buildPauseImage(ctx, repository) }},
		{name: "container runtime", run: func(ctx context.Context) error {
			return l.installRuntime(ctx, repository, r.Programs[programs.Runc])
		}},
	}
	machineReady := []string{"certificates and configuration", "control groups", "network"}
	for name, after := range map[string][]string{
		Etcd:              machineReady,
		APIServer:         {Etcd},
		ControllerManager: {APIServer},
		Scheduler:         {APIServer},
		Proxy:             {APIServer},
		Containerd:        append([]string{"container runtime"}, machineReady...),
		Kubelet:           {APIServer, "images"},
		Prometheus:        {"objects for Prometheus"},
	} {
		wanted, err := l.component(name, r.Programs)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{name: name, after: after, run: func(ctx context.Context) error { return l.ensure(ctx, wanted) }})
	}
	return append(steps,
		step{name: "images", after: []string{"pause image", Containerd}, run: func(ctx context.Context) error {
			return l.loadImage(ctx, r.Programs, l.pauseArchive())
		}},
		step{name: "objects for Prometheus", after: []string{APIServer}, run: l.createObjects},
		step{name: "node ready for pods", after: Components(), run: l.awaitUsable},
	), nil
}

// configure writes all files that components read.
func (l layout) configure(r record) error {
	if err := l.writeCertificates(); err != nil {
		return err
	}
	if err := l.writeKubeconfigs(); err != nil {
		return err
	}
	return facts{
		layout:         l,
		Snapshotter:    machine.Snapshotter(l.root),
		NetworkPlugins: filepath.Dir(r.Programs[programs.Bridge]),
		Runtime:        l.runtimePath(),
		ScrapeInterval: r.ScrapeInterval,
		MasqueradeAll:  !machine.FiltersBridges(),
	}.writeConfigurations()
}

func createGroup() error {
	group, err := machine.FindGroup(groupName)
	if err != nil {
		return err
	}
	return group.Create()
}

func createNetwork(ctx context.Context) error {
	if err := machine.WriteSetting(machine.Forwarding, "1"); err != nil {
		return err
	}
	if machine.FiltersBridges() {
		if err := machine.WriteSetting(machine.BridgeFiltering, "1"); err != nil {
			return err
		}
	}
	if err := bridge().Create(ctx); err != nil {
		return err
	}
	return machine.AllowForwarding(ctx, bridgeName)
}

func (l layout) createObjects(ctx context.Context) error {
	client, err := l.client()
	if err != nil {
		return err
	}
	return createObjects(ctx, client)
}

// awaitUsable waits until pods can be created and Services reached.
func (l layout) awaitUsable(ctx context.Context) error {
	client, err := l.client()
	if err != nil {
		return err
	}
	return errors.Join(
		await(ctx, "the node", func(ctx context.Context) error { return nodeReady(ctx, client) }),
		await(ctx, "the default service account", func(ctx context.Context) error { return podsCanStart(ctx, client) }),
		await(ctx, "the Service of the API server", func(ctx context.Context) error {
			return dial(ctx, "tcp", kubernetesService.String()+":443")
		}),
	)
}
