// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package markers

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// source is a Go file and its syntax.
type source struct {
	text []byte
	fset *token.FileSet
	file *ast.File
	// types are the declarations of types in the file, by name.
	types map[string]*declaration
}

// declaration is the declaration of a type. pos is the position of its first token.
type declaration struct {
	spec *ast.TypeSpec
	pos  token.Pos
	doc  *ast.CommentGroup
}

func parse(path string, text []byte) (*source, error) {
	s := &source{text: text, fset: token.NewFileSet(), types: map[string]*declaration{}}
	var err error
	if s.file, err = parser.ParseFile(s.fset, path, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	for _, decl := range s.file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE {
			continue
		}
		for _, spec := range gen.Specs {
			t := spec.(*ast.TypeSpec)
			s.types[t.Name.Name] = &declaration{t, t.Pos(), t.Doc}
			if !gen.Lparen.IsValid() {
				s.types[t.Name.Name] = &declaration{t, gen.Pos(), gen.Doc}
			}
		}
	}
	return s, nil
}

// structure returns the struct of a type, nil if the type is not a struct.
func (d *declaration) structure() *ast.StructType {
	s, _ := d.spec.Type.(*ast.StructType)
	return s
}

// embedded returns the name of an embedded field, which is the name of its type.
func embedded(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return embedded(e.X)
	case *ast.IndexExpr: // a generic type
		return embedded(e.X)
	case *ast.IndexListExpr:
		return embedded(e.X)
	}
	return ""
}

// names returns the names in the declaration of a field, or the name of an embedded field.
func names(f *ast.Field) []string {
	if len(f.Names) == 0 {
		return []string{embedded(f.Type)}
	}
	var all []string
	for _, n := range f.Names {
		all = append(all, n.Name)
	}
	return all
}

// field returns the field of a struct with the given name. It fails if the struct has no such
// field, or if one declaration declares several fields, so that the field can't have markers of
// its own.
func (s *source) field(structure *ast.StructType, name string) (*ast.Field, error) {
	for _, f := range structure.Fields.List {
		switch all := names(f); {
		case !slices.Contains(all, name):
		case len(all) > 1:
			return nil, fmt.Errorf("is declared together with others (%s): a marker would apply to all of them", strings.Join(all, ", "))
		default:
			return f, nil
		}
	}
	return nil, errors.New("the struct has no such field")
}

// line returns the offset at which the line of a position begins, and the white space before the
// position. It fails if there is other text before the position in the line.
func (s *source) line(pos token.Pos) (start int, indent string, err error) {
	offset := s.fset.Position(pos).Offset
	start = 1 + bytes.LastIndexByte(s.text[:offset], '\n')
	if indent = string(s.text[start:offset]); strings.Trim(indent, " \t") != "" {
		err = errors.New("is not at the beginning of a line: a comment cannot be written above it")
	}
	return start, indent, err
}

// isMarker reports whether a line is a comment that openapi-gen reads as a permission marker.
func isMarker(line string) bool {
	text, ok := strings.CutPrefix(strings.TrimSpace(line), "//")
	return ok && strings.HasPrefix(strings.TrimSpace(text), "+permission-")
}

// Lines returns the lines of a source that are markers, without white space around them.
func Lines(text []byte) []string {
	var all []string
	for line := range strings.Lines(string(text)) {
		if isMarker(line) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}
