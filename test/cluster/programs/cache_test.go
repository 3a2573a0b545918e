package programs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLockLetsOneInAtATime(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "programs")
	var output bytes.Buffer
	release, err := lock(t.Context(), folder, &output)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := lock(ctx, folder, &output); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("lock() while it is held = %v, want it to wait", err)
	}
	if !strings.Contains(output.String(), "waiting") {
		t.Errorf("output = %q, want it to say what is waited for", output.String())
	}
	release()
	release, err = lock(t.Context(), folder, &output)
	if err != nil {
		t.Fatalf("lock() after it was released = %v", err)
	}
	release()
}

func TestLinkReplacesAnOlderLink(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "etcd")
	for _, target := range []string{"old", "new", "new"} {
		if err := link(target, name); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(name); err != nil || got != target {
			t.Errorf("the link points to %q, %v, want %q", got, err, target)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v, want the link alone", entries, err)
	}
}

func TestRepositoryIsFoundFromBelow(t *testing.T) {
	if _, err := Repository(); err != nil {
		t.Errorf("Repository() = %v", err)
	}
	t.Chdir(t.TempDir())
	if _, err := Repository(); err == nil || !strings.Contains(err.Error(), "clone") {
		t.Errorf("Repository() elsewhere = %v, want an error that says what to do", err)
	}
}

func TestCacheDirectoryIsChosenByTheEnvironment(t *testing.T) {
	t.Setenv("GOPACER_CACHE", "relative")
	directory, err := CacheDirectory()
	if err != nil || !filepath.IsAbs(directory) || filepath.Base(directory) != "relative" {
		t.Errorf("CacheDirectory() = %q, %v, want the absolute path of GOPACER_CACHE", directory, err)
	}
}
