// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package markers

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// edit replaces the text old at the offset at of a source by the text new.
type edit struct {
	at       int
	old, new string
}

// Write adds the markers of types to one source file of their package, and returns the new text.
// It ignores types that the file does not declare, because another file of the package may declare
// them. If it can't write some markers, it writes the others, and returns an error for each marker
// that it did not write.
func Write(path string, text []byte, types map[string]Type) (out []byte, err error) {
	return rewrite(path, text, types, false)
}

// Remove returns a source without the markers that Write has written. It returns an error for each
// position that differs from the result of Write.
func Remove(path string, text []byte, types map[string]Type) (out []byte, err error) {
	return rewrite(path, text, types, true)
}

func rewrite(path string, text []byte, types map[string]Type, remove bool) (out []byte, err error) {
	s, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	var edits []edit
	var wrong []error
	for _, typ := range sorted(types) {
		d, ok := s.types[typ]
		if !ok {
			continue
		}
		made, errs := s.edits(typ, d, types[typ], remove)
		edits, wrong = append(edits, made...), append(wrong, errs...)
	}
	return apply(text, edits), errors.Join(wrong...)
}

// apply applies edits, which must not overlap.
func apply(text []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.at - b.at })
	var out bytes.Buffer
	last := 0
	for _, e := range edits {
		out.Write(text[last:e.at])
		out.WriteString(e.new)
		last = e.at + len(e.old)
	}
	out.Write(text[last:])
	return out.Bytes()
}

// edits returns the edits that write the markers of a type, or that remove them if back is true.
func (s *source) edits(typ string, d *declaration, t Type, back bool) (edits []edit, wrong []error) {
	comment := func(what string, pos token.Pos, m Markers, doc ...*ast.CommentGroup) {
		e, err := s.comment(pos, m, back, doc...)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", what, err))
		} else if e != nil {
			edits = append(edits, *e)
		}
	}
	comment("type "+typ, d.pos, t.Markers, d.doc...)
	structure := d.structure()
	if structure == nil && len(t.Fields)+len(t.Exempt) > 0 {
		return edits, append(wrong, fmt.Errorf("type %s is not a struct, so it has no fields", typ))
	}
	for _, name := range sorted(t.Fields) {
		what := "field " + typ + "." + name
		f, err := s.field(structure, name)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", what, err))
			continue
		}
		comment(what, f.Pos(), t.Fields[name].Markers, f.Doc)
		if r := t.Fields[name].Retype; r != nil {
			e, err := s.retype(f, *r, back)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %w", what, err))
				continue
			}
			edits = append(edits, e)
		}
	}
	return edits, wrong
}

// comment returns the edit that writes markers as lines right above a position. If back is true,
// the edit removes these lines. doc are the comments that are already above the position. If one
// of them is the same marker, comment returns an error.
func (s *source) comment(pos token.Pos, m Markers, back bool, doc ...*ast.CommentGroup) (*edit, error) {
	lines := m.Comments()
	if len(lines) == 0 {
		return nil, nil
	}
	offset, indent, err := s.line(pos)
	if err != nil {
		return nil, err
	}
	var text string
	for _, line := range lines {
		text += indent + line + "\n"
	}
	if back {
		if !bytes.HasSuffix(s.text[:offset], []byte(text)) {
			return nil, fmt.Errorf("these markers are missing right above it: %s", strings.Join(lines, ", "))
		}
		return &edit{at: offset - len(text), old: text}, nil
	}
	for _, line := range lines {
		marker, _, _ := strings.Cut(line, ":")
		for _, g := range doc {
			if g != nil && slices.ContainsFunc(g.List, func(c *ast.Comment) bool { return sameMarker(c.Text, marker) }) {
				return nil, fmt.Errorf("has a marker %s already", strings.TrimPrefix(marker, "// "))
			}
		}
	}
	return &edit{at: offset, new: text}, nil
}

// sameMarker reports whether a comment is a marker with that name.
func sameMarker(comment, marker string) bool {
	if !isMarker(comment) {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(comment, "//")), ":")
	return name == strings.TrimPrefix(marker, "// ")
}

// retype returns the edit that replaces the name of a field's type, as r says. If back is true,
// the edit restores the old name.
func (s *source) retype(f *ast.Field, r Retype, back bool) (edit, error) {
	start, end := s.fset.Position(f.Type.Pos()).Offset, s.fset.Position(f.Type.End()).Offset
	have := string(s.text[start:end])
	if back {
		r.From, r.To = r.To, r.From
	}
	if len(f.Names) == 0 {
		return edit{}, errors.New("is embedded, so its name would change with its type")
	}
	if have != r.From {
		return edit{}, fmt.Errorf("has the type %s, want %s", have, r.From)
	}
	return edit{at: start, old: r.From, new: r.To}, nil
}
