// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Scripts is the folder of the test scripts, which are txtar archives.
const Scripts = "test/integration/testdata/script"

// Test is a Go test, benchmark or fuzz test. File is the path of its file from the root.
type Test struct {
	Name, File string
	Line       int
	// Doc are the lines of the test's doc comment, without comment markers.
	Doc []string
}

// Package returns the folder of the test's package, from the root.
func (t Test) Package() string { return path.Dir(t.File) }

// Comment is a comment of a test file that is not the doc comment of a test.
type Comment struct {
	File  string
	Line  int
	Lines []string
}

// Tree has the tests, scripts and documents of a repository. Paths are relative to the root of the
// repository, with slashes on every operating system.
type Tree struct {
	Tests     []Test
	Comments  []Comment
	Scripts   []string
	Documents []string
}

// generatedFolders are the top-level folders that contain only generated files, which are never
// committed.
var generatedFolders = []string{"upstream", "bin"}

var testName = regexp.MustCompile(`^(Test|Benchmark|Fuzz)[A-Z]\w*$`)

// Read reads the tests, scripts and documents of the repository at root.
func Read(root string) (*Tree, error) {
	t := &Tree{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case entry.IsDir():
			if name != "." && (slices.Contains(generatedFolders, name) || strings.HasPrefix(entry.Name(), ".")) {
				return fs.SkipDir
			}
		case strings.HasSuffix(name, "_test.go"):
			return t.parse(file, name)
		case path.Dir(name) == Scripts && path.Ext(name) == ".txtar":
			t.Scripts = append(t.Scripts, name)
		case path.Ext(name) == ".md":
			t.Documents = append(t.Documents, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(t.Tests) == 0 || len(t.Scripts) == 0 {
		return nil, fmt.Errorf("%s holds no tests or no scripts: it is not the root of the repository", root)
	}
	return t, nil
}

// parse reads the tests of a file.
func (t *Tree) parse(file, name string) error {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	docs := map[*ast.CommentGroup]bool{}
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !testName.MatchString(f.Name.Name) {
			continue
		}
		docs[f.Doc] = true
		t.Tests = append(t.Tests, Test{Name: f.Name.Name, File: name, Line: set.Position(f.Pos()).Line, Doc: lines(f.Doc)})
	}
	for _, group := range parsed.Comments {
		if !docs[group] {
			t.Comments = append(t.Comments, Comment{File: name, Line: set.Position(group.Pos()).Line, Lines: lines(group)})
		}
	}
	return nil
}

func lines(group *ast.CommentGroup) []string {
	if group == nil {
		return nil
	}
	return strings.Split(strings.TrimRight(group.Text(), "\n"), "\n")
}

// Find returns the test with a name. If several packages have a test with that name, the name must
// begin with the last element of the package path and a dot, as in gate.TestX.
func (t *Tree) Find(name string) (Test, error) {
	pkg, bare, qualified := strings.Cut(name, ".")
	if !qualified {
		bare = name
	}
	var found []Test
	for _, test := range t.Tests {
		if test.Name == bare && (!qualified || path.Base(test.Package()) == pkg) {
			found = append(found, test)
		}
	}
	switch len(found) {
	case 0:
		return Test{}, fmt.Errorf("there is no test %s", name)
	case 1:
		return found[0], nil
	}
	var files []string
	for _, test := range found {
		files = append(files, test.File)
	}
	return Test{}, fmt.Errorf("%s is ambiguous: %s", name, strings.Join(files, ", "))
}

// Script returns the path of the script with a name.
func (t *Tree) Script(name string) (string, error) {
	file := path.Join(Scripts, name+".txtar")
	if !slices.Contains(t.Scripts, file) {
		return "", fmt.Errorf("there is no script %s", name)
	}
	return file, nil
}

// Has reports whether any package has a test with a name.
func (t *Tree) Has(name string) bool {
	pkg, bare, qualified := strings.Cut(name, ".")
	if !qualified {
		bare = name
	}
	return slices.ContainsFunc(t.Tests, func(test Test) bool {
		return test.Name == bare && (!qualified || path.Base(test.Package()) == pkg)
	})
}
