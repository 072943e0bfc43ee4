// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/suggest"
)

// prefix begins each marker in a comment.
const prefix = "+kube-granular:"

// inElements begins the name of a marker for the elements of a list, or for the values of a map.
const inElements = "items:"

// extensions are the extensions of the markers, by the name after the prefix.
var extensions = map[string]string{
	"permission":                      schema.ExtVerb,
	"permission:excluded":             schema.ExtExcluded,
	"permission:parameter-source":     schema.ExtSource,
	"permission:parameterized-by":     schema.ExtParameterized,
	"permission:parameter-treatment":  schema.ExtTreatment,
	"permission:parameter-expression": schema.ExtExpression,
	"permission:scope":                schema.ExtScope,
}

// marker is one marker of a type or a field.
type marker struct {
	position token.Position
	// extension is the vendor extension that the marker writes, and value its text in YAML.
	extension, value string
	// below is how many levels of elements the extension lies below the schema of the type or field.
	below int
	// used reports whether a definition has a place for the marker.
	used bool
}

// parse reads a marker without its prefix: a name and, after an equals sign, a value.
func parse(text string) (*marker, error) {
	name, value, valued := strings.Cut(text, "=")
	m := &marker{}
	for strings.HasPrefix(name, inElements) {
		name, m.below = strings.TrimPrefix(name, inElements), m.below+1
	}
	if m.extension = extensions[name]; m.extension == "" {
		known := slices.Sorted(maps.Keys(extensions))
		if meant := suggest.Nearest(name, known); meant != "" {
			return nil, fmt.Errorf("unknown marker; did you mean %s%s?", prefix, meant)
		}
		return nil, fmt.Errorf("unknown marker; after %q, one of %s is known", prefix, strings.Join(known, ", "))
	}
	if m.extension == schema.ExtExcluded {
		if m.value = "true"; valued {
			return nil, fmt.Errorf("%s%s takes no value; without the marker, the permission is not excluded", prefix, name)
		}
		return m, nil
	}
	var err error
	if value, err = unquoted(value); err == nil {
		err = validate(m.extension, value)
	}
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", prefix, name, err)
	}
	m.value = scalar(value)
	return m, nil
}

// unquoted returns a value without spaces around it, or without the quotation marks around it.
func unquoted(value string) (string, error) {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "`") {
		out, err := strconv.Unquote(value)
		if err != nil {
			return "", errors.New("the quotation marks around the value don't match")
		}
		value = out
	}
	if value == "" {
		return "", errors.New("the marker needs a value")
	}
	return value, nil
}

// validate returns an error for a value that no schema may have, whatever is around it.
func validate(extension, value string) error {
	switch extension {
	case schema.ExtTreatment:
		_, err := permission.ParseTreatment(value)
		return err
	case schema.ExtVerb, schema.ExtScope:
		for name := range strings.SplitSeq(value, ",") {
			if err := permission.Validate(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// commentLine is one line of a comment, without its slashes and the spaces around it.
type commentLine struct {
	text     string
	position token.Position
}

// linesOf returns the lines of a comment.
func linesOf(files *token.FileSet, group *ast.CommentGroup) (out []commentLine) {
	if group == nil {
		return nil
	}
	for _, comment := range group.List {
		position := files.Position(comment.Slash)
		text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(comment.Text, "//"), "/*"), "*/")
		for line := range strings.SplitSeq(text, "\n") {
			out = append(out, commentLine{strings.TrimSpace(line), position})
			position.Line++
		}
	}
	return out
}

// isMisspelled reports whether a line of a comment was meant as a marker, but does not begin as one.
func isMisspelled(line string) bool {
	line = strings.ToLower(strings.TrimLeft(line, "+@/* \t"))
	rest, ok := strings.CutPrefix(line, "kube-granular")
	rest = strings.TrimLeft(rest, ": \t=/")
	return ok && (strings.HasPrefix(rest, "permission:") || strings.HasPrefix(rest, "permission=") || strings.HasPrefix(rest, inElements))
}

// markersOf returns the markers of a comment.
func (t *goTypes) markersOf(group *ast.CommentGroup) (out []*marker) {
	for _, line := range linesOf(t.files, group) {
		text, ok := strings.CutPrefix(line.text, prefix)
		if !ok {
			if isMisspelled(line.text) {
				t.fault(line.position, "a marker begins with %q, without spaces", "// "+prefix)
			}
			continue
		}
		m, err := parse(text)
		if err != nil {
			t.fault(line.position, "%v", err)
			continue
		}
		m.position = line.position
		out = append(out, m)
		t.markers = append(t.markers, m)
	}
	return out
}
