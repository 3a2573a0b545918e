package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/gopacer/gopacer/test/cluster/machine"
	"github.com/gopacer/gopacer/test/cluster/programs"
)

// record is what is kept of a cluster for those who come later: to use it, to start a component
// again, and to take everything away.
type record struct {
	// BootID changes when the machine boots: then nothing of the cluster runs any more.
	BootID string `json:"bootID"`
	// Complete is set when all components were ready once.
	Complete       bool             `json:"complete"`
	Programs       programs.Paths   `json:"programs"`
	ScrapeInterval string           `json:"scrapeInterval"`
	Created        time.Time        `json:"created"`
	Kernel         machine.Settings `json:"kernel"`
}

func (l layout) readRecord() (record, error) {
	var r record
	err := readJSON(l.Path("cluster.json"), &r)
	return r, err
}

func (l layout) writeRecord(r record) error { return writeJSON(l.Path("cluster.json"), r) }

// exists says whether the folder has, or once had, a cluster.
func (l layout) exists() (bool, error) {
	_, err := os.Stat(l.root)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for a cluster in %s: %w", l.root, err)
	}
	return true, nil
}

func bootID() string {
	content, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

func readJSON(path string, value any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, value); err != nil {
		return fmt.Errorf("parse %s: %w", path, err)
	}
	return nil
}

// writeJSON replaces the file as a whole, so that a crash leaves the old or the new one.
func writeJSON(path string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.WriteFile(path+".part", append(content, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}
