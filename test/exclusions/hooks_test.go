// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusions

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// upstreamFolder has upstream's sources.
var upstreamFolder = filepath.Join("..", "..", "upstream", "kubernetes")

// eachSource calls read for each Go file in a folder of upstream's sources that contains a text, but for tests and what is generated.
// path begins with upstreamFolder.
func eachSource(t *testing.T, folder, contains string, read func(file *ast.File, path string)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(upstreamFolder, folder), func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			strings.Contains(name, "generated") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte(contains)) {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil {
			read(file, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// storageHooks are the hooks of upstream's storages that run before an object is stored, with what they set. The test of the server's
// effects runs strategies, and not these.
var storageHooks = map[string]string{
	"certificates/certificates/storage.BeginUpdate": "nothing: it counts",
	"core/service/storage.BeginCreate":              "addresses, families and ports of nodes, which package overlay has by hand",
	"core/service/storage.BeginUpdate":              "addresses, families and ports of nodes, which package overlay has by hand",
}

// TestStorageHooks checks that we know of each hook of a storage what it sets.
//
// Attack: the storage of a kind sets a closed field by a hook, which no table of strategies shows
// Answer: each hook in upstream's sources is in a table; what an update sets so is refused in any case
func TestStorageHooks(t *testing.T) {
	found := map[string]bool{}
	registry := filepath.Join("pkg", "registry")
	eachSource(t, registry, "Begin", func(file *ast.File, path string) {
		name := func(field string) {
			if field == "BeginCreate" || field == "BeginUpdate" {
				folder, err := filepath.Rel(filepath.Join(upstreamFolder, registry), filepath.Dir(path))
				if err != nil {
					t.Fatal(err)
				}
				found[filepath.ToSlash(folder)+"."+field] = true
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					if selector, ok := left.(*ast.SelectorExpr); ok {
						name(selector.Sel.Name)
					}
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok {
					name(key.Name)
				}
			}
			return true
		})
	})
	for _, hook := range slices.Sorted(maps.Keys(found)) {
		if storageHooks[hook] == "" {
			t.Errorf("%s is not in storageHooks", hook)
		}
	}
	for _, hook := range slices.Sorted(maps.Keys(storageHooks)) {
		if !found[hook] {
			t.Errorf("%s is in storageHooks and not in upstream's sources", hook)
		}
	}
}
