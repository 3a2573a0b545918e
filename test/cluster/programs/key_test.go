package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeyChangesWithWhateverDecidesTheBuild(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example\n")
	write("go.sum", "a\n")
	tools := toolchain{GOVERSION: "go1.26.8", GOOS: "linux", GOARCH: "amd64"}
	m := module{name: "example"}
	compute := func(m module, tools toolchain) string {
		t.Helper()
		value, err := key(m, folder, tools)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	first := compute(m, tools)
	if !strings.HasPrefix(first, "example-") {
		t.Errorf("key = %q, want the module's name first", first)
	}
	if again := compute(m, tools); again != first {
		t.Errorf("the same build has the keys %q and %q", first, again)
	}
	newer, other, tagged, linked := tools, tools, m, m
	newer.GOVERSION, other.GOARCH = "go1.26.9", "arm64"
	tagged.tags, linked.cgo = "seccomp", true
	keys := map[string]string{
		"the toolchain":    compute(m, newer),
		"the architecture": compute(m, other),
		"a tag":            compute(tagged, tools),
		"cgo":              compute(linked, tools),
	}
	write("go.sum", "b\n")
	keys["go.sum"] = compute(m, tools)
	write("go.sum", "a\n")
	write("go.mod", "module example2\n")
	keys["go.mod"] = compute(m, tools)
	seen := map[string]string{first: "nothing"}
	for what, value := range keys {
		if earlier, found := seen[value]; found {
			t.Errorf("another %s gives the same key as another %s", what, earlier)
		}
		seen[value] = what
	}
}

func TestSelectPrograms(t *testing.T) {
	selected, err := selectPrograms([]string{APIServer, Etcd, APIServer})
	if err != nil {
		t.Fatal(err)
	}
	if len(selected) != 2 || len(selected["kubernetes"]) != 1 || selected["etcd"][0].outputName() != "server" {
		t.Errorf("selectPrograms() = %v, want etcd and the API server once", selected)
	}
	if _, err := selectPrograms([]string{"kube-apiservr"}); err == nil || !strings.Contains(err.Error(), APIServer) {
		t.Errorf("selectPrograms() of an unknown name = %v, want an error that names the known ones", err)
	}
}

// Every program must be pinned as a tool of its module, or `go mod tidy` there would drop it.
func TestModulesNameTheirPrograms(t *testing.T) {
	repository, err := Repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		content, err := os.ReadFile(filepath.Join(repository, modulesFolder, m.name, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range m.programs {
			if !strings.Contains(string(content), p.packagePath+"\n") {
				t.Errorf("module %s has no tool %s", m.name, p.packagePath)
			}
		}
	}
}
