// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kube-granular.dev/hack/upstream/internal/markers"
)

// Patch is one part of a series: a mail patch, or a file of markers.
type Patch struct {
	// Name is the tree path of the patch file.
	Name string
	// Series is the series of which the patch is a part.
	Series *Series
	Header Header
	// Files are the changes of the patch, one for each changed file. For a file of markers, they are known
	// only after it was applied.
	Files []*Change
	// Markers is the content of a file of markers. It is nil for a mail patch.
	Markers *markers.File
	// Raw is the content of the patch file.
	Raw []byte
}

// Change is the change that a patch makes to one file.
type Change struct {
	// Path is relative to the root that the series patches.
	Path        string
	line        int // of the patch file
	isNew, gone bool
	hunks       []*hunk
}

// hunk is a hunk that begins at a line of the patch file. It replaces the lines old, the first of which has
// the number at. These are the lines of the file, so the last one may lack its line end.
type hunk struct {
	line, at       int
	old            []string
	added, removed int
}

var (
	hunkHead  = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@`)
	forbidden = map[string]string{
		"rename ": "is renamed or copied: remove the old file and add the new one instead", "copy ": "is renamed or copied",
		"Binary files ": "is a binary change", "GIT binary patch": "is a binary change",
		"old mode ": "changes its mode: the module cache does not keep modes",
	}
)

// Parse reads a patch; name is the tree path of its file. It fails if the patch has a change that a series
// may not contain: a rename, a copy, a binary change, a change of a mode or a hunk without context.
func Parse(name string, raw []byte) (p *Patch, err error) {
	p = &Patch{Name: name, Raw: raw}
	start := diffStart(raw)
	if p.Header, err = parseHeader(string(raw[:start])); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	for i := bytes.Count(raw[:start], []byte("\n")); i < len(lines); i++ {
		number := i + 1
		if names, ok := strings.CutPrefix(lines[i], "diff --git a/"); ok {
			file, other, _ := strings.Cut(strings.TrimSuffix(names, "\n"), " b/")
			switch {
			case file != other:
				err = errors.New(forbidden["rename "])
			case !fs.ValidPath(file) || file == ".":
				err = errors.New("is not a path inside the source tree")
			case p.Touches(file) != nil:
				err = errors.New("is changed twice")
			}
			p.Files = append(p.Files, &Change{Path: file, line: number})
		} else if len(p.Files) > 0 {
			var read int
			read, err = p.Files[len(p.Files)-1].read(lines[i:], number)
			i += read
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", name, number, p.Files[len(p.Files)-1].Path, err)
		}
	}
	if len(p.Files) == 0 {
		return nil, fmt.Errorf("%s: changes no file", name)
	}
	return p, nil
}

// read reads the first of some lines. If it begins a hunk, read also reads the hunk, and returns the number of its
// other lines.
func (c *Change) read(lines []string, number int) (read int, err error) {
	for head, why := range forbidden {
		if strings.HasPrefix(lines[0], head) {
			return 0, errors.New(why)
		}
	}
	c.isNew = c.isNew || strings.HasPrefix(lines[0], "new file mode ")
	c.gone = c.gone || strings.HasPrefix(lines[0], "deleted file mode ")
	m := hunkHead.FindStringSubmatch(lines[0])
	if m == nil {
		return 0, nil
	}
	h := &hunk{line: number}
	h.at, _ = strconv.Atoi(m[1])
	before, _ := strconv.Atoi(cmp.Or(m[2], "1"))
	after, _ := strconv.Atoi(cmp.Or(m[3], "1"))
	if before == 0 && !c.isNew && h.at != 0 {
		return 0, fmt.Errorf("hunk at line %d has no context", number)
	}
	c.hunks = append(c.hunks, h)
	var last string
	for _, line := range lines[1:] {
		kind := line[:min(len(line), 1)]
		if before == 0 && after == 0 && kind != `\` {
			break
		}
		switch kind {
		case `\`: // no newline at the end of the file
			if n := len(h.old); n > 0 && last != "+" {
				h.old[n-1] = strings.TrimSuffix(h.old[n-1], "\n")
			}
		case " ":
			h.old, before, after = append(h.old, line[1:]), before-1, after-1
		case "-":
			h.old, before, h.removed = append(h.old, line[1:]), before-1, h.removed+1
		case "+":
			after, h.added = after-1, h.added+1
		default:
			return 0, fmt.Errorf("hunk at line %d is cut short", number)
		}
		read, last = read+1, kind
	}
	if before != 0 || after != 0 {
		return 0, fmt.Errorf("hunk at line %d has other lines than it says", number)
	}
	return read, nil
}

// Lines returns the number of lines that a mail patch adds and removes.
func (p *Patch) Lines() (added, removed int) {
	for _, c := range p.Files {
		for _, h := range c.hunks {
			added, removed = added+h.added, removed+h.removed
		}
	}
	return added, removed
}

// Touches returns the change of the patch to a path, or nil if the patch does not change that path. A file of
// markers that was not applied yet may change any file of its packages.
func (p *Patch) Touches(file string) *Change {
	if p.Markers != nil && p.Files == nil && slices.Contains(Dirs(p), path.Dir(file)) {
		return &Change{Path: file}
	}
	if i := slices.IndexFunc(p.Files, func(c *Change) bool { return c.Path == file }); i >= 0 {
		return p.Files[i]
	}
	return nil
}

// Conflict is a place where a patch does not apply.
type Conflict struct {
	Patch, Path string
	// Line is the number of the line in the patch file at which the conflicting hunk begins. At is the number
	// of the line in the changed file, or 0.
	Line, At int
	Err      error
}

func (c *Conflict) Error() string {
	if c.At > 0 {
		return fmt.Sprintf("%s:%d: hunk does not apply to %s, line %d: %v", c.Patch, c.Line, c.Path, c.At, c.Err)
	}
	return fmt.Sprintf("%s:%d: does not apply to %s: %v", c.Patch, c.Line, c.Path, c.Err)
}

// Conflict returns the first place at which the patch does not fit exactly: a line of a hunk that is not at the line
// number in the patch. It returns nil if there is none. files are the contents before the patch, by path.
func (p *Patch) Conflict(files map[string][]byte) *Conflict {
	for _, c := range p.Files {
		data, ok := files[c.Path]
		if line, place, err := c.conflict(slices.Collect(strings.Lines(string(data))), ok); err != nil {
			return &Conflict{Patch: p.Name, Path: c.Path, Line: line, At: place, Err: err}
		}
	}
	return nil
}

func (c *Change) conflict(lines []string, exists bool) (line, place int, err error) {
	switch {
	case c.isNew && exists:
		return c.line, 0, errors.New("adds a file that exists")
	case !c.isNew && !exists:
		return c.line, 0, errors.New("changes a file that does not exist")
	}
	for _, h := range c.hunks {
		for i, old := range h.old {
			switch place := h.at + i; {
			case place > len(lines):
				return h.line, place, io.ErrUnexpectedEOF
			case place == 0 || lines[place-1] != old:
				return h.line, place, errors.New("conflict")
			}
		}
		if c.gone && len(h.old) < len(lines) {
			return h.line, len(h.old) + 1, errors.New("conflict")
		}
	}
	return 0, 0, nil
}

// Locate returns the number of the line in the patch file of the hunk that probably conflicts with the content
// of a file: the first hunk whose old lines do not occur in it, or the first one.
func (c *Change) Locate(content []byte) int {
	for _, h := range c.hunks {
		if !strings.Contains(string(content), strings.Join(h.old, "")) {
			return h.line
		}
	}
	if len(c.hunks) > 0 {
		return c.hunks[0].line
	}
	return c.line
}

// diffStart returns the offset of the first diff of a patch.
func diffStart(raw []byte) int {
	if i := bytes.Index(raw, []byte("\ndiff --git ")); i >= 0 {
		return i + 1
	}
	return len(raw)
}
