// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"kube-granular.dev/hack/upstream/internal/markers"
)

// Patch is one part of a series: a mail patch, or a file of markers.
type Patch struct {
	// Name is the tree path of the patch file.
	Name   string
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
	old            [][]byte
	added, removed int
}

var (
	hunkHead  = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)
	forbidden = map[string]string{
		"rename ": "is renamed or copied: remove the old file and add the new one instead", "copy ": "is renamed or copied",
		"Binary files ": "is a binary change", "GIT binary patch": "is a binary change",
		"old mode ": "changes its mode: the module cache does not keep modes",
	}
)

// Parse reads a patch; name is the tree path of its file. It fails if the patch has a change that a series
// may not contain: a rename, a copy, a binary change, a change of a mode or a hunk without context.
func Parse(name string, raw []byte) (*Patch, error) {
	p := &Patch{Name: name, Raw: raw}
	start := diffStart(raw)
	var err error
	if p.Header, err = parseHeader(string(raw[:start])); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	number := bytes.Count(raw[:start], []byte("\n"))
	for rest := raw[start:]; len(rest) > 0; {
		var line []byte
		line, rest = cut(rest)
		number++
		if bytes.HasPrefix(line, []byte("diff --git ")) {
			p.Files = append(p.Files, &Change{line: number})
		}
		if len(p.Files) == 0 {
			break
		}
		c := p.Files[len(p.Files)-1]
		read, err := c.read(string(line), number, rest)
		if err == nil && bytes.HasPrefix(line, []byte("diff --git ")) && p.Touches(c.Path) != c {
			err = errors.New("is changed twice")
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", name, number, c.Path, err)
		}
		number, rest = number+bytes.Count(rest[:read], []byte("\n")), rest[read:]
	}
	if len(p.Files) == 0 {
		return nil, fmt.Errorf("%s: changes no file", name)
	}
	return p, nil
}

// cut returns the first line of a text, with its line end, and the rest.
func cut(text []byte) (line, rest []byte) {
	i := bytes.IndexByte(text, '\n') + 1
	if i == 0 {
		i = len(text)
	}
	return text[:i], text[i:]
}

// read reads a line of a change. If it begins a hunk, read also reads the hunk from the rest of the patch, and
// returns the length of the hunk.
func (c *Change) read(line string, number int, rest []byte) (int, error) {
	if names, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "diff --git a/"); ok {
		c.Path = names[:max(len(names)-len(" b/"), 0)/2]
		switch {
		case names != c.Path+" b/"+c.Path:
			return 0, errors.New(forbidden["rename "])
		case !fs.ValidPath(c.Path) || c.Path == ".":
			return 0, errors.New("is not a path inside the source tree")
		}
		return 0, nil
	}
	for head, why := range forbidden {
		if strings.HasPrefix(line, head) {
			return 0, errors.New(why)
		}
	}
	c.isNew = c.isNew || strings.HasPrefix(line, "new file mode ")
	c.gone = c.gone || strings.HasPrefix(line, "deleted file mode ")
	m := hunkHead.FindStringSubmatch(line)
	if m == nil {
		return 0, nil
	}
	h := &hunk{line: number}
	h.at, _ = strconv.Atoi(m[1])
	left := [2]int{1, 1} // lines of the old and of the new file
	for i, n := range []string{m[2], m[4]} {
		if n != "" {
			left[i], _ = strconv.Atoi(n)
		}
	}
	if left[0] == 0 && !c.isNew && h.at != 0 {
		return 0, fmt.Errorf("hunk at line %d has no context", number)
	}
	c.hunks = append(c.hunks, h)
	length := 0
	var last byte
	for text := rest; left[0] > 0 || left[1] > 0 || bytes.HasPrefix(text, []byte(`\`)); {
		line, text = next(text)
		length += len(line)
		switch kind := (line + "\x00")[0]; {
		case kind == '\\':
			if n := len(h.old); n > 0 && last != '+' {
				h.old[n-1] = bytes.TrimSuffix(h.old[n-1], []byte("\n"))
			}
		case kind == ' ' || kind == '-':
			h.old = append(h.old, []byte(line[1:]))
			left[0]--
			if kind == ' ' {
				left[1]--
			} else {
				h.removed++
			}
			last = kind
		case kind == '+':
			h.added++
			left[1]--
			last = kind
		default:
			return 0, fmt.Errorf("hunk at line %d is cut short", number)
		}
	}
	if left != [2]int{} {
		return 0, fmt.Errorf("hunk at line %d has other lines than it says", number)
	}
	return length, nil
}

func next(text []byte) (string, []byte) {
	line, rest := cut(text)
	return string(line), rest
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

func (c *Conflict) Unwrap() error { return c.Err }

// Conflict returns the first place at which the patch does not fit exactly: a line of a hunk that is not at the line
// number in the patch. It returns nil if there is none. files are the contents before the patch, by path.
func (p *Patch) Conflict(files map[string][]byte) *Conflict {
	for _, c := range p.Files {
		data, ok := files[c.Path]
		found := &Conflict{Patch: p.Name, Path: c.Path, Line: c.line}
		switch {
		case c.isNew && ok:
			found.Err = errors.New("adds a file that exists")
		case !c.isNew && !ok:
			found.Err = errors.New("changes a file that does not exist")
		default:
			c.differs(data, found)
		}
		if found.Err != nil {
			return found
		}
	}
	return nil
}

// differs looks for the first line of a file that is not as a hunk has it.
func (c *Change) differs(data []byte, found *Conflict) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	for _, h := range c.hunks {
		for i, old := range h.old {
			line := h.at + i
			if line > len(lines) {
				found.Line, found.At, found.Err = h.line, line, io.ErrUnexpectedEOF
				return
			}
			if !bytes.Equal(lines[line-1], old) {
				found.Line, found.At, found.Err = h.line, line, errors.New("conflict")
				return
			}
		}
		if c.gone && len(h.old) < len(lines) {
			found.Line, found.At, found.Err = h.line, len(h.old)+1, errors.New("conflict")
			return
		}
	}
}

// Locate returns the number of the line in the patch file of the hunk that probably conflicts with the content
// of a file: the first hunk whose old lines do not occur in it, or the first one.
func (c *Change) Locate(content []byte) int {
	for _, h := range c.hunks {
		if !bytes.Contains(content, bytes.Join(h.old, nil)) {
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
