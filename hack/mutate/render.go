package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"path/filepath"
	"slices"
	"strings"
)

// place is a piece of a file: an expression or a statement. A call that stands alone is both.
type place struct {
	from, to int
	value    bool
}

// site is a place with mutants.
type site struct {
	place
	result  string // the type of an expression
	instead []alternative
}

// alternative is what a mutant has at a site.
type alternative struct {
	*mutant
	text string
}

// render writes the file with the mutants that are wanted.
func (s *source) render(wanted func(*mutant) bool) string {
	var sites []*site
	for _, one := range s.places {
		if slices.ContainsFunc(one.instead, func(a alternative) bool { return wanted(a.mutant) }) {
			sites = append(sites, one)
		}
	}
	// The outer ones first: of two that begin together the longer, of two with the same text the statement.
	slices.SortFunc(sites, func(a, b *site) int {
		asValue := map[bool]int{true: 1}
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(asValue[a.value], asValue[b.value]))
	})
	return s.piece(0, len(s.text), sites, wanted)
}

// piece writes a part of the file in which these sites are. A mutant's own text holds no other mutants: only one is on at a time.
func (s *source) piece(from, to int, sites []*site, wanted func(*mutant) bool) string {
	var out strings.Builder
	for len(sites) > 0 {
		outer := sites[0]
		inside := 1
		for inside < len(sites) && sites[inside].from < outer.to {
			inside++
		}
		out.Write(s.text[from:outer.from])
		out.WriteString(outer.wrap(s.piece(outer.from, outer.to, sites[1:inside], wanted), wanted))
		from, sites = outer.to, sites[inside:]
	}
	out.Write(s.text[from:to])
	return out.String()
}

// wrap puts the mutants of a site around what it is without them.
func (s *site) wrap(unchanged string, wanted func(*mutant) bool) string {
	var out strings.Builder
	for _, one := range s.instead {
		switch {
		case !wanted(one.mutant):
		case s.value:
			fmt.Fprintf(&out, "if mutantOn(%d) {\nreturn %s\n}\n", one.id, one.text)
		default:
			fmt.Fprintf(&out, "if mutantOn(%d) {\n%s\n} else ", one.id, one.text)
		}
	}
	if s.value {
		return fmt.Sprintf("func() %s {\n%sreturn %s\n}()", s.result, out.String(), unchanged)
	}
	return fmt.Sprintf("%s{\n%s\n}", out.String(), unchanged)
}

const (
	// switchFile is added to the package.
	switchFile = "mutants_switched.go"
	// mutantVariable is the environment variable that names the mutant which is on.
	mutantVariable = "MUTANT"
	// traceVariable names a file that gets the mutants whose places are reached; all are off then.
	traceVariable = "MUTANT_TRACE"
)

// switchImports are the packages that switchFile needs.
var switchImports = []string{"fmt", "os", "strconv", "sync/atomic"}

const switchText = `package %[1]s

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

var mutantWanted = func() int {
	if os.Getenv(%[3]q) != "" {
		return -1
	}
	id, _ := strconv.Atoi(os.Getenv(%[2]q))
	return id
}()

func mutantOn(id int) bool { return id == mutantWanted || mutantWanted < 0 && mutantReached(id) }

var mutantSeen [%[4]d]atomic.Bool

func mutantReached(id int) bool {
	if mutantSeen[id].Swap(true) {
		return false
	}
	trace, err := os.OpenFile(os.Getenv(%[3]q), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer trace.Close()
	if _, err := fmt.Fprintln(trace, id); err != nil {
		panic(err)
	}
	return false
}
`

// rendered are all files of the package with the mutants that are wanted, by their paths.
func (r *room) rendered(wanted func(*mutant) bool) map[string]string {
	files := map[string]string{
		filepath.Join(r.folder, switchFile): fmt.Sprintf(switchText, r.name, mutantVariable, traceVariable, len(r.mutants)+1),
	}
	for _, one := range r.sources {
		files[one.path] = one.render(wanted)
	}
	return files
}

// compiles says whether the package does with the mutants that are wanted.
func (r *room) compiles(wanted func(*mutant) bool) error {
	var trees []*ast.File
	for path, text := range r.rendered(wanted) {
		tree, err := parser.ParseFile(r.set, path, text, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse the mutants: %w", err)
		}
		trees = append(trees, tree)
	}
	return r.check(trees, nil)
}

// dropBroken finds the mutants that do not compile: where all together don't, each is tried alone.
func (r *room) dropBroken() error {
	sound := func(one *mutant) bool { return !one.broken }
	if r.compiles(sound) == nil {
		return nil
	}
	for _, each := range r.mutants {
		each.broken = r.compiles(func(one *mutant) bool { return one == each }) != nil
	}
	return r.compiles(sound)
}

// usable are the mutants that compile.
func (r *room) usable() []*mutant {
	return slices.DeleteFunc(slices.Clone(r.mutants), func(one *mutant) bool { return one.broken })
}
