// Package arrows_test keeps the arrows between the rooms of the repository: cmd → controllers → internal/* → api.
package arrows_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/gopacer/gopacer"

// pure are the rooms that take values and return values: no client, no clock, nothing that runs beside them.
var pure = []string{"settings", "signal", "tuning", "verdict", "rollout", "schedule"}

// clients are modules that bring a client along.
var clients = []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "github.com/prometheus/client_golang"}

// pkg is what go list says of a package.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string // of its product code
	Deps       []string // of its product code, transitively
}

// room is where a package is in the repository: internal/tuning; empty for a package of another module.
func room(importPath string) string {
	if importPath == module {
		return "."
	}
	inside, ok := strings.CutPrefix(importPath, module+"/")
	if !ok {
		return ""
	}
	return inside
}

// in says that a package is in a folder, at any depth.
func in(importPath, folder string) bool {
	return importPath == folder || strings.HasPrefix(importPath, folder+"/")
}

// packages lists the packages of this module. With -e, since code that does not build is the compiler's to refuse.
func packages(t *testing.T) []pkg {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports,Deps", "./...")
	list.Dir = "../.."
	list.Stderr = os.Stderr
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var next pkg
		err := decoder.Decode(&next)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, next)
	}
}

// TestRooms names, for every room, the rooms that it may import.
func TestRooms(t *testing.T) {
	allowed := []struct {
		room    string
		imports []string
	}{
		{"api", []string{"api"}},
		{"internal", []string{"internal", "api"}},
		{"controllers", []string{"controllers", "internal", "api"}},
		{"cmd", []string{"cmd", "controllers", "internal", "api"}},
	}
	seen := map[string]bool{}
	for _, from := range packages(t) {
		for _, rule := range allowed {
			if !in(room(from.ImportPath), rule.room) {
				continue
			}
			seen[rule.room] = true
			for _, to := range from.Imports {
				if room(to) != "" && !inAny(room(to), rule.imports) {
					t.Errorf("%s imports %s; %s may import %v", room(from.ImportPath), room(to), rule.room, rule.imports)
				}
			}
		}
	}
	if !seen["api"] || !seen["internal"] {
		t.Errorf("saw only %v: the test looks at the wrong module", seen)
	}
}

// TestPrograms: a program is nobody's library.
func TestPrograms(t *testing.T) {
	for _, from := range packages(t) {
		for _, to := range from.Imports {
			program, _, _ := strings.Cut(strings.TrimPrefix(room(to), "cmd/"), "/")
			if in(room(to), "cmd") && !in(room(from.ImportPath), "cmd/"+program) {
				t.Errorf("%s imports %s", room(from.ImportPath), room(to))
			}
		}
	}
}

// TestClients: a program that needs only the API or a pure room brings no client along.
func TestClients(t *testing.T) {
	seen := map[string]bool{}
	for _, from := range packages(t) {
		if !isPure(from) && !in(room(from.ImportPath), "api") {
			continue
		}
		seen[room(from.ImportPath)] = true
		for _, to := range from.Deps {
			if inAny(to, clients) {
				t.Errorf("%s depends on %s", room(from.ImportPath), to)
			}
		}
	}
	for _, name := range pure {
		if !seen["internal/"+name] {
			t.Errorf("there is no internal/%s", name)
		}
	}
}

// isPure says that a package is a pure room itself. A package below one, such as internal/signal/prometheus, may do more.
func isPure(p pkg) bool {
	for _, name := range pure {
		if room(p.ImportPath) == "internal/"+name {
			return true
		}
	}
	return false
}

func inAny(importPath string, folders []string) bool {
	for _, folder := range folders {
		if in(importPath, folder) {
			return true
		}
	}
	return false
}
