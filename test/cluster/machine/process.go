// Package machine is what a cluster takes from the machine that it runs on, and gives back:
// processes, control groups, mounts, a network bridge, firewall rules and kernel settings.
package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pollInterval is how often this package looks whether something has happened.
const pollInterval = 50 * time.Millisecond

// Process names one process for good. A process id alone is reused; together with the start
// time it is not.
type Process struct {
	ID int `json:"id"`
	// StartTime is in clock ticks since the machine booted.
	StartTime uint64 `json:"startTime"`
}

// FindProcess returns the process that has the id now.
func FindProcess(id int) (Process, error) {
	stat, err := readStat(id)
	if err != nil {
		return Process{}, fmt.Errorf("identify process %d: %w", id, err)
	}
	return Process{ID: id, StartTime: stat.startTime}, nil
}

// Alive says whether exactly this process still runs. One that is ending, or waits to be reaped,
// does not.
func (p Process) Alive() bool {
	stat, err := readStat(p.ID)
	return err == nil && stat.startTime == p.StartTime && stat.state != 'Z' && stat.state != 'X'
}

// gone says whether nothing of the process is left but, perhaps, its entry in the process table.
func (p Process) gone() bool {
	stat, err := readStat(p.ID)
	return err != nil || stat.startTime != p.StartTime || stat.ended()
}

// Signal sends a signal to exactly this process. A process that has ended is no error.
func (p Process) Signal(signal syscall.Signal) error {
	if p.gone() {
		return nil
	}
	if err := syscall.Kill(p.ID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to process %d: %w", signal, p.ID, err)
	}
	return nil
}

// Stop asks the process to end, and kills it when it has not done so after the grace period.
func (p Process) Stop(ctx context.Context, grace time.Duration) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := p.AwaitEnd(ctx, grace); err == nil || ctx.Err() != nil {
		return err
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	return p.AwaitEnd(ctx, 5*time.Second)
}

// AwaitEnd waits until nothing of the process is left: its ports are free then.
func (p Process) AwaitEnd(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !p.gone() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for process %d to end: %w", p.ID, context.Cause(ctx))
		case <-time.After(pollInterval):
		}
	}
	return nil
}

type processStat struct {
	state     byte
	threads   uint64
	startTime uint64
}

// ended says whether nothing of the process runs. A process shows as ended when its first thread
// has; until the others have as well, its ports are still taken.
func (s processStat) ended() bool {
	return s.state == 'X' || (s.state == 'Z' && s.threads <= 1)
}

func readStat(id int) (processStat, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return processStat{}, err
	}
	return parseStat(string(content))
}

// parseStat reads /proc/PID/stat. The second field is the program's name in parentheses and can
// have any character in it, so the fields are counted from the last parenthesis.
func parseStat(content string) (processStat, error) {
	const stateField, threadsField, startTimeField = 0, 17, 19
	_, rest, found := cutLast(content, ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) <= startTimeField {
		return processStat{}, fmt.Errorf("parse process status %q: too few fields", content)
	}
	startTime, err := strconv.ParseUint(fields[startTimeField], 10, 64)
	if err != nil {
		return processStat{}, fmt.Errorf("parse the start time in process status %q: %w", content, err)
	}
	threads, err := strconv.ParseUint(fields[threadsField], 10, 64)
	if err != nil {
		return processStat{}, fmt.Errorf("parse the number of threads in process status %q: %w", content, err)
	}
	return processStat{state: fields[stateField][0], threads: threads, startTime: startTime}, nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	index := strings.LastIndex(text, separator)
	if index < 0 {
		return text, "", false
	}
	return text[:index], text[index+len(separator):], true
}

// ProcessesNaming returns the processes of the named programs, and of container shims, whose
// command line has a path in the folder.
func ProcessesNaming(folder string, programs ...string) ([]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	var found []string
	for _, entry := range entries {
		id, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// A process that has ended meanwhile has no command line.
		content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id))
		command, arguments, _ := strings.Cut(string(content), "\x00")
		name := filepath.Base(command)
		known := slices.Contains(programs, name) || strings.HasPrefix(name, "containerd-shim")
		if known && strings.Contains(arguments, folder+"/") {
			found = append(found, fmt.Sprintf("process %d (%s)", id, name))
		}
	}
	return found, nil
}

// Memory returns the bytes of memory that the process has in use, or zero when it has ended.
func (p Process) Memory() uint64 {
	const residentField = 1
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.ID))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(content))
	if len(fields) <= residentField {
		return 0
	}
	pages, err := strconv.ParseUint(fields[residentField], 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}
