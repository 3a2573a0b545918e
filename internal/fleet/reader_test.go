package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const providers = "providers:\n- {name: default, address: http://prometheus:9090}\n"

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		want    Limits
		fault   string
	}{
		"nothing said":     {providers, Limits{StopNone, 5, 20, ""}, ""},
		"all said":         {providers + "trials: {stop: Hold, perNamespace: 1, perCluster: 2}", Limits{StopHold, 1, 2, ""}, ""},
		"in part":          {providers + "trials: {perCluster: 2}", Limits{StopNone, 5, 2, ""}, ""},
		"a stop misspelt":  {"trials: {stop: revert}", Limits{}, "None, Hold or Revert"},
		"unlimited":        {"trials: {perCluster: 0}", Limits{}, "from 1 on"},
		"a field misspelt": {"trials: {perNamespaces: 1}", Limits{}, "perNamespace"},
		"a part misspelt":  {"trails: {stop: Hold}", Limits{}, "trials"},
		"a secret":         {"trials: hunter2", Limits{}, "trials"},
	} {
		got, err := parse([]byte(test.content))
		if test.fault != "" {
			if err == nil || !strings.Contains(err.Error(), test.fault) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if diff := cmp.Diff(test.want, got.Trials); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// mounted is a file as the kubelet mounts a ConfigMap: behind a link that is swapped.
type mounted struct {
	t      *testing.T
	folder string
	times  int
	now    time.Time
	said   []string
}

func (m *mounted) write(content string) {
	m.t.Helper()
	m.times++
	data := filepath.Join(m.folder, "data"+strings.Repeat("x", m.times))
	link := filepath.Join(m.folder, "new")
	for _, err := range []error{
		os.Mkdir(data, 0o755), os.WriteFile(filepath.Join(data, "config.yaml"), []byte(content), 0o600), os.Symlink(data, link),
		os.Rename(link, filepath.Join(m.folder, "..data")),
	} {
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

func TestReader(t *testing.T) {
	m := &mounted{t: t, folder: t.TempDir(), now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	m.write(providers)
	path := filepath.Join(m.folder, "..data", "config.yaml")
	reader, err := NewReader(path, func() time.Time { return m.now }, func(message string) { m.said = append(m.said, message) })
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name, content string
		after         time.Duration
		want          Stop
		fault         bool
		said          int
	}{
		{"as it was", providers, time.Minute, StopNone, false, 0},
		{"too soon to see", providers + "trials: {stop: Revert}", 4 * time.Second, StopNone, false, 0},
		{"seen", "", time.Second, StopRevert, false, 0},
		{"unusable", "trials: {stop: off}", time.Minute, StopHold, true, 1},
		{"still", "trials: {stop: off}", time.Minute, StopHold, true, 1},
		{"as it was again", providers, time.Minute, StopNone, false, 1},
		{"other providers", "providers: []\n", time.Minute, StopNone, false, 2},
		{"told once", "providers: []\ntrials: {stop: Hold}\n", time.Minute, StopHold, false, 2},
		{"a clock set back", providers, -time.Hour, StopNone, false, 2},
	} {
		if step.content != "" {
			m.write(step.content)
		}
		m.now = m.now.Add(step.after)
		got := reader.Limits()
		if got.Stop != step.want || (got.Fault != "") != step.fault || len(m.said) != step.said {
			t.Errorf("%s: %+v, said %q", step.name, got, m.said)
		}
	}
	if err := os.Remove(filepath.Join(m.folder, "..data")); err != nil {
		t.Fatal(err)
	}
	m.now = m.now.Add(time.Minute)
	if got := reader.Limits(); got.Stop != StopHold || got.Fault == "" {
		t.Errorf("without the file: %+v", got)
	}
	m.write(providers)
	m.now = m.now.Add(time.Minute)
	if got := reader.Limits(); got.Stop != StopNone || got.Fault != "" {
		t.Errorf("with the file again: %+v", got)
	}
}

func TestNewReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if _, err := NewReader(path, time.Now, nil); err == nil {
		t.Error("no file is no error")
	}
	if err := os.WriteFile(path, []byte("trials: {stop: off}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewReader(path, time.Now, nil); err == nil {
		t.Error("an unusable file is no error")
	}
}
