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
	"regexp"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/project"
)

// Series is an ordered list of patches against one set of sources.
type Series struct {
	// Dir is the folder of the series, and Prefix the folder of the sources that the series patches. Both are
	// tree paths, which are relative to the project's root.
	Dir, Prefix string
	// Folders are the folders with the patches, in order. If its list has no folders, the only one is Dir.
	Folders []Folder
	Patches []*Patch
}

// Folder is a folder of a series, as a tree path. Its patches have their own numbers.
type Folder struct {
	Dir string
	// Optional is true if the folder may be left out, or missing.
	Optional bool
}

// Reader returns the content of a file by its tree path, from the working tree or from a git revision. If the
// file does not exist, the error is fs.ErrNotExist.
type Reader func(tree string) ([]byte, error)

// Load reads the series for Kubernetes and the one for its generators. It leaves out the optional folders whose
// names are in without. The file that lists the first series must exist, but may be empty. So a lost file does
// not lead to a tree without patches.
func Load(read Reader, without ...string) ([]*Series, error) {
	all := []*Series{{Dir: "patches", Prefix: project.Kubernetes}, {Dir: "patches/generators", Prefix: project.Generators}}
	left := slices.Clone(without)
	for i, s := range all {
		entries, err := readList(read, s.Dir)
		if err != nil && (i == 0 || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
		if len(entries) == 0 || !entries[0].folder {
			s.Folders = []Folder{{Dir: s.Dir}}
			if err := s.read(read, s.Dir, entries); err != nil {
				return nil, err
			}
			continue
		}
		for _, e := range entries {
			f := Folder{Dir: s.Dir + "/" + e.name, Optional: e.optional}
			s.Folders = append(s.Folders, f)
			if index := slices.Index(left, e.name); index >= 0 {
				if left = slices.Delete(left, index, index+1); !f.Optional {
					return nil, fmt.Errorf("%s cannot be left out: %s/series does not mark it as optional", f.Dir, s.Dir)
				}
				continue
			}
			parts, err := readList(read, f.Dir)
			if err != nil && f.Optional && errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err = errors.Join(err, s.read(read, f.Dir, parts)); err != nil {
				return nil, err
			}
		}
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("no series has a folder %q to leave out", left[0])
	}
	return all, nil
}

// entry is a line of a file named series: a patch or a folder. where is its place, for error messages.
type entry struct {
	where, name      string
	folder, optional bool
}

var (
	partName   = regexp.MustCompile(`^[0-9]{4}-[a-z0-9]+(?:[-.][a-z0-9]+)*\.(?:patch|yaml)$`)
	folderName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
)

// readList reads the file named series in a folder. It lists either patches in numeric order, or folders.
func readList(read Reader, dir string) (entries []entry, err error) {
	data, err := read(dir + "/series")
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		e := entry{where: fmt.Sprintf("%s/series:%d", dir, i+1), name: words[0], folder: folderName.MatchString(words[0])}
		e.optional = len(words) == 2 && e.folder && words[1] == "optional"
		switch {
		case !e.folder && !partName.MatchString(e.name) || len(words) > 1 && !e.optional:
			return nil, fmt.Errorf("%s: %q is not of the form NNNN-name.patch, FOLDER or FOLDER optional", e.where, strings.Join(words, " "))
		case slices.ContainsFunc(entries, func(b entry) bool { return b.folder != e.folder }):
			return nil, fmt.Errorf("%s: lists both patches and folders", e.where)
		case slices.ContainsFunc(entries, func(b entry) bool { return b.name == e.name }):
			return nil, fmt.Errorf("%s: lists %s twice", e.where, e.name)
		case len(entries) > 0 && !e.folder && entries[len(entries)-1].name[:4] >= e.name[:4]:
			return nil, fmt.Errorf("%s: %s stands after %s, but its number is not higher", e.where, e.name, entries[len(entries)-1].name)
		}
		entries = append(entries, e)
	}
	return entries, err
}

// read reads the patches of a folder.
func (s *Series) read(read Reader, dir string, entries []entry) error {
	for _, e := range entries {
		if e.folder {
			return fmt.Errorf("%s: %q is not of the form NNNN-name.patch", e.where, e.name)
		}
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
		p.Series = s
		s.Patches = append(s.Patches, p)
	}
	return nil
}

// Find looks up a patch by name. The name is the tree path of the patch file or the part of that path after
// patches/, with or without the file extension. If there is no such patch, Find returns nil.
func Find(all []*Series, name string) *Patch {
	full := "patches/" + strings.TrimPrefix(name, "patches/")
	for _, s := range all {
		for _, p := range s.Patches {
			if full == p.Name || full+path.Ext(p.Name) == p.Name {
				return p
			}
		}
	}
	return nil
}

// Place returns the series of a new patch with the given name, and the index in Patches for the new patch. It
// fails if the name is malformed, or if the number in it is not greater than that of the last patch in the same
// folder.
func Place(all []*Series, name string) (*Series, int, error) {
	full := "patches/" + strings.TrimPrefix(name, "patches/")
	named := partName.MatchString(path.Base(full)) && path.Ext(full) == ".patch"
	var forms []string
	for _, s := range all {
		index, last := 0, ""
		for _, f := range s.Folders {
			forms = append(forms, strings.TrimPrefix(f.Dir+"/NNNN-name.patch", "patches/"))
			for last = ""; index < len(s.Patches) && path.Dir(s.Patches[index].Name) == f.Dir; index++ {
				last = s.Patches[index].Name
			}
			switch {
			case f.Dir != path.Dir(full) || !named:
				continue
			case last != "" && path.Base(last)[:4] >= path.Base(full)[:4]:
				return nil, 0, fmt.Errorf("%s: must be numbered after %s", full, last)
			}
			return s, index, nil
		}
	}
	return nil, 0, fmt.Errorf("%q is not of the form %s", name, strings.Join(forms, " or "))
}
