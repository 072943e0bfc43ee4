// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Content is the content of a file, or its absence.
type Content struct {
	Data   []byte
	Absent bool
	// Executable is true for a file that a patch adds with an executable mode.
	Executable bool
}

// Equal reports whether two contents are the same.
func (c Content) Equal(d Content) bool {
	return c.Absent == d.Absent && c.Executable == d.Executable && bytes.Equal(c.Data, d.Data)
}

// Sources are the files before any patch.
type Sources interface {
	// Read returns the content of a path.
	Read(path string) (Content, error)
	// List returns the paths of the files in a folder.
	List(dir string) ([]string, error)
}

// Pristine is a function that reads the content of a path before any patch. As a Sources, it lists
// no files, so it serves callers that apply no files of markers.
type Pristine func(path string) (Content, error)

// Read returns the result of the function.
func (f Pristine) Read(path string) (Content, error) { return f(path) }

// List returns nothing.
func (f Pristine) List(string) ([]string, error) { return nil, nil }

// State is the content of every file that some patches change. The keys are paths relative
// to the root that the series patches.
type State map[string]Content

// Apply applies a series and returns the state after each patch. The first state is the pristine
// content of every file that the series changes. Apply stops at the first patch that does not
// apply exactly, and returns an error. It also returns an error if a marker cannot be written, or
// if a field at the top level of an API kind, such as spec, has neither a permission nor an
// exemption.
func (s *Series) Apply(src Sources) ([]State, error) {
	states, problems, err := s.apply(src)
	if err == nil && len(problems) == 0 {
		var roots []error
		roots, err = s.Roots(states[len(states)-1], src)
		problems = append(problems, roots...)
	}
	return states, errors.Join(err, errors.Join(problems...))
}

// ApplyLeniently applies a series like Apply, but skips every marker that it can't write, for
// example because this version of Kubernetes has no such type or field. It does not check that
// each field at the top level of an API kind has a permission or an exemption.
func (s *Series) ApplyLeniently(src Sources) ([]State, error) {
	states, _, err := s.apply(src)
	return states, err
}

func (s *Series) apply(src Sources) (states []State, problems []error, err error) {
	base := State{}
	for _, p := range s.Patches {
		if p.Markers != nil {
			continue
		}
		for _, c := range p.Files {
			if _, ok := base[c.Path]; !ok {
				content, err := src.Read(c.Path)
				if err != nil {
					return nil, nil, err
				}
				base[c.Path] = content
			}
		}
	}
	states = []State{base}
	for _, p := range s.Patches {
		var next State
		last := states[len(states)-1]
		if p.Markers == nil {
			next, err = p.apply(last)
		} else {
			var found State
			var wrong []error
			next, found, wrong, err = p.Mark(last, src)
			Learn(states, found)
			problems = append(problems, wrong...)
		}
		if err != nil {
			return states, problems, err
		}
		if p.Markers != nil {
			p.Touched(last, next)
		}
		states = append(states, next)
	}
	return states, problems, nil
}

// Learn adds the files in found to all states. found are the pristine files that were read only
// when a file of markers was applied, because no mail patch changes them. So every state has the
// same files.
func Learn(states []State, found State) {
	for _, st := range states {
		maps.Copy(st, found)
	}
}

// Touched sets p.Files to the files whose content differs between the two states. p must be a file
// of markers, which does not list the source files that it changes.
func (p *Patch) Touched(before, after State) {
	p.Files = nil
	for _, file := range slices.Sorted(maps.Keys(after)) {
		if !before[file].Equal(after[file]) {
			p.Files = append(p.Files, &Change{Path: file})
		}
	}
}

func (p *Patch) apply(before State) (State, error) {
	after := maps.Clone(before)
	for _, c := range p.Files {
		content, err := c.apply(before[c.Path])
		if err != nil {
			return nil, &Conflict{Patch: p.Name, Path: c.Path, Line: c.conflictLine(err), Err: err}
		}
		after[c.Path] = content
	}
	return after, nil
}

func (c *Change) apply(before Content) (Content, error) {
	switch {
	case c.diff.IsNew && !before.Absent:
		return Content{}, errors.New("adds a file that exists")
	case !c.diff.IsNew && before.Absent:
		return Content{}, errors.New("changes a file that does not exist")
	}
	var out bytes.Buffer
	if err := gitdiff.Apply(&out, bytes.NewReader(before.Data), c.diff); err != nil {
		return Content{}, err
	}
	if c.diff.IsDelete {
		if out.Len() > 0 {
			return Content{}, errors.New("removes a file that has more content than the patch")
		}
		return Content{Absent: true}, nil
	}
	executable := before.Executable
	if c.diff.IsNew {
		executable = c.diff.NewMode&0o111 != 0
	}
	return Content{Data: slices.Clone(out.Bytes()), Executable: executable}, nil
}

// Conflict is a place where a patch does not apply.
type Conflict struct {
	Patch, Path string
	// Line is the number of the line in the patch file at which the conflicting hunk begins.
	Line int
	Err  error
}

func (c *Conflict) Error() string {
	var at *gitdiff.ApplyError
	if errors.As(c.Err, &at) && at.Line > 0 {
		return fmt.Sprintf("%s:%d: hunk does not apply to %s, line %d: %v", c.Patch, c.Line, c.Path, at.Line, c.Err)
	}
	return fmt.Sprintf("%s:%d: does not apply to %s: %v", c.Patch, c.Line, c.Path, c.Err)
}

func (c *Conflict) Unwrap() error { return c.Err }

func (c *Change) conflictLine(err error) int {
	var at *gitdiff.ApplyError
	if errors.As(err, &at) && at.Fragment > 0 && at.Fragment <= len(c.hunkLines) {
		return c.hunkLines[at.Fragment-1]
	}
	return c.line
}

// Locate finds the hunk that probably conflicts with the content of a file, and returns the number
// of the line in the patch file at which that hunk begins. It is the first hunk whose old lines do
// not occur in the content. If all old lines occur, it is the first hunk. For a change without
// hunks, Locate returns the line at which the change begins.
func (c *Change) Locate(content []byte) int {
	for i, h := range c.diff.TextFragments {
		var old bytes.Buffer
		for _, l := range h.Lines {
			if l.Old() {
				old.WriteString(l.Line)
			}
		}
		if !bytes.Contains(content, old.Bytes()) {
			return c.hunkLines[i]
		}
	}
	if len(c.hunkLines) > 0 {
		return c.hunkLines[0]
	}
	return c.line
}
