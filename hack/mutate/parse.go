package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// room is the package that is changed.
type room struct {
	path, folder, name string
	set                *token.FileSet
	sources            []*source
	types              *types.Info
	importer           types.Importer
	mutants            []*mutant
}

// source is one file of it, and where it has mutants.
type source struct {
	path   string // absolute
	shown  string // below the working directory
	text   []byte
	tree   *ast.File
	places map[place]*site
}

// mutant is one change.
type mutant struct {
	id     int
	broken bool   // does not compile
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Kind   string `json:"kind"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath, Dir, Name, Export string
	GoFiles                       []string
}

// load reads a package and finds the types of its expressions. The types of what it imports are those that the compiler has written.
func load(ctx context.Context, name string) (*room, error) {
	packages, err := list(ctx, append([]string{"-deps", "-export", name}, switchImports...))
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, one := range packages {
		exports[one.ImportPath] = one.Export
	}
	subjects, err := list(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	if len(subjects) != 1 {
		return nil, fmt.Errorf("%s are %d packages, not one", name, len(subjects))
	}
	r := &room{path: subjects[0].ImportPath, folder: subjects[0].Dir, name: subjects[0].Name, set: token.NewFileSet()}
	r.importer = importer.ForCompiler(r.set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return r, r.read(subjects[0].GoFiles)
}

func (r *room) read(files []string) error {
	working, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	trees := make([]*ast.File, 0, len(files))
	for _, name := range files {
		path := filepath.Join(r.folder, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read the source: %w", err)
		}
		tree, err := parser.ParseFile(r.set, path, text, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse the source: %w", err)
		}
		shown, err := filepath.Rel(working, path)
		if err != nil {
			shown = path
		}
		r.sources = append(r.sources, &source{path: path, shown: shown, text: text, tree: tree, places: map[place]*site{}})
		trees = append(trees, tree)
	}
	r.types = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	return r.check(trees, r.types)
}

// check finds the types of these files as the package's.
func (r *room) check(trees []*ast.File, found *types.Info) error {
	checker := types.Config{Importer: r.importer}
	if _, err := checker.Check(r.path, r.set, trees, found); err != nil {
		return fmt.Errorf("check the types: %w", err)
	}
	return nil
}

// list asks `go list`.
func list(ctx context.Context, arguments []string) ([]listed, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"list", "-json=ImportPath,Dir,Name,Export,GoFiles"}, arguments...)...)
	command.Stderr = os.Stderr
	pipe, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	var all []listed
	for decoder := json.NewDecoder(pipe); ; {
		var one listed
		if err = decoder.Decode(&one); err != nil {
			break
		}
		all = append(all, one)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err := errors.Join(err, command.Wait()); err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	return all, nil
}
