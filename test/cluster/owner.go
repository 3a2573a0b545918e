package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// ownerFile names the folder of the machine's cluster: bridge, control group and firewall rules
// are the machine's, so there can be one, and only its owner may take them away. The file is
// also the lock against two commands that start or stop the cluster at once.
const ownerFile = "/run/gopacer-cluster"

// ownership is held while a command changes the cluster.
type ownership struct {
	file *os.File
	// directory is that of the machine's cluster; empty where there is none.
	directory string
}

func acquire(ctx context.Context, output io.Writer) (*ownership, error) {
	for told := false; ; {
		owner, err := tryAcquire()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return owner, err
		}
		if !told {
			fmt.Fprintln(output, "another command starts or stops the cluster; waiting for it")
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the command that holds %s: %w", ownerFile, context.Cause(ctx))
		case <-time.After(pollInterval):
		}
	}
}

func tryAcquire() (*ownership, error) {
	file, err := os.OpenFile(ownerFile, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the machine's cluster: %w; run this as root", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", ownerFile, err)
	}
	// The holder before may have removed the file: then the lock is on a file that nobody else
	// will find.
	if !isCurrent(file) {
		_ = file.Close()
		return nil, syscall.EWOULDBLOCK
	}
	content, err := io.ReadAll(file)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("read %s: %w", ownerFile, err)
	}
	return &ownership{file: file, directory: strings.TrimSpace(string(content))}, nil
}

func isCurrent(file *os.File) bool {
	held, err := file.Stat()
	if err != nil {
		return false
	}
	current, err := os.Stat(ownerFile)
	return err == nil && os.SameFile(held, current)
}

// check refuses to touch what belongs to a cluster in another folder.
func (o *ownership) check(directory string) error {
	if o.directory == "" || o.directory == directory {
		return nil
	}
	return fmt.Errorf("the machine's cluster is in %s, not in %s; there can be one: set %s=%s to use it or to take it down",
		o.directory, directory, directoryVariable, o.directory)
}

// claim says that the machine's cluster is in the folder.
func (o *ownership) claim(directory string) error {
	if err := o.file.Truncate(0); err != nil {
		return fmt.Errorf("write %s: %w", ownerFile, err)
	}
	if _, err := o.file.WriteAt([]byte(directory+"\n"), 0); err != nil {
		return fmt.Errorf("write %s: %w", ownerFile, err)
	}
	o.directory = directory
	return nil
}

// surrender says that the machine has no cluster any more.
func (o *ownership) surrender() { o.directory = "" }

// release lets other commands at the cluster, and leaves no file where there is no cluster.
func (o *ownership) release() {
	if o.directory == "" {
		if err := os.Remove(ownerFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
			_ = o.file.Truncate(0)
		}
	}
	_ = o.file.Close()
}
