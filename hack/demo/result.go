package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/gopacer/gopacer/api/v1alpha1"
	"github.com/gopacer/gopacer/test/cluster/programs"
)

// result is out/demo/result.json.
type result struct {
	// Reached says that both ends were reached, by measurement; Failure why not.
	Reached   bool            `json:"reached"`
	Failure   string          `json:"failure,omitempty"`
	Started   time.Time       `json:"started"`
	Seconds   float64         `json:"secondsWithoutBuilds"`
	Commit    string          `json:"commit"`
	Versions  versions        `json:"versions"`
	Machine   machine         `json:"machine"`
	Policy    string          `json:"policy"`
	Promotion promotionResult `json:"promotion"`
	Revert    revertResult    `json:"revert"`
	Timeline  []entry         `json:"timeline"`
}

type versions struct {
	Go         string `json:"go"`
	Kubernetes string `json:"kubernetes"`
	Prometheus string `json:"prometheus"`
}

type machine struct {
	System       string `json:"system"`
	Architecture string `json:"architecture"`
	Processors   int    `json:"processors"`
	Model        string `json:"model,omitempty"`
	Memory       string `json:"memory,omitempty"`
	// Load is the load average when the demonstration began: on a busy machine latency is another.
	Load string `json:"loadAverage,omitempty"`
}

type promotionResult struct {
	Trial v1alpha1.TrialRecord `json:"trial,omitzero"`
	// Control and Canary were measured at the same time, in the last step of the trial.
	Control sheet `json:"control"`
	Canary  sheet `json:"canary"`
}

type revertResult struct {
	Trial   v1alpha1.TrialRecord `json:"trial,omitzero"`
	Witness testimony            `json:"witness"`
	// Seconds are from the first breaching sample to the last canary pod gone.
	Seconds float64 `json:"secondsFromBreachToGone"`
	// WarmAt is when the warm-up was over, ClosedAt when the operator began to revert.
	WarmAt   time.Time `json:"warmAt,omitzero"`
	ClosedAt time.Time `json:"slotsClosedAt,omitzero"`
}

// note keeps when the trial that runs reached what.
func (r *revertResult) note(trial *v1alpha1.Trial) {
	if trial == nil {
		return
	}
	r.WarmAt, r.ClosedAt = time.Time{}, time.Time{}
	if trial.WarmAt != nil {
		r.WarmAt = trial.WarmAt.UTC()
	}
	if trial.End != nil {
		r.ClosedAt = trial.End.At.UTC()
	}
}

// warmUpShare is the part of the time in which the operator was not to judge yet.
func (r revertResult) warmUpShare() time.Duration {
	if r.WarmAt.IsZero() || r.Witness.FirstBreach.IsZero() {
		return 0
	}
	return max(0, r.WarmAt.Sub(r.Witness.FirstBreach))
}

// describe says on what the figures were measured.
func describe(ctx context.Context, config *rest.Config, asked meter) (result, error) {
	made := result{Started: time.Now().UTC(), Commit: commit(ctx), Versions: versions{Go: runtime.Version()}, Machine: describeMachine()}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return made, fmt.Errorf("make a client of the cluster: %w", err)
	}
	server, err := found.ServerVersion()
	if err != nil {
		return made, fmt.Errorf("ask the cluster for its version: %w", err)
	}
	made.Versions.Kubernetes = server.GitVersion
	build, err := asked.api.Buildinfo(ctx)
	if err != nil {
		return made, fmt.Errorf("ask Prometheus for its version: %w; see that its address is right", err)
	}
	if made.Versions.Prometheus = build.Version; build.Version == "" {
		made.Versions.Prometheus = "unknown: built from its sources without one"
	}
	return made, nil
}

// commit is empty where the clone has no git.
func commit(ctx context.Context) string {
	repository, err := programs.Repository()
	if err != nil {
		return ""
	}
	head, err := exec.CommandContext(ctx, "git", "-C", repository, "rev-parse", "HEAD").Output()
	if err != nil {
		return ""
	}
	name := strings.TrimSpace(string(head))
	if changed, err := exec.CommandContext(ctx, "git", "-C", repository, "status", "--porcelain").Output(); err != nil || len(changed) > 0 {
		name += " with changes"
	}
	return name
}

func describeMachine() machine {
	load, _, _ := strings.Cut(firstOf("/proc/loadavg", ""), " ")
	return machine{
		System: runtime.GOOS, Architecture: runtime.GOARCH, Processors: runtime.NumCPU(),
		Model: firstOf("/proc/cpuinfo", "model name"), Memory: firstOf("/proc/meminfo", "MemTotal"), Load: load,
	}
}

// firstOf returns what the file says first of a key, or its first line where there is no key.
func firstOf(name, key string) string {
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if key == "" {
			return lines.Text()
		}
		if found, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(found) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// outFolder is out/demo in the clone.
func outFolder() (string, error) {
	repository, err := programs.Repository()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(repository, "out", "demo")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("create the folder of the result: %w", err)
	}
	return folder, nil
}

// save writes out/demo/result.json.
func (r *result) save() (string, error) {
	folder, err := outFolder()
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write the result: %w", err)
	}
	name := filepath.Join(folder, "result.json")
	if err := os.WriteFile(name, append(text, '\n'), 0o644); err != nil {
		return "", fmt.Errorf("write the result: %w", err)
	}
	return name, nil
}
