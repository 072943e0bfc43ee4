// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Binary is the test binary of a package.
type Binary struct {
	// Package is the folder of the package, relative to the root of the project.
	Package string

	path, dir string
	startUp   time.Duration
	tests     []test
}

// Overlay writes the changed sources to files in the folder work. The keys of sources are the
// paths of the original files. Overlay returns the path of a file for the flag -overlay of go
// build, which makes the compiler read the changed sources in place of the originals.
func Overlay(work string, sources map[string][]byte) (string, error) {
	replace := map[string]string{}
	for name, source := range sources {
		file := filepath.Join(work, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(file, source, 0o600); err != nil {
			return "", err
		}
		replace[name] = file
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(work, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}

// Build compiles the tests of the package in a folder below root. It returns nil if the package
// has no tests.
func Build(ctx context.Context, root, work, overlay, folder string) (*Binary, error) {
	b := &Binary{Package: folder, dir: filepath.Join(root, folder)}
	b.path = filepath.Join(work, strings.ReplaceAll(folder, string(filepath.Separator), "_")+".test")
	c := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", overlay, "-o", b.path, "./"+folder)
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the tests of %s: %w\n%s", folder, err, out)
	}
	if _, err := os.Stat(b.path); os.IsNotExist(err) {
		return nil, nil
	}
	return b, nil
}
