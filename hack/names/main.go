// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command names counts the variables and parameters whose name is a preposition or a particle, such
// as "of" or "was", in the Go files below some folders. It fails if there are more than the flag -limit
// allows in 1,000 lines. Tests and generated files do not count.
//
// Such a name says how a value stands in a sentence, and not what it is. Only declarations count, and
// no fields: a short name is read where it is declared.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// particles are the names that count.
var particles = []string{"as", "at", "by", "from", "has", "in", "into", "is", "of", "on", "to", "was", "with"}

func main() {
	limit := flag.Float64("limit", 2, "the number of such names that 1,000 lines may have")
	verbose := flag.Bool("v", false, "list all such names")
	flag.Parse()
	if err := run(flag.Args(), *limit, *verbose, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "names:", err)
		os.Exit(1)
	}
}

func run(folders []string, limit float64, verbose bool, out io.Writer) error {
	c := count{files: token.NewFileSet()}
	for _, folder := range folders {
		if err := c.addFolder(folder); err != nil {
			return err
		}
	}
	if c.lines == 0 {
		return fmt.Errorf("no Go files below %s", strings.Join(folders, ", "))
	}
	share := float64(len(c.found)) * 1000 / float64(c.lines)
	if verbose || share > limit {
		for _, name := range c.found {
			fmt.Fprintf(out, "%s: %s\n", c.files.Position(name.Pos()), name.Name)
		}
	}
	if share > limit {
		return fmt.Errorf("%d variables in %d lines are named by a preposition or particle: %.2f in 1,000 lines, but at most %g may be",
			len(c.found), c.lines, share, limit)
	}
	fmt.Fprintf(out, "%d names in %d lines, %.2f in 1,000\n", len(c.found), c.lines, share)
	return nil
}

// count is what was found so far.
type count struct {
	files *token.FileSet
	lines int
	found []*ast.Ident
}

func (c *count) addFolder(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return c.addFile(path, text)
	})
}

func (c *count) addFile(path string, text []byte) error {
	file, err := parser.ParseFile(c.files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(file) {
		return nil
	}
	c.lines += strings.Count(string(text), "\n")
	ast.Inspect(file, func(node ast.Node) bool {
		for _, name := range declared(node) {
			if slices.Contains(particles, name.Name) {
				c.found = append(c.found, name)
			}
		}
		return true
	})
	return nil
}

// declared returns the variables that a node itself declares, and none that nodes below it declare.
func declared(node ast.Node) (names []*ast.Ident) {
	add := func(all ...ast.Expr) {
		for _, e := range all {
			if name, ok := e.(*ast.Ident); ok {
				names = append(names, name)
			}
		}
	}
	switch node := node.(type) {
	case *ast.AssignStmt:
		if node.Tok == token.DEFINE {
			add(node.Lhs...)
		}
	case *ast.RangeStmt:
		if node.Tok == token.DEFINE {
			add(node.Key, node.Value)
		}
	case *ast.ValueSpec:
		names = append(names, node.Names...)
	case *ast.FuncDecl:
		names = append(names, namesOf(node.Recv)...)
	case *ast.FuncType:
		names = append(namesOf(node.Params), namesOf(node.Results)...)
	}
	return names
}

func namesOf(fields *ast.FieldList) (names []*ast.Ident) {
	if fields == nil {
		return nil
	}
	for _, f := range fields.List {
		names = append(names, f.Names...)
	}
	return names
}
