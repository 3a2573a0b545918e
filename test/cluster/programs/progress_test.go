package programs

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestPredict(t *testing.T) {
	m := module{programs: make([]program, 4), coldSeconds: 110, linkSeconds: 10}
	for name, test := range map[string]struct {
		programs, total, stale int
		want                   float64
	}{
		"all cold":           {programs: 4, total: 100, stale: 100, want: 110},
		"all warm":           {programs: 4, total: 100, stale: 0, want: 10},
		"half stale":         {programs: 4, total: 100, stale: 50, want: 60},
		"one of them, cold":  {programs: 1, total: 100, stale: 100, want: 65},
		"nothing was listed": {programs: 4, want: 10},
	} {
		if got := predict(m, test.programs, test.total, test.stale); got != test.want {
			t.Errorf("%s: predict() = %v, want %v", name, got, test.want)
		}
	}
}

func TestProgressLearnsHowFastThisMachineIs(t *testing.T) {
	var output bytes.Buffer
	now := time.Unix(0, 0)
	report := newProgress(&output, func() time.Time { return now })
	report.expect("first", 100, 100)
	report.expect("second", 10, 300)
	report.begin("first")
	if line := report.line(); !strings.Contains(line, "0 of 100 packages") || !strings.Contains(line, "about 7 min left") {
		t.Errorf("at the start: %q, want 400 s left", line)
	}
	for range 50 {
		report.compiled()
	}
	// Half of the first took 100 s in place of 50, and this counts more than the prediction.
	now = now.Add(100 * time.Second)
	if line := report.line(); !strings.Contains(line, "50 of 100 packages, 2 min so far") || !strings.Contains(line, "about 10 min left") {
		t.Errorf("at half of the first: %q, want 600 s left", line)
	}
	now = now.Add(100 * time.Second)
	report.end()
	report.begin("second")
	for range 10 {
		report.compiled()
	}
	if line := report.line(); !strings.Contains(line, "linking") {
		t.Errorf("with all packages compiled: %q, want it to say linking", line)
	}
	if !strings.Contains(output.String(), "built first in 3 min") {
		t.Errorf("output = %q, want what was built and how long it took", output.String())
	}
}

func TestFollowBuildTellsPackagesFromMessages(t *testing.T) {
	report := newProgress(&bytes.Buffer{}, time.Now)
	messages := followBuild(strings.NewReader("example.com/a\nexample.com/a/b\n# example.com/c\nc.go:1:2: undefined: d\n"), report)
	if report.done != 2 {
		t.Errorf("%d packages were counted, want 2", report.done)
	}
	if len(messages) != 2 || !strings.Contains(messages[1], "undefined") {
		t.Errorf("messages = %q, want those of the compiler", messages)
	}
}
