// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"kube-granular.dev/hack/upstream/internal/markers"
)

// Patch is one part of a series: a mail patch, or a file of markers.
type Patch struct {
	// Name is the tree path of the patch file.
	Name   string
	Header Header
	// Files are the changes of the patch, one for each changed file, in the order of the patch. For a
	// file of markers, they are known only after Apply has found the types.
	Files []*Change
	// Markers is the content of a file of markers. It is nil for a mail patch.
	Markers *markers.File
	// Raw is the content of the patch file.
	Raw []byte
}

// Change is the change that a patch makes to one file.
type Change struct {
	// Path is relative to the root that the series patches.
	Path string
	// hunkLines are the numbers of the lines in the patch file at which the hunks of the change begin.
	hunkLines []int
	line      int
	diff      *gitdiff.File
}

// Parse reads a patch; name is the tree path of its file. It fails if the patch has a change
// that a series may not contain: a rename, a copy, a binary change or a hunk without context.
func Parse(name string, raw []byte) (*Patch, error) {
	p := &Patch{Name: name, Raw: raw}
	at := diffStart(raw)
	var err error
	if p.Header, err = parseHeader(string(raw[:at])); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	files, _, err := gitdiff.Parse(bytes.NewReader(raw[at:]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: changes no file", name)
	}
	lines := headLines(raw, at)
	if len(lines) != len(files) {
		return nil, fmt.Errorf("%s: has %d diff lines for %d files", name, len(lines), len(files))
	}
	seen := map[string]bool{}
	for i, f := range files {
		c := &Change{diff: f, Path: f.NewName, line: lines[i].file, hunkLines: lines[i].hunks}
		if f.IsDelete {
			c.Path = f.OldName
		}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", name, c.line, c.Path, err)
		}
		if seen[c.Path] {
			return nil, fmt.Errorf("%s:%d: %s: is changed twice", name, c.line, c.Path)
		}
		seen[c.Path] = true
		p.Files = append(p.Files, c)
	}
	return p, nil
}

func (c *Change) check() error {
	f := c.diff
	switch {
	case f.IsRename || f.IsCopy:
		return fmt.Errorf("is renamed or copied: remove the old file and add the new one instead")
	case f.IsBinary:
		return fmt.Errorf("is a binary change")
	case f.OldMode != 0 && f.NewMode != 0 && f.OldMode != f.NewMode:
		return fmt.Errorf("changes its mode: the module cache does not keep modes")
	case c.Path != path.Clean(c.Path) || path.IsAbs(c.Path) || c.Path == "." || c.Path == ".." || strings.HasPrefix(c.Path, "../"):
		return fmt.Errorf("is not a path inside the source tree")
	case len(c.hunkLines) != len(f.TextFragments):
		return fmt.Errorf("has %d hunk lines for %d hunks", len(c.hunkLines), len(f.TextFragments))
	}
	for i, h := range f.TextFragments {
		if h.OldLines == 0 && !f.IsNew && h.OldPosition != 0 {
			return fmt.Errorf("hunk at line %d has no context", c.hunkLines[i])
		}
	}
	return nil
}

// Lines returns the number of lines that a mail patch adds and removes.
func (p *Patch) Lines() (added, removed int64) {
	for _, c := range p.Files {
		if c.diff == nil {
			continue
		}
		for _, h := range c.diff.TextFragments {
			added += h.LinesAdded
			removed += h.LinesDeleted
		}
	}
	return added, removed
}

// Touches returns the change of the patch to a path, or nil if the patch does not change that
// path. A file of markers that was not applied yet may change any file of its packages. For these
// files, Touches returns a Change with only the path.
func (p *Patch) Touches(file string) *Change {
	if p.Markers != nil && p.Files == nil {
		for pkg := range p.Markers.Packages {
			if markers.Dir(pkg) == path.Dir(file) {
				return &Change{Path: file}
			}
		}
	}
	for _, c := range p.Files {
		if c.Path == file {
			return c
		}
	}
	return nil
}

// diffStart returns the offset of the first diff of a patch.
func diffStart(raw []byte) int {
	const mark = "\ndiff --git "
	if i := bytes.Index(raw, []byte(mark)); i >= 0 {
		return i + 1
	}
	return len(raw)
}

type fileLines struct {
	file  int
	hunks []int
}

// headLines returns the numbers of the lines at which files and hunks begin. A line inside a hunk
// begins with a space, a plus or minus sign, or a backslash, so it can't be mistaken for the
// beginning of a file or a hunk.
func headLines(raw []byte, at int) []fileLines {
	var all []fileLines
	number := bytes.Count(raw[:at], []byte("\n"))
	for line := range bytes.SplitSeq(raw[at:], []byte("\n")) {
		number++
		switch {
		case bytes.HasPrefix(line, []byte("diff --git ")):
			all = append(all, fileLines{file: number})
		case bytes.HasPrefix(line, []byte("@@ -")) && len(all) > 0:
			last := &all[len(all)-1]
			last.hunks = append(last.hunks, number)
		}
	}
	return all
}
