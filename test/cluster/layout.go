package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The environment variables that choose the cluster's folder and settings.
const (
	directoryVariable      = "GOPACER_CLUSTER_DIR"
	scrapeIntervalVariable = "GOPACER_SCRAPE_INTERVAL"
	installVariable        = "GOPACER_INSTALL"
)

// defaultDirectory is the same for every user and does not depend on HOME, which sudo may or
// may not change: so whoever is root finds the machine's cluster.
const defaultDirectory = "/var/lib/gopacer-cluster"

// maxDirectoryLength keeps the paths of sockets in the folder below what the kernel takes.
const maxDirectoryLength = 38

// Directory returns the folder that has everything of the cluster.
func Directory() (string, error) {
	directory := os.Getenv(directoryVariable)
	if directory == "" {
		return defaultDirectory, nil
	}
	absolute, err := filepath.Abs(directory)
	if err != nil {
		return "", fmt.Errorf("find the cluster's folder %s=%s: %w", directoryVariable, directory, err)
	}
	if len(absolute) > maxDirectoryLength {
		return "", fmt.Errorf("use %s as the cluster's folder: its path is longer than %d characters, which is too long for the sockets in it; set %s to a shorter one",
			absolute, maxDirectoryLength, directoryVariable)
	}
	if absolute == "/" || filepath.Dir(absolute) == "/" {
		return "", errors.New("use " + absolute + " as the cluster's folder: it is removed as a whole when the cluster goes down; set " + directoryVariable + " to a folder of its own")
	}
	return absolute, nil
}

// layout knows where each thing lies in the cluster's folder.
type layout struct{ root string }

// Path returns the absolute path of something in the folder.
func (l layout) Path(name string) string { return filepath.Join(l.root, name) }

// Certificate returns the path of a certificate.
func (l layout) Certificate(name string) string { return l.Path("certificates/" + name + ".crt") }

// Key returns the path of a certificate's private key.
func (l layout) Key(name string) string { return l.Path("certificates/" + name + ".key") }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (l layout) Kubeconfig() string { return l.Path("kubeconfig") }

// KubeconfigOf returns the path of a component's kubeconfig.
func (l layout) KubeconfigOf(component string) string {
	return l.Path("kubeconfigs/" + component)
}

// ContainerdSocket returns the path of containerd's socket.
func (l layout) ContainerdSocket() string { return l.Path("containerd.sock") }

func (l layout) configuration(name string) string { return l.Path("configuration/" + name) }

func (l layout) log(component string) string { return l.Path("logs/" + component + ".log") }

func (l layout) process(component string) string { return l.Path("processes/" + component + ".json") }

// marker is a file that says that the folder is a cluster's. A folder without it is never removed.
const marker = ".gopacer-cluster"

// checkOwn refuses to use a folder that has other things in it.
func (l layout) checkOwn() error {
	entries, err := os.ReadDir(l.root)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(entries) == 0) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into the cluster's folder: %w", err)
	}
	if _, err := os.Lstat(l.Path(marker)); err != nil {
		return fmt.Errorf("use %s as the cluster's folder: it has files that are not a cluster's; set %s to a folder of its own", l.root, directoryVariable)
	}
	return nil
}

// createFolders makes the folders that components expect to be there.
func (l layout) createFolders() error {
	if err := os.MkdirAll(l.root, 0o711); err != nil {
		return fmt.Errorf("create the cluster's folder: %w", err)
	}
	if err := os.WriteFile(l.Path(marker), nil, 0o600); err != nil {
		return fmt.Errorf("mark the cluster's folder as such: %w", err)
	}
	for _, name := range []string{"certificates", "kubeconfigs", "configuration", "logs", "processes", "cni", "s", "images"} {
		if err := os.MkdirAll(l.Path(name), 0o700); err != nil {
			return fmt.Errorf("create a folder of the cluster: %w", err)
		}
	}
	return nil
}
