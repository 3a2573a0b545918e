package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gopacer/gopacer/test/cluster/machine"
)

const (
	// stopGrace is how long a component has to end by itself.
	stopGrace = 10 * time.Second
	// shownLogLines is how much of a log a failure shows.
	shownLogLines = 15
)

// launch starts a component that outlives this process, with its output in a log file.
func (l layout) launch(c component) (machine.Process, error) {
	group, err := machine.FindGroup(groupName)
	if err != nil {
		return machine.Process{}, err
	}
	join, err := group.DaemonsFile()
	if err != nil {
		return machine.Process{}, err
	}
	log, err := os.OpenFile(l.log(c.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return machine.Process{}, fmt.Errorf("open the log of %s: %w", c.name, err)
	}
	defer func() { _ = log.Close() }()
	// The shell joins the cluster's control group before it becomes the component, so no child
	// of it can ever be outside. It closes what the caller left open: a lock that it holds, as
	// flock(1) has it, would else be held for as long as the cluster lives.
	script := []string{"-c", `echo 0 >"$0" && exec "$@" 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-`, join, c.program}
	// It outlives whoever started it, so no context ends it.
	command := exec.CommandContext(context.Background(), "/bin/sh", append(script, c.arguments...)...)
	command.Stdout, command.Stderr = log, log
	command.Dir = l.root
	// Nothing of the caller's environment, such as GOGC, may change the cluster.
	command.Env = []string{"PATH=" + filepath.Dir(c.program) + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return machine.Process{}, fmt.Errorf("start %s: %w", c.name, err)
	}
	// Whoever started it has to collect it, if it ends first.
	go func() { _ = command.Wait() }()
	process, err := machine.FindProcess(command.Process.Pid)
	if err != nil {
		return machine.Process{}, fmt.Errorf("start %s: it ended at once: %w%s", c.name, err, l.lastLines(c.name))
	}
	if err := writeJSON(l.process(c.name), process); err != nil {
		return machine.Process{}, fmt.Errorf("record the process of %s: %w", c.name, err)
	}
	return process, nil
}

// running returns the component's last process, and whether it runs.
func (l layout) running(name string) (machine.Process, bool) {
	var process machine.Process
	if err := readJSON(l.process(name), &process); err != nil {
		return machine.Process{}, false
	}
	return process, process.Alive()
}

// halt stops the component. One that does not run is no error.
func (l layout) halt(ctx context.Context, name string) error {
	process, running := l.running(name)
	if running {
		if err := process.Stop(ctx, stopGrace); err != nil {
			return fmt.Errorf("stop %s: %w", name, err)
		}
	}
	if err := os.Remove(l.process(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the process of %s: %w", name, err)
	}
	return nil
}

// lastLines returns the end of a component's log, with the log's path.
func (l layout) lastLines(name string) string {
	content, err := os.ReadFile(l.log(name))
	if err != nil || len(content) == 0 {
		return fmt.Sprintf("\nits log %s is empty", l.log(name))
	}
	lines := strings.Split(string(bytes.TrimSpace(content)), "\n")
	if len(lines) > shownLogLines {
		lines = lines[len(lines)-shownLogLines:]
	}
	return fmt.Sprintf("\nthe end of its log %s:\n  %s", l.log(name), strings.Join(lines, "\n  "))
}
