// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// allowed are the prefixes of the packages that this module may import, besides the standard
// library.
var allowed = []string{
	"kube-granular.dev/api/",
	"k8s.io/api/",
	"k8s.io/apimachinery/",
	"k8s.io/client-go/",
	"k8s.io/kube-openapi/pkg/common",
	"k8s.io/kube-openapi/pkg/validation/spec",
	"sigs.k8s.io/json",
	"sigs.k8s.io/yaml",
	"sigs.k8s.io/structured-merge-diff/",
}

// TestLight holds that the module imports no part of a server, so that its importers need none.
func TestLight(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			first, _, _ := strings.Cut(imported, "/")
			if strings.Contains(first, ".") && !slices.ContainsFunc(allowed, func(prefix string) bool { return strings.HasPrefix(imported, prefix) }) {
				t.Errorf("%s imports %s", path, imported)
			}
		}
		return nil
	})
	if err != nil || files < 30 {
		t.Errorf("%d files, error %v", files, err)
	}
}
