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

// strayDirs are folders in the tree that belong to whoever put them there, and
// strays are base names of such files: build output, editors' files, a git
// folder. They are no edits, unless upstream or a patch has a file of that name.
var (
	strayDirs = []string{".git", "_output", "_tmp", ".idea", ".vscode", ".make"}
	strays    = []string{"*~", ".#*", "*.swp", "*.swo", "*.orig", "*.rej", "*.test", "*.prof", "*.log", "*.out", ".DS_Store"}
)

// Scan lists what is on disk: every managed file with its stat.
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

// Stray says whether a file nobody knows is none of the tree's business.
func Stray(tree string) bool {
	return slices.ContainsFunc(strays, func(pattern string) bool {
		ok, _ := path.Match(pattern, path.Base(tree))
		return ok
	})
}

// Edit is a file that is not as it was last written.
type Edit struct {
	Tree string
	// Was and Is are sums; Gone where there was or is no file.
	Was, Is string
}

// Kind names an edit for people.
func (e Edit) Kind() string {
	switch {
	case e.Is == Gone:
		return "removed"
	case e.Was == Gone:
		return "added"
	}
	return "edited"
}

// Edits compares what is on disk with the manifest. Files are read only where
// size or time differ; where the content turns out the same, the manifest takes
// the new time, and touched says so.
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

// hash is the sum of a file; what is no regular file has a sum like no other.
func hash(path string, info fs.FileInfo) (string, error) {
	if !info.Mode().IsRegular() {
		return "not a regular file", nil
	}
	return source.HashFile(path)
}

// Describe lists edits for people, at most twenty of them.
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
