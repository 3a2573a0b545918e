// Tested runs `go test` and keeps what came of it: which tests, on which commit, on what machine, with which result.
//
//	go run ./hack/tested FILE ARGUMENTS... [then ARGUMENTS...]
//
// FILE gets the result. The arguments are those of `go test`, without -v and -json: what a verbose run prints is printed as it happens. What
// follows a "then" is another run, also where the one before it failed; all come into one result. It exits with the status of the first run
// that failed.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// statusBroken is the exit status where there is no `go test` whose own could be passed on.
const statusBroken = 2

func main() {
	status, err := tested(context.Background(), os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = max(status, statusBroken)
	}
	os.Exit(status)
}

var errUsage = errors.New("usage: go run ./hack/tested FILE ARGUMENTS... [then ARGUMENTS...]")

// tested carries out all runs and writes the result.
func tested(ctx context.Context, arguments []string, out io.Writer) (status int, err error) {
	if len(arguments) < 2 {
		return 0, errUsage
	}
	asked := split(arguments[1:])
	if slices.ContainsFunc(asked, func(one []string) bool { return len(one) == 0 }) {
		return 0, errUsage
	}
	// An interrupt reaches `go test` as well; what it has to say until its end belongs to the result.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	made := describe(ctx)
	for _, each := range asked {
		one, runErr := carryOut(ctx, each, out, interrupts)
		made.Runs = append(made.Runs, one)
		if status == 0 {
			status = one.Status
		}
		if err = runErr; err != nil {
			break
		}
	}
	made.finish(time.Now())
	return status, errors.Join(err, made.save(arguments[0]))
}

// separator stands between the arguments of two runs.
const separator = "then"

func split(arguments []string) [][]string {
	var runs [][]string
	for {
		end := slices.Index(arguments, separator)
		if end < 0 {
			return append(runs, arguments)
		}
		runs, arguments = append(runs, arguments[:end]), arguments[end+1:]
	}
}

// carryOut runs `go test` once, and shows what it says.
func carryOut(ctx context.Context, arguments []string, out io.Writer, interrupts <-chan os.Signal) (run, error) {
	began := time.Now()
	one := run{Arguments: arguments}
	command := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, arguments...)...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return one, fmt.Errorf("run go test: %w", err)
	}
	if err := command.Start(); err != nil {
		return one, fmt.Errorf("run go test: %w", err)
	}
	ended := make(chan struct{})
	defer close(ended)
	go passOn(interrupts, command.Process, ended)
	readErr := one.read(bufio.NewReader(output), out)
	if readErr != nil {
		_, _ = io.Copy(io.Discard, output) // `go test` must not wait for a reader
	}
	var failed *exec.ExitError
	if err = command.Wait(); errors.As(err, &failed) {
		one.Status, err = failed.ExitCode(), nil
		if one.Status < 0 {
			one.Status = statusBroken // a signal ended it
		}
	}
	one.Seconds = rounded(time.Since(began))
	if err := errors.Join(readErr, err); err != nil {
		return one, fmt.Errorf("run go test: %w", err)
	}
	return one, nil
}

// passOn hands a request to terminate on to `go test`: other than an interrupt from a terminal it reaches one process alone.
func passOn(interrupts <-chan os.Signal, process *os.Process, ended <-chan struct{}) {
	for {
		select {
		case received := <-interrupts:
			if received == syscall.SIGTERM {
				_ = process.Signal(received)
			}
		case <-ended:
			return
		}
	}
}
