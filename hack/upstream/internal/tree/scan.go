// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/source"
)

// strayDirs are the names of folders that the tool ignores in the tree. strays are patterns for
// the names of files that it ignores, such as build output and files of editors. But if upstream
// or a patch has a file with the same path, the tool does not ignore the file.
var (
	strayDirs = []string{".git", "_output", "_tmp", ".idea", ".vscode", ".make"}
	strays    = []string{"*~", ".#*", "*.swp", "*.swo", "*.orig", "*.rej", "*.test", "*.prof", "*.log", "*.out", ".DS_Store"}
)

// Scan returns the FileInfo of every file of the tree on disk, by tree path.
func Scan(p project.Project) (map[string]fs.FileInfo, error) {
	found := map[string]fs.FileInfo{}
	for _, root := range []string{project.Kubernetes, project.Generators} {
		base := p.Path(root)
		err := filepath.WalkDir(base, func(at string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(base, at)
			if err != nil || rel == "." {
				return err
			}
			tree := root + filepath.ToSlash(rel)
			if d.IsDir() {
				if slices.Contains(strayDirs, d.Name()) {
					return fs.SkipDir
				}
				return nil
			}
			// The go command itself keeps workspace sums up to date.
			if tree == project.GeneratorsWorkSum || tree == project.Kubernetes+"go.work.sum" {
				return nil
			}
			info, err := d.Info()
			found[tree] = info
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if info, err := os.Lstat(p.Path(project.Work)); err == nil {
		found[project.Work] = info
	}
	return found, nil
}

// Stray reports whether the name of a file matches one of the patterns for stray files. The caller
// must check that neither upstream nor a patch has the file.
func Stray(tree string) bool {
	return slices.ContainsFunc(strays, func(pattern string) bool {
		ok, _ := path.Match(pattern, path.Base(tree))
		return ok
	})
}

// Edit is a file that differs from its last written content.
type Edit struct {
	Tree string
	// Was and Is are the sums of the file before and after the edit. Gone means that there was or is
	// no file.
	Was, Is string
}

// Kind returns the kind of an edit, for messages.
func (e Edit) Kind() string {
	switch {
	case e.Is == Gone:
		return "removed"
	case e.Was == Gone:
		return "added"
	}
	return "edited"
}

// Edits compares the files on disk with the manifest, and returns the edited files. It reads a
// file only if its size or modification time differs from the manifest. If the content of such a
// file is still the same, Edits puts the new time into the manifest, and touched is true.
func (m *Manifest) Edits(p project.Project, found map[string]fs.FileInfo) (edits []Edit, touched bool, err error) {
	for tree, info := range found {
		e, known := m.Files[tree]
		if !known {
			e.Sum = Gone
		}
		if known && e.Sum != Gone && info.Mode().IsRegular() && info.Size() == e.Size && info.ModTime().UnixNano() == e.Time {
			continue
		}
		sum, err := hash(p.Path(tree), info)
		if err != nil {
			return nil, false, err
		}
		if sum == e.Sum {
			e.Size, e.Time = info.Size(), info.ModTime().UnixNano()
			m.Files[tree], touched = e, true
			continue
		}
		edits = append(edits, Edit{Tree: tree, Was: e.Sum, Is: sum})
	}
	for tree, e := range m.Files {
		if _, ok := found[tree]; !ok && e.Sum != Gone {
			edits = append(edits, Edit{Tree: tree, Was: e.Sum, Is: Gone})
		}
	}
	sort.Slice(edits, func(i, j int) bool { return edits[i].Tree < edits[j].Tree })
	return edits, touched, nil
}

// hash returns the sum of a file. If the file is not regular, it returns a text that differs
// from every sum.
func hash(path string, info fs.FileInfo) (string, error) {
	if !info.Mode().IsRegular() {
		return "not a regular file", nil
	}
	return source.HashFile(path)
}

// Describe returns a list of edits for messages, at most twenty of them.
func Describe(edits []Edit) string {
	var b strings.Builder
	for i, e := range edits {
		if i == 20 {
			b.WriteString("\n  ... and others")
			break
		}
		b.WriteString("\n  " + e.Kind() + " " + e.Tree)
	}
	return b.String()
}
