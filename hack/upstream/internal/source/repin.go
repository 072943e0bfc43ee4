// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Pinned returns the modules that go.mod pins: all except the generators.
func (s *Source) Pinned() (mods []*Module) {
	for _, m := range s.Modules {
		if _, generator := generatorDirs[m.Path]; !generator {
			mods = append(mods, m)
		}
	}
	return mods
}

// Sums returns the lines of the pinned modules in go.sum. The go command has compared these sums with its
// checksum database. A missing module has no lines.
func (s *Source) Sums() (lines []string) {
	for _, m := range s.Pinned() {
		if m.dir != "" {
			name := m.Path + " " + m.Version.Version
			lines = append(lines, name+" "+m.Sum, name+"/go.mod "+m.goModSum)
		}
	}
	return lines
}

// Repin returns a go.mod and a go.sum for the upstream version of s. It changes the pins in go.mod
// to that version, drops staging modules that the version no longer has, and replaces the sums of the
// pinned modules in go.sum.
func Repin(gomod, gosum []byte, s *Source, sums []string) (newMod, newSum []byte, err error) {
	f, err1 := modfile.Parse("go.mod", gomod, nil)
	old, err2 := ReadPins(gomod, gosum)
	oldStaging, err3 := StagingVersion(old.Version)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, nil, err
	}
	var errs []error
	wanted := map[string]string{}
	for _, m := range s.Pinned() {
		wanted[m.Path] = m.Version.Version
		errs = append(errs, f.AddRequire(m.Path, m.Version.Version))
		if m.Path != Kubernetes && len(old.replace) > 0 {
			errs = append(errs, f.AddReplace(m.Path, "v0.0.0", m.Path, m.Version.Version))
		}
	}
	// former reports whether go.mod pinned a version of a module that it no longer pins.
	former := func(path, version string) bool {
		pinned := path == Kubernetes && version == old.Version || strings.HasPrefix(path, "k8s.io/") && version == oldStaging
		return pinned && version != wanted[path]
	}
	for path, version := range old.require {
		if wanted[path] == "" && former(path, version) {
			errs = append(errs, f.DropRequire(path), f.DropReplace(path, "v0.0.0"))
		}
	}
	f.Cleanup()
	newMod, err = f.Format()
	lines := map[string]bool{}
	for _, line := range sums {
		lines[line+"\n"] = true
	}
	for line := range strings.Lines(string(gosum)) {
		if f := strings.Fields(line); len(f) == 3 && !former(f[0], strings.TrimSuffix(f[1], "/go.mod")) {
			lines[strings.TrimSpace(line)+"\n"] = true
		}
	}
	return newMod, []byte(strings.Join(slices.Sorted(maps.Keys(lines)), "")), errors.Join(append(errs, err)...)
}
