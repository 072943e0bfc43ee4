// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fake puts a fake go command on PATH, which runs a shell script.
func fake(t *testing.T, script string) *Go {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	g, err := Locate()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestRequire(t *testing.T) {
	for _, tt := range []struct{ have, line, err string }{
		{"go1.26.8", "1.26.0", ""},
		{"go1.26.8", "1.26", ""},
		{"go1.26.0 X:nocoverageredesign", "1.26.0", ""},
		{"go1.27rc1", "1.26.3", ""},
		{"go1.25.9", "1.26.0", "go on PATH is go1.25.9, but go.mod needs go 1.26.0 or later"},
		{"go1.26rc1", "1.26.0", "go on PATH is go1.26rc1"},
	} {
		t.Run(tt.have+" for "+tt.line, func(t *testing.T) {
			g := fake(t, "echo '"+tt.have+"'\n")
			err := g.Require(context.Background(), tt.line, "go.mod")
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("got %v, want %q", err, tt.err)
			}
		})
	}
}

// TestEnvironment checks that the go command uses the named workspace, whatever GOWORK and GOFLAGS
// of the caller are.
func TestEnvironment(t *testing.T) {
	t.Setenv("GOWORK", "elsewhere")
	t.Setenv("GOFLAGS", "-mod=vendor -modcacherw --modfile=x")
	t.Setenv("GOOS", "plan9")
	g := fake(t, `echo "$GOWORK,$GOFLAGS,$GOOS,$1"`)
	out, err := g.Exec(context.Background(), t.TempDir(), "work", g.path, "x")
	if want := "work,-modcacherw,,x\n"; err != nil || string(out) != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
}

func TestExecFails(t *testing.T) {
	g := fake(t, "echo the cause >&2\nexit 3\n")
	_, err := g.Exec(context.Background(), t.TempDir(), "off", g.path, "build")
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "the cause") {
		t.Errorf("got %v", err)
	}
}
