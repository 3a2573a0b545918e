package machine

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	for name, test := range map[string]struct {
		content   string
		wantState byte
		wantStart uint64
		wantEnded bool
		wantError bool
	}{
		"a plain name": {
			content:   "4242 (etcd) S 1 4242 4242 0 -1 4194560 1 0 0 0 5 3 0 0 20 0 9 0 123456 1 2 3",
			wantState: 'S', wantStart: 123456,
		},
		"a name like the end of a name, with threads that still run": {
			content:   "7 (a) R 1 (b)) Z 1 7 7 0 -1 4194560 1 0 0 0 5 3 0 0 20 0 9 0 99 1 2 3",
			wantState: 'Z', wantStart: 99,
		},
		"ended": {
			content:   "7 (etcd) Z 1 7 7 0 -1 4194560 1 0 0 0 5 3 0 0 20 0 1 0 99 1 2 3",
			wantState: 'Z', wantStart: 99, wantEnded: true,
		},
		"cut short":  {content: "7 (etcd) S 1 7", wantError: true},
		"empty":      {content: "", wantError: true},
		"no numbers": {content: "7 (etcd) S 1 2 3 4 5 6 7 8 9 a b c d e f g h i later 1", wantError: true},
	} {
		t.Run(name, func(t *testing.T) {
			stat, err := parseStat(test.content)
			if (err != nil) != test.wantError {
				t.Fatalf("parseStat() error = %v, want one: %v", err, test.wantError)
			}
			if stat.ended() != test.wantEnded {
				t.Errorf("ended() = %v, want %v", stat.ended(), test.wantEnded)
			}
			if stat.state != test.wantState || stat.startTime != test.wantStart {
				t.Errorf("parseStat() = %c %d, want %c %d", stat.state, stat.startTime, test.wantState, test.wantStart)
			}
		})
	}
}

func TestProcessIsKnownByItsStartTime(t *testing.T) {
	self, err := FindProcess(os.Getpid())
	if err != nil {
		t.Skip("needs /proc:", err)
	}
	if !self.Alive() {
		t.Error("this very process is not alive")
	}
	other := Process{ID: self.ID, StartTime: self.StartTime + 1}
	if other.Alive() {
		t.Error("a process with the same id and another start time is taken for this one")
	}
}

func TestStopEndsAProcessThatIgnoresTheRequest(t *testing.T) {
	command := exec.Command("/bin/sh", "-c", "trap '' TERM; echo ready; while :; do read line; done")
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = input.Close() }()
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Skip("needs a shell:", err)
	}
	process, err := FindProcess(command.Process.Pid)
	if err != nil {
		t.Skip("needs /proc:", err)
	}
	if _, err := output.Read(make([]byte, len("ready"))); err != nil {
		t.Fatal(err)
	}
	go func() { _ = command.Wait() }()
	if err := process.Stop(t.Context(), 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if process.Alive() {
		t.Error("the process lives on")
	}
	if err := process.Stop(t.Context(), time.Second); err != nil {
		t.Errorf("Stop() of a process that has ended = %v", err)
	}
}

func TestProcessesNaming(t *testing.T) {
	folder := t.TempDir()
	command := exec.Command("/bin/sh", "-c", "read line", folder+"/configuration")
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Skip("needs a shell:", err)
	}
	t.Cleanup(func() { _ = input.Close(); _ = command.Wait() })
	found, err := ProcessesNaming(folder, "sh")
	if err != nil {
		t.Skip("needs /proc:", err)
	}
	if len(found) != 1 || !strings.Contains(found[0], "(sh)") {
		t.Errorf("ProcessesNaming() = %q, want the shell", found)
	}
	if found, _ := ProcessesNaming(folder, "etcd"); len(found) != 0 {
		t.Errorf("ProcessesNaming() of another program = %q, want none", found)
	}
}
