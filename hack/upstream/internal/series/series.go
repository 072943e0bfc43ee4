// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package series reads, checks and writes patch series.
//
// A series is a folder of mail patches with a file named series that lists them in order. The file may also
// list files of markers, which package markers writes, or folders with lists of their own. It marks folders
// that may be left out as optional.
//
// Invariant: Parse reads the output of Render without loss. The package reads and writes no file: callers
// pass content in and out.
package series

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/project"
)

// Series is an ordered list of patches against one set of sources.
type Series struct {
	// Dir is the folder of the series, and Prefix the folder of the sources that the series
	// patches. Both are tree paths, which are relative to the project's root.
	Dir, Prefix string
	// Folders are the folders of the series, in order. If there are none, the patches are in Dir.
	Folders []Folder
	Patches []*Patch
}

// Folder is a folder of a series. Its patches have their own numbers.
type Folder struct {
	// Dir is the tree path of the folder.
	Dir string
	// Optional is true if the folder may be left out, or missing.
	Optional bool
}

// Name returns the name of the folder in the series file.
func (f Folder) Name() string { return path.Base(f.Dir) }

// Kinds returns the two series of every project, with their folders but not yet with their
// patches: the series for Kubernetes, and the one for the generators of Kubernetes.
func Kinds() []*Series {
	return []*Series{
		{Dir: "patches", Prefix: project.Kubernetes},
		{Dir: "patches/generators", Prefix: project.Generators},
	}
}

// Reader returns the content of a file by its tree path, from the working tree or from a git
// revision. If the file does not exist, the error is fs.ErrNotExist.
type Reader func(tree string) ([]byte, error)

// Load reads both series. It leaves out the optional folders whose names are in without. The file
// that lists the first series must exist, but may be empty. So a lost file does not lead to a tree
// without patches.
func Load(read Reader, without ...string) ([]*Series, error) {
	all := Kinds()
	for i, s := range all {
		entries, err := readList(read, s.Dir)
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := s.load(read, entries, without); err != nil {
			return nil, err
		}
	}
	if err := known(all, without); err != nil {
		return nil, err
	}
	return all, nil
}

// load reads the entries of the list of a series: patches, or folders with their own lists.
func (s *Series) load(read Reader, entries []entry, without []string) error {
	for _, e := range entries {
		if !e.folder {
			if err := s.read(read, s.Dir, e); err != nil {
				return err
			}
			continue
		}
		f := Folder{Dir: s.Dir + "/" + e.name, Optional: e.optional}
		s.Folders = append(s.Folders, f)
		if slices.Contains(without, f.Name()) {
			continue
		}
		patches, err := readList(read, f.Dir)
		if errors.Is(err, fs.ErrNotExist) && f.Optional {
			continue
		}
		if err != nil {
			return err
		}
		for _, p := range patches {
			if p.folder {
				return fmt.Errorf("%s: %q is not of the form NNNN-name.patch", p.where, p.name)
			}
			if err := s.read(read, f.Dir, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Series) read(read Reader, dir string, e entry) error {
	raw, err := read(dir + "/" + e.name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s/series: lists %s, but the file does not exist", dir, e.name)
	}
	if err != nil {
		return err
	}
	parse := Parse
	if strings.HasSuffix(e.name, ".yaml") {
		parse = parseMarkers
	}
	p, err := parse(dir+"/"+e.name, raw)
	if err != nil {
		return err
	}
	s.Patches = append(s.Patches, p)
	return nil
}

// known fails if a folder that is to be left out does not exist or is not optional.
func known(all []*Series, without []string) error {
	for _, name := range without {
		s, i := folder(all, name)
		switch {
		case s == nil:
			return fmt.Errorf("no series has a folder %q to leave out", name)
		case !s.Folders[i].Optional:
			return fmt.Errorf("%s cannot be left out: %s/series does not mark it as optional", s.Folders[i].Dir, s.Dir)
		}
	}
	return nil
}

func folder(all []*Series, name string) (*Series, int) {
	for _, s := range all {
		for i, f := range s.Folders {
			if f.Name() == name {
				return s, i
			}
		}
	}
	return nil, -1
}

// Optional returns the names of the folders that may be left out.
func Optional(all []*Series) []string {
	var names []string
	for _, s := range all {
		for _, f := range s.Folders {
			if f.Optional {
				names = append(names, f.Name())
			}
		}
	}
	return names
}

// Find looks up a patch by name, and returns its series and its index in Patches. The name is the
// tree path of the patch file or the part of that path after patches/, with or without the file
// extension. If there is no such patch, Find returns nil and -1.
func Find(all []*Series, name string) (*Series, int) {
	for _, s := range all {
		for i, p := range s.Patches {
			short := strings.TrimPrefix(p.Name, "patches/")
			for _, n := range []string{p.Name, short} {
				if name == n || name+".patch" == n || name+".yaml" == n {
					return s, i
				}
			}
		}
	}
	return nil, -1
}

// Place returns the series of a new patch with the given name, and the index in Patches for the
// new patch. It fails if the name is malformed, or if the number in it is not greater than that of
// the last patch in the same folder.
func Place(all []*Series, name string) (*Series, int, error) {
	full := "patches/" + strings.TrimPrefix(name, "patches/")
	for _, s := range all {
		at, ok := s.end(path.Dir(full))
		if !ok {
			continue
		}
		if !patchName.MatchString(path.Base(full)) {
			break
		}
		if at > 0 {
			last := s.Patches[at-1].Name
			if path.Dir(last) == path.Dir(full) && path.Base(last)[:4] >= path.Base(full)[:4] {
				return nil, 0, fmt.Errorf("%s: must be numbered after %s", full, last)
			}
		}
		return s, at, nil
	}
	return nil, 0, fmt.Errorf("%q is not of the form %s", name, forms(all))
}

// end returns the index in s.Patches after the last patch of the folder dir. It returns false if
// the series does not have that folder.
func (s *Series) end(dir string) (int, bool) {
	if len(s.Folders) == 0 {
		return len(s.Patches), s.Dir == dir
	}
	at := 0
	for _, f := range s.Folders {
		for at < len(s.Patches) && path.Dir(s.Patches[at].Name) == f.Dir {
			at++
		}
		if f.Dir == dir {
			return at, true
		}
	}
	return 0, false
}

// forms returns the allowed forms of the name of a patch, for error messages.
func forms(all []*Series) string {
	var out []string
	for _, s := range all {
		dirs := []string{s.Dir}
		if len(s.Folders) > 0 {
			dirs = nil
			for _, f := range s.Folders {
				dirs = append(dirs, f.Dir)
			}
		}
		for _, dir := range dirs {
			out = append(out, strings.TrimPrefix(dir+"/NNNN-name.patch", "patches/"))
		}
	}
	return strings.Join(out, " or ")
}
