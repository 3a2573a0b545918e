package programs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// toolchain is what, beside a module's own files, decides what comes out of a build.
type toolchain struct {
	GOVERSION string
	GOOS      string
	GOARCH    string
}

// readToolchain asks the go command in the module's folder, because a go.mod can choose the
// toolchain.
func readToolchain(ctx context.Context, folder string) (toolchain, error) {
	command := exec.CommandContext(ctx, "go", "env", "-json", "GOVERSION", "GOOS", "GOARCH")
	command.Dir = folder
	command.Env = append(os.Environ(), "GOWORK=off")
	output, err := command.Output()
	if err != nil {
		return toolchain{}, fmt.Errorf("ask `go env` in %s for the toolchain: %w", folder, withStderr(err))
	}
	var result toolchain
	if err := json.Unmarshal(output, &result); err != nil {
		return toolchain{}, fmt.Errorf("read the answer of `go env` in %s: %w", folder, err)
	}
	return result, nil
}

// key names the folder of a module's programs in the cache: another version, flag or toolchain
// gives another folder.
func key(m module, folder string, tools toolchain) (string, error) {
	digest := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return "", fmt.Errorf("compute the cache key of module %s: %w", m.name, err)
		}
		fmt.Fprintf(digest, "%s %d\n", name, len(content))
		digest.Write(content)
	}
	fmt.Fprintf(digest, "%s %s/%s\n%s\n%s\n", tools.GOVERSION, tools.GOOS, tools.GOARCH,
		strings.Join(buildFlags(m, ""), "\x00"), cgoSetting(m))
	return m.name + "-" + hex.EncodeToString(digest.Sum(nil))[:12], nil
}

func cgoSetting(m module) string {
	if m.cgo {
		return "CGO_ENABLED=1"
	}
	return "CGO_ENABLED=0"
}

// buildFlags are the flags of `go build` and `go list` alike: `go list` tells stale packages
// from fresh ones only under the same flags.
func buildFlags(m module, version string) []string {
	linker := "-s -w"
	if m.versionVariable != "" {
		linker += " -X " + m.versionVariable + "=" + version
	}
	return []string{"-trimpath", "-tags", m.tags, "-ldflags", linker}
}

// withStderr adds to the error of a finished command what the command said.
func withStderr(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) || len(exit.Stderr) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
}
