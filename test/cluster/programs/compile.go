package programs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// countPackages returns how many packages the missing programs consist of, and how many of them
// the go command would have to compile.
func countPackages(ctx context.Context, j job) (total, stale int, err error) {
	arguments := append([]string{"list", "-deps", "-f", "{{.Stale}}"}, buildFlags(j.module, "")...)
	output, err := goCommand(ctx, j, append(arguments, packagePaths(j)...)).Output()
	if err != nil {
		return 0, 0, fmt.Errorf("list the packages of %s: %w; see whether the module proxy (`go env GOPROXY`) answers", j.module.name, withStderr(err))
	}
	return bytes.Count(output, []byte("\n")), bytes.Count(output, []byte("true")), nil
}

// compile runs one `go build` for all missing programs of the module. With -v it prints each
// package that it compiles, which drives the progress report.
func compile(ctx context.Context, j job, folder string, report *progress) error {
	version, err := moduleVersion(ctx, j)
	if err != nil {
		return err
	}
	arguments := append([]string{"build", "-v", "-o", folder + string(os.PathSeparator)}, buildFlags(j.module, version)...)
	command := goCommand(ctx, j, append(arguments, packagePaths(j)...))
	said, writer := io.Pipe()
	command.Stderr = writer
	// What is no package path is a message of a compiler or linker.
	var messages []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		messages = followBuild(said, report)
	}()
	stop := report.tick()
	err = command.Run()
	stop()
	_ = writer.Close()
	<-done
	if err != nil {
		return fmt.Errorf("build %s with `%s` in %s: %w\n%s%s", j.module.name, strings.Join(command.Args, " "), j.source, err,
			strings.Join(messages, "\n"), compilerHint(j))
	}
	return nil
}

func followBuild(said io.Reader, report *progress) (messages []string) {
	const keep = 30
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		line := lines.Text()
		if line != "" && !strings.ContainsAny(line, " \t#") {
			report.compiled()
			continue
		}
		if messages = append(messages, line); len(messages) > keep {
			messages = messages[1:]
		}
	}
	return messages
}

func compilerHint(j job) string {
	if !j.module.cgo {
		return ""
	}
	return "\n" + j.module.name + " needs a C compiler; on Debian: apt-get install -y gcc libc6-dev"
}

func moduleVersion(ctx context.Context, j job) (string, error) {
	if j.module.versionFrom == "" {
		return "", nil
	}
	output, err := goCommand(ctx, j, []string{"list", "-m", "-f", "{{.Version}}", j.module.versionFrom}).Output()
	if err != nil {
		return "", fmt.Errorf("read the version of %s from %s/go.mod: %w", j.module.versionFrom, j.source, withStderr(err))
	}
	return strings.TrimSpace(string(output)), nil
}

func packagePaths(j job) []string {
	paths := make([]string, 0, len(j.missing))
	for _, p := range j.missing {
		paths = append(paths, p.packagePath)
	}
	return paths
}

func goCommand(ctx context.Context, j job, arguments []string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = j.source
	command.Env = append(os.Environ(), "GOWORK=off", cgoSetting(j.module))
	return command
}
