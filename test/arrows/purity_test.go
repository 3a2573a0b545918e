package arrows_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"
)

// impure are packages whose functions look at, or act on, the world; of package time only some functions do.
var (
	impure      = map[string]bool{"os": true, "net": true, "net/http": true, "os/exec": true, "math/rand": true, "math/rand/v2": true, "crypto/rand": true}
	impureOfNow = map[string]bool{"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true, "Tick": true, "NewTimer": true, "NewTicker": true}
)

// TestPurity: the same values in give the same values out. The clock is an argument, and nothing runs on after a call.
func TestPurity(t *testing.T) {
	files := 0
	for _, p := range packages(t) {
		if !isPure(p) {
			continue
		}
		for _, name := range p.GoFiles {
			files++
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, problem := range impurities(file) {
				t.Errorf("%s/%s:%d: %s", room(p.ImportPath), name, set.Position(problem.at).Line, problem.what)
			}
		}
	}
	if files == 0 {
		t.Error("no file was looked at")
	}
}

type impurity struct {
	at   token.Pos
	what string
}

// impurities finds what a pure room must not do, in one file.
func impurities(file *ast.File) []impurity {
	var found []impurity
	clock := ""
	for _, imported := range file.Imports {
		path, err := strconv.Unquote(imported.Path.Value)
		if err != nil {
			continue
		}
		if impure[path] {
			found = append(found, impurity{imported.Pos(), "imports " + path})
		}
		if path == "time" {
			clock = "time"
			if imported.Name != nil {
				clock = imported.Name.Name
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			found = append(found, impurity{node.Pos(), "starts a goroutine"})
		case *ast.SelectorExpr:
			if pack, ok := node.X.(*ast.Ident); ok && clock != "" && pack.Name == clock && impureOfNow[node.Sel.Name] {
				found = append(found, impurity{node.Pos(), "asks the clock: time." + node.Sel.Name})
			}
			if node.Sel.Name == "Now" && isMetaV1(file, node.X) {
				found = append(found, impurity{node.Pos(), "asks the clock: metav1.Now"})
			}
		}
		return true
	})
	return found
}

// isMetaV1 says that an expression names the package of metav1.Now.
func isMetaV1(file *ast.File, expression ast.Expr) bool {
	pack, ok := expression.(*ast.Ident)
	if !ok {
		return false
	}
	for _, imported := range file.Imports {
		if imported.Name != nil && imported.Name.Name == pack.Name && imported.Path.Value == `"k8s.io/apimachinery/pkg/apis/meta/v1"` {
			return true
		}
	}
	return false
}

// TestImpuritiesAreFound shows the test above what it must find.
func TestImpuritiesAreFound(t *testing.T) {
	cases := map[string]struct {
		source string
		want   int
	}{
		"pure":             {`package p; import "time"; func f(now time.Time) time.Time { return now.Add(time.Second) }`, 0},
		"clock":            {`package p; import "time"; var now = time.Now()`, 1},
		"clock as a value": {`package p; import "time"; var now = time.Now`, 1},
		"renamed clock":    {`package p; import clock "time"; var now = clock.Since`, 1},
		"metav1":           {`package p; import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"; var now = metav1.Now()`, 1},
		"goroutine":        {`package p; func f() { go f() }`, 1},
		"file":             {`package p; import "os"; var f = os.Open`, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), "p.go", tc.source, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := impurities(file); len(got) != tc.want {
				t.Errorf("found %v, want %d", got, tc.want)
			}
		})
	}
}
