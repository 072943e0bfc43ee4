// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestModules checks which modules are in go.work.
func TestModules(t *testing.T) {
	p := Project{Root: t.TempDir()}
	for folder, text := range map[string]string{
		".":               "module root",
		"inside":          "// This module is not apart from go.work.\nmodule inside",
		"apart":           "// Apart from go.work.\nmodule apart",
		"reason":          "module reason\n\n// Apart from go.work: its clients are released ones.",
		"testdata/module": "module data",
		".hidden":         "module hidden",
	} {
		folder = filepath.Join(p.Root, folder)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := p.Modules()
	if want := []string{".", "./inside"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}
