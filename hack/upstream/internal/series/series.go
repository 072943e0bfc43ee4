// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"kube-granular.dev/hack/upstream/internal/project"
)

// Series is an ordered list of patches.
type Series struct {
	// Dir is the tree path of its folder; Prefix that of what it patches.
	Dir, Prefix string
	Patches     []*Patch
}

// Kinds are the series of a project, empty: the one against Kubernetes and the
// one against its generators.
func Kinds() []*Series {
	return []*Series{
		{Dir: "patches", Prefix: project.Kubernetes},
		{Dir: "patches/generators", Prefix: project.Generators},
	}
}

// Reader reads a file by its tree path, from a folder or from a revision. It
// fails with an error that is fs.ErrNotExist if there is none.
type Reader func(tree string) ([]byte, error)

// Load reads both series. The first must exist, if only as an empty file: a
// tree without patches must be asked for, it must not come of a lost file.
func Load(read Reader) ([]*Series, error) {
	all := Kinds()
	for i, s := range all {
		names, err := s.names(read)
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			raw, err := read(s.Dir + "/" + name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%s/series: names %s, and there is no such file", s.Dir, name)
			}
			if err != nil {
				return nil, err
			}
			p, err := Parse(s.Dir+"/"+name, raw)
			if err != nil {
				return nil, err
			}
			s.Patches = append(s.Patches, p)
		}
	}
	return all, nil
}

// patchName is what a patch's file name must look like.
var patchName = regexp.MustCompile(`^[0-9]{4}-[a-z0-9]+(?:[-.][a-z0-9]+)*\.patch$`)

func (s *Series) names(read Reader) ([]string, error) {
	data, err := read(s.Dir + "/series")
	if err != nil {
		return nil, err
	}
	var names []string
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		where := fmt.Sprintf("%s/series:%d", s.Dir, i+1)
		if !patchName.MatchString(line) {
			return nil, fmt.Errorf("%s: %q is not of the form NNNN-name.patch", where, line)
		}
		if len(names) > 0 && names[len(names)-1][:4] >= line[:4] {
			return nil, fmt.Errorf("%s: %s does not follow %s in numeric order", where, line, names[len(names)-1])
		}
		names = append(names, line)
	}
	return names, nil
}

// Find returns the patch of a name: the tree path of its file, or what of it
// follows patches/, with or without ".patch". A nil patch means there is none.
func Find(all []*Series, name string) (*Series, int) {
	for _, s := range all {
		for i, p := range s.Patches {
			short := strings.TrimPrefix(p.Name, "patches/")
			for _, n := range []string{p.Name, short} {
				if name == n || name+".patch" == n {
					return s, i
				}
			}
		}
	}
	return nil, -1
}

// Place returns the series a new patch of that name belongs to. It fails if the
// name is malformed or not greater than the last one's.
func Place(all []*Series, name string) (*Series, error) {
	full := "patches/" + strings.TrimPrefix(name, "patches/")
	for _, s := range all {
		if s.Dir != path.Dir(full) {
			continue
		}
		if !patchName.MatchString(path.Base(full)) {
			break
		}
		if n := len(s.Patches); n > 0 && path.Base(s.Patches[n-1].Name)[:4] >= path.Base(full)[:4] {
			return nil, fmt.Errorf("%s: must be numbered after %s", full, s.Patches[n-1].Name)
		}
		return s, nil
	}
	return nil, fmt.Errorf("%q is not of the form NNNN-name.patch or generators/NNNN-name.patch", name)
}
