package programs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// modulesFolder is where the modules are, seen from the root of the clone.
const modulesFolder = "hack/cluster/programs"

// CacheDirectory returns the root of everything that is kept between clusters: GOPACER_CACHE,
// or the folder gopacer in the user's cache.
func CacheDirectory() (string, error) {
	if root := os.Getenv("GOPACER_CACHE"); root != "" {
		return filepath.Abs(root)
	}
	root, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for built programs: %w; set GOPACER_CACHE to one", err)
	}
	return filepath.Join(root, "gopacer"), nil
}

// Repository returns the root of the clone that the working directory is in.
func Repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the clone: %w", err)
	}
	for folder := start; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, modulesFolder)); err == nil {
			return folder, nil
		}
		if folder == filepath.Dir(folder) {
			return "", fmt.Errorf("find the clone: neither %s nor a folder above it has %s; run this from within the clone", start, modulesFolder)
		}
	}
}

// exists says whether there is such a file.
func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// lock keeps two builders from doing the same work twice. The kernel drops the lock when the
// process ends, however it ends.
func lock(ctx context.Context, folder string, output io.Writer) (release func(), err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("create the cache of built programs: %w; set GOPACER_CACHE to a folder that can be written", err)
	}
	path := filepath.Join(folder, ".lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the cache of built programs: %w", err)
	}
	for attempt := 0; ; attempt++ {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if attempt == 0 {
			fmt.Fprintln(output, "another process builds programs; waiting for it")
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("wait for the builder that holds %s: %w", path, context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}
