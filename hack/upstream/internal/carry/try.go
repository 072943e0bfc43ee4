// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/golang"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/source"
)

// try makes a copy of the project on another upstream version, in a separate folder, and compiles
// there the packages that the patches change. This also compiles the packages that they import,
// such as those of this project. The folder stays until the rebase has ended, so that the next try
// is fast.
func (c *Carry) try(ctx context.Context, gocmd *golang.Go, target *source.Source, replays []*replay, pins, written map[string][]byte) error {
	at := project.Project{Root: c.Project.Path(project.Rebase + "/tree")}
	if err := c.copyTo(at.Root); err != nil {
		return err
	}
	for _, files := range []map[string][]byte{pins, written} {
		for name, data := range files {
			if err := os.WriteFile(at.Path(name), data, 0o644); err != nil {
				return err
			}
		}
	}
	copied := &Carry{Project: at, Log: c.Log, Out: c.Out, source: target}
	if err := copied.Apply(ctx, ApplyOptions{Discard: true}); err != nil {
		return err
	}
	var dirs []string
	for _, dir := range slices.Sorted(maps.Keys(replays[0].packages())) {
		dirs = append(dirs, "./"+dir)
	}
	if len(dirs) == 0 {
		return nil
	}
	step := c.Log.Step("compiling what the patches change", 0)
	defer step.End()
	return gocmd.Compile(ctx, at.Path(project.Kubernetes), at.Path(project.Work), dirs)
}

// packages returns the folders in which a series changes code.
func (r *replay) packages() map[string]bool {
	dirs := map[string]bool{}
	base, final := r.after[0], r.after[len(r.after)-1]
	for file, content := range final {
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "/testdata/") &&
			!content.Absent && !content.Equal(base[file]) {
			dirs[path.Dir(file)] = true
		}
	}
	return dirs
}

// copyTo copies the project into the folder to, without build output and hidden folders. It
// removes other files from that folder, but keeps the patched tree of an earlier try.
func (c *Carry) copyTo(to string) error {
	entries, err := os.ReadDir(to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Name()+"/" != project.Upstream && e.Name() != project.WorkSum && e.Name() != project.Work {
			if err := os.RemoveAll(filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
	}
	return filepath.WalkDir(c.Project.Root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.Project.Root, at)
		if err != nil || rel == "." {
			return err
		}
		switch slash := filepath.ToSlash(rel); {
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || slash+"/" == project.Upstream || slash == "bin"):
			return fs.SkipDir
		case d.IsDir() || !d.Type().IsRegular() || slash == project.Work || slash == project.WorkSum:
			return nil
		}
		data, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		full := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		return os.WriteFile(full, data, 0o644)
	})
}
