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

func rewrite(path string, text []byte, types map[string]Type, remove bool) ([]byte, error) {
	s, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	var edits []edit
	var wrong []error
	for _, typ := range sorted(types) {
		if d, ok := s.types[typ]; ok {
			made, errs := s.edits(typ, d, types[typ], remove)
			edits, wrong = append(edits, made...), append(wrong, errs...)
		}
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.at - b.at })
	var out bytes.Buffer
	last := 0
	for _, e := range edits { // they do not overlap
		out.Write(text[last:e.at])
		out.WriteString(e.new)
		last = e.at + len(e.old)
	}
	out.Write(text[last:])
	return out.Bytes(), errors.Join(wrong...)
}

// edits returns the edits that write the markers of a type, or that remove them if back is true.
func (s *source) edits(typ string, d *declaration, t Type, back bool) (edits []edit, wrong []error) {
	add := func(what string, made []edit, err error) {
		if edits = append(edits, made...); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", what, err))
		}
	}
	made, err := s.comment(d.pos, t.Markers, back, d.doc)
	add("type "+typ, made, err)
	structure := d.structure()
	if structure == nil && len(t.Fields)+len(t.Exempt) > 0 {
		return edits, append(wrong, fmt.Errorf("type %s is not a struct, so it has no fields", typ))
	}
	for _, name := range sorted(t.Fields) {
		what, field := "field "+typ+"."+name, t.Fields[name]
		f, err := s.field(structure, name)
		if err != nil {
			add(what, nil, err)
			continue
		}
		made, err := s.comment(f.Pos(), field.Markers, back, f.Doc)
		add(what, made, err)
		if field.Retype != nil {
			made, err := s.retype(f, *field.Retype, back)
			add(what, made, err)
		}
	}
	return edits, wrong
}

// comment returns the edit that writes markers as lines right above a position. If back is true,
// the edit removes these lines. doc is the comment that is already above the position. If it has
// the same marker, comment returns an error.
func (s *source) comment(pos token.Pos, m Markers, back bool, doc *ast.CommentGroup) ([]edit, error) {
	lines := m.Comments()
	if len(lines) == 0 {
		return nil, nil
	}
	offset, indent, err := s.line(pos)
	if err != nil {
		return nil, err
	}
	text := indent + strings.Join(lines, "\n"+indent) + "\n"
	if back {
		if !bytes.HasSuffix(s.text[:offset], []byte(text)) {
			return nil, fmt.Errorf("these markers are missing right above it: %s", strings.Join(lines, ", "))
		}
		return []edit{{at: offset - len(text), old: text}}, nil
	}
	for _, line := range lines {
		if marker, _, _ := strings.Cut(line, ":"); marked(doc, marker) {
			return nil, fmt.Errorf("has a marker %s already", strings.TrimPrefix(marker, "// "))
		}
	}
	return []edit{{at: offset, new: text}}, nil
}

// marked reports whether a comment has a marker with one of the given names.
func marked(doc *ast.CommentGroup, markers ...string) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		name, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")), ":")
		return isMarker(c.Text) && slices.Contains(markers, "// "+name)
	})
}

// retype returns the edit that replaces the name of a field's type, as r says. If back is true,
// the edit restores the old name.
func (s *source) retype(f *ast.Field, r Retype, back bool) ([]edit, error) {
	start, end := s.fset.Position(f.Type.Pos()).Offset, s.fset.Position(f.Type.End()).Offset
	if back {
		r.From, r.To = r.To, r.From
	}
	if len(f.Names) == 0 {
		return nil, errors.New("is embedded, so its name would change with its type")
	}
	if have := string(s.text[start:end]); have != r.From {
		return nil, fmt.Errorf("has the type %s, want %s", have, r.From)
	}
	return []edit{{at: start, old: r.From, new: r.To}}, nil
}
