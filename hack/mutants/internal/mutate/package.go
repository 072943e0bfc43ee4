// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package mutate

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// Mutated is a package with all its mutants.
type Mutated struct {
	Mutants []Mutant
	// Sources are the rewritten sources, by the path of the original file.
	Sources map[string][]byte
}

// Package rewrites the package in a folder below root. The IDs of its mutants begin with last+1.
func Package(root, folder string, last int) (*Mutated, error) {
	dir := filepath.Join(root, folder)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := &Mutated{Sources: map[string][]byte{}}
	name := ""
	seen := map[string]int{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		src, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		tokens := token.NewFileSet()
		parsed, err := parser.ParseFile(tokens, entry.Name(), src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		name = parsed.Name.Name
		f := &file{tokens: tokens, src: src, last: last}
		f.mutate(parsed)
		if len(f.mutants) == 0 {
			continue
		}
		for i := range f.mutants {
			m := &f.mutants[i]
			m.Package, m.File = folder, filepath.Join(folder, entry.Name())
			seen[m.Key()]++
			m.Nth = seen[m.Key()]
		}
		last += len(f.mutants)
		out.Mutants = append(out.Mutants, f.mutants...)
		out.Sources[filepath.Join(dir, entry.Name())] = f.edits.apply(src)
	}
	if name == "" {
		return nil, fmt.Errorf("%s: no Go sources", folder)
	}
	out.Sources[filepath.Join(dir, switchFile)] = switchSource(name, last)
	return out, nil
}
