// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// PinLines returns the requirements that go.mod must have for this upstream version.
func (s *Source) PinLines() []string {
	var lines []string
	for _, m := range s.pinned() {
		lines = append(lines, m.Path+" "+m.Version)
	}
	return lines
}

// pinned returns the modules that go.mod pins: all except the generators.
func (s *Source) pinned() []module.Version {
	mods := []module.Version{s.Modules[0].Version}
	for _, m := range s.Modules[1:] {
		if _, generator := generatorDirs[m.Path]; !generator {
			mods = append(mods, m.Version)
		}
	}
	return mods
}

// Sums returns the lines of the pinned modules in go.sum. The go command has compared these sums with its
// checksum database. A missing module has no lines.
func (s *Source) Sums(ctx context.Context) ([]string, error) {
	got, err := s.gocmd.DownloadSome(ctx, s.pinned())
	var lines []string
	for _, d := range got {
		if d.Error == "" {
			lines = append(lines, d.Path+" "+d.Version+" "+d.Sum, d.Path+" "+d.Version+"/go.mod "+d.GoModSum)
		}
	}
	return lines, err
}

// Repin returns a go.mod and a go.sum for the upstream version of s. It changes the pins in go.mod
// to that version, drops staging modules that the version no longer has, and replaces the sums of the
// pinned modules in go.sum.
func Repin(gomod, gosum []byte, s *Source, sums []string) (newMod, newSum []byte, err error) {
	f, err := modfile.Parse("go.mod", gomod, nil)
	if err != nil {
		return nil, nil, err
	}
	old, err := ReadPins(gomod, gosum)
	if err != nil {
		return nil, nil, err
	}
	oldStaging, err := StagingVersion(old.Version)
	if err != nil {
		return nil, nil, err
	}
	wanted := map[string]string{}
	for _, m := range s.pinned() {
		wanted[m.Path] = m.Version
	}
	var errs []error
	for path, version := range old.require {
		if wanted[path] == "" && version == oldStaging && strings.HasPrefix(path, "k8s.io/") {
			errs = append(errs, f.DropRequire(path))
			if _, ok := old.replace[path]; ok {
				errs = append(errs, f.DropReplace(path, "v0.0.0"))
			}
		}
	}
	for _, m := range s.pinned() {
		errs = append(errs, f.AddRequire(m.Path, m.Version))
		if m.Path != Kubernetes && len(old.replace) > 0 {
			errs = append(errs, f.AddReplace(m.Path, "v0.0.0", m.Path, m.Version))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	f.Cleanup()
	if newMod, err = f.Format(); err != nil {
		return nil, nil, fmt.Errorf("go.mod: %w", err)
	}
	// former reports whether the line of a sum is that of a module which go.mod pins no longer.
	former := func(line []string) bool {
		if len(line) != 3 {
			return false
		}
		path, version := line[0], strings.TrimSuffix(line[1], "/go.mod")
		pinned := path == Kubernetes && version == old.Version || strings.HasPrefix(path, "k8s.io/") && version == oldStaging
		return pinned && version != wanted[path]
	}
	lines := map[string]bool{}
	for line := range strings.Lines(string(gosum)) {
		if !former(strings.Fields(line)) {
			lines[strings.TrimSpace(line)] = true
		}
	}
	for _, line := range sums {
		lines[line] = true
	}
	delete(lines, "")
	all := sorted(lines)
	return newMod, []byte(strings.Join(append(all, ""), "\n")), nil
}
