// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Inputs is the data from which the package decides which generators must run. Paths are relative to
// Kubernetes' root.
type Inputs struct {
	// Modules are the upstream modules, which identify the unpatched sources and generators.
	Modules []string
	// Patches is a hash of the patches to the code of the generators. It is empty if there are none.
	Patches string
	// Changed are the files that the patches change, with nil content for a removed file. Pristine are the Go
	// files before the patches in the folders of these files.
	Changed, Pristine map[string][]byte
}

// Plan returns, by name, a digest for each generator that is forced, or whose input or own code the patches
// change. A digest is a hash of everything that the output depends on. A generator without a digest need not
// run: its output is upstream's.
func (inputs Inputs) Plan(table []Generator, forced ...string) map[string]string {
	digests := map[string]string{}
	for _, g := range table {
		h := sha256.New()
		fmt.Fprintf(h, "%s %d\n%s\n%s\n", g.Name, g.Version, strings.Join(inputs.Modules, "\n"), digests[g.After])
		active := slices.Contains(forced, g.Name)
		if g.Patched && inputs.Patches != "" {
			active = true
			io.WriteString(h, inputs.Patches)
		}
		for _, file := range slices.Sorted(maps.Keys(inputs.Changed)) {
			if !inputs.relevant(g, file) {
				continue
			}
			if after := g.Sees(inputs.Changed[file]); !bytes.Equal(g.Sees(inputs.Pristine[file]), after) {
				active = true
				fmt.Fprintf(h, "%s %d\n%s\n", file, len(after), after)
			}
		}
		if active {
			digests[g.Name] = fmt.Sprintf("%x", h.Sum(nil))
		}
	}
	return digests
}

// relevant reports whether a file is part of a generator's input.
func (inputs Inputs) relevant(g Generator, file string) bool {
	if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || hidden(file) || below(g.Except, file) {
		return false
	}
	if g.Tag == nil || len(g.Under) > 0 && !below(g.Under, file) {
		return below(g.Under, file)
	}
	for i, files := range []map[string][]byte{inputs.Changed, inputs.Pristine} {
		for f, data := range files {
			_, changed := inputs.Changed[f]
			if path.Dir(f) == path.Dir(file) && strings.HasSuffix(f, ".go") && (i == 0 || !changed) && tagged(g.Tag, data) {
				return true
			}
		}
	}
	return false
}

// below reports whether a file is in one of the folders.
func below(dirs []string, file string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(file, dir) })
}

// anyTag matches a comment that begins with +k8s:. hack/update-codegen.sh looks for tags only in files with such
// a comment.
var anyTag = regexp.MustCompile(`(?m)^// *\+k8s:`)

func tagged(tag *regexp.Regexp, data []byte) bool { return anyTag.Match(data) && tag.Match(data) }

// hidden reports whether hack/update-codegen.sh ignores a file.
func hidden(file string) bool {
	return strings.Contains(file, "/testdata/") || strings.Contains(file, "/_codegenignore/") || strings.HasPrefix(file, "vendor/")
}

// permission matches a permission marker, a comment that declares the permission of a field. Only openapi-gen
// reads these markers.
var permission = regexp.MustCompile(`(?m)^[ \t]*//[ \t]*\+permission-.*\n`)

func whole(src []byte) []byte { return src }

// withoutMarkers returns a source without its permission markers.
func withoutMarkers(src []byte) []byte { return permission.ReplaceAll(src, nil) }

// codeAndTags returns what most generators read in a source: the code, and the comments that are tags of
// generators, but not the permission markers. Most patches of types change only markers or prose. For these, the
// result stays the same, so the generators need not run.
func codeAndTags(src []byte) []byte {
	src = withoutMarkers(src)
	var s scanner.Scanner
	failed := false
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), src, func(token.Position, string) { failed = true }, scanner.ScanComments)
	var out bytes.Buffer
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF && failed: // not valid Go, so every byte counts
			return src
		case tok == token.EOF:
			return out.Bytes()
		case tok == token.COMMENT && !strings.Contains(lit, "+") && !strings.HasPrefix(lit, "//go:"):
			continue
		case lit == "":
			lit = tok.String()
		}
		out.WriteString(lit + "\n")
	}
}
