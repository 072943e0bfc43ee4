// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package external tests what a module outside this repository can import of the project, and
// what it can't.
package external

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is a program of such a module. It uses the library to write a verb, and prints the
// group and version of our API.
const program = `package main

import (
	"fmt"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/permission"
)

func main() {
	fmt.Println(permission.Verb{Permission: "label", Parameter: "example.com", Parameterized: true})
	fmt.Println(v1alpha1.SchemeGroupVersion)
}
`

// TestLibraryAndAPI checks that a module can import the library and the API types without the
// patched tree and without a Go workspace, as CONTRIBUTING.md describes.
func TestLibraryAndAPI(t *testing.T) {
	dir := module(t, program, "kube-granular.dev/granular=staging/src/kube-granular.dev/granular", "kube-granular.dev/api=api")
	if out, err := run(t, dir, "mod", "tidy"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := run(t, dir, "run", ".")
	if want := "granular:label(example.com)\nauthority.kube-granular.dev/v1alpha1\n"; err != nil || out != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}

// TestServerPackages checks that a module can't import our server packages. They need the seam,
// the package through which the patched server calls our code, and that package exists only in
// the patched tree. If this test fails, correct CONTRIBUTING.md.
func TestServerPackages(t *testing.T) {
	dir := module(t, "package main\n\nimport _ \"kube-granular.dev/pkg/gate\"\n\nfunc main() {}\n",
		"kube-granular.dev/granular=staging/src/kube-granular.dev/granular", "kube-granular.dev/api=api", "kube-granular.dev=.")
	out, err := run(t, dir, "mod", "tidy")
	if err == nil || !strings.Contains(out, "k8s.io/apiserver/pkg/authorization/granular") {
		t.Errorf("go mod tidy: %v: %s; want it to miss the seam", err, out)
	}
}

// module creates a module with one program and returns its folder. Each replacement has the
// form MODULE=FOLDER, with a folder of this repository.
func module(t *testing.T, text string, replacements ...string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	gomod := "module example.com/external\n\ngo 1.26.0\n"
	for _, r := range replacements {
		name, folder, _ := strings.Cut(r, "=")
		gomod += "\nreplace " + name + " => " + filepath.Join(root, folder) + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(gomod), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func run(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	if args[0] == "run" {
		out, err := cmd.Output()
		return string(out), err
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
