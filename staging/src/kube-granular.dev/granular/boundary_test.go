// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package granular_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "kube-granular.dev/granular"

// mayImport has every package outside the standard library that the library's own code may import.
// It lacks the API server, clients and their logging libraries.
var mayImport = map[string]bool{
	"k8s.io/apimachinery/pkg/api/resource":    true,
	"k8s.io/apimachinery/pkg/runtime/schema":  true,
	"k8s.io/apimachinery/pkg/util/intstr":     true,
	"k8s.io/apimachinery/pkg/util/json":       true,
	"k8s.io/kube-openapi/pkg/validation/spec": true,
	"sigs.k8s.io/yaml":                        true,
}

// mayNotImport has parts of the standard library that a pure library does not need.
var mayNotImport = []string{"net", "os/exec", "os/signal", "log", "syscall", "math/rand", "plugin"}

// never has packages that the library must not depend on, not even indirectly.
var never = []string{"k8s.io/apiserver", "k8s.io/client-go", "k8s.io/api/", "k8s.io/component-base",
	"k8s.io/kubernetes", "k8s.io/apiextensions-apiserver"}

type listed struct {
	ImportPath, Dir string
	Standard        bool
	Imports         []string
	GoFiles         []string
}

func list(t *testing.T, args ...string) []listed {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Standard,Imports,GoFiles"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func TestImports(t *testing.T) {
	own := list(t, "./...")
	if len(own) < 5 {
		t.Fatalf("only %d packages found", len(own))
	}
	for _, p := range own {
		for _, imported := range p.Imports {
			first, _, _ := strings.Cut(imported, "/")
			standard := !strings.Contains(first, ".")
			for _, bad := range mayNotImport {
				if standard && (imported == bad || strings.HasPrefix(imported, bad+"/")) {
					t.Errorf("%s imports %s", p.ImportPath, imported)
				}
			}
			if !standard && !mayImport[imported] && !strings.HasPrefix(imported, module+"/") {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
			if imported == "unsafe" && !strings.HasPrefix(p.ImportPath, module+"/internal/fast") {
				t.Errorf("%s imports unsafe", p.ImportPath)
			}
			// Only package corpus needs files, to read scenarios.
			if imported == "os" && p.ImportPath != module+"/corpus" {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}
	for _, p := range list(t, "-deps", "./...") {
		for _, bad := range never {
			if strings.HasPrefix(p.ImportPath+"/", bad) {
				t.Errorf("%s is linked in", p.ImportPath)
			}
		}
	}
}

// TestNoClockNoGoroutine checks that the library starts no goroutine, reads no clock and never
// ends the process.
func TestNoClockNoGoroutine(t *testing.T) {
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		tokens := token.NewFileSet()
		parsed, err := parser.ParseFile(tokens, file, nil, 0)
		if err != nil {
			return err
		}
		timeName := ""
		for _, i := range parsed.Imports {
			if path, _ := strconv.Unquote(i.Path.Value); path == "time" {
				timeName = "time"
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine", tokens.Position(n.Pos()))
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if ok && timeName != "" && x.Name == timeName && n.Sel.Name != "Time" {
					t.Errorf("%s uses time.%s", tokens.Position(n.Pos()), n.Sel.Name)
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "panic" {
					t.Errorf("%s gives up", tokens.Position(n.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
