// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package markers

import (
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Dir returns the folder of a package, relative to the root of Kubernetes.
func Dir(pkg string) string {
	if inside, ok := strings.CutPrefix(pkg, "k8s.io/kubernetes/"); ok {
		return inside
	}
	return "staging/src/" + pkg
}

// generated matches the comment that Go requires in generated files.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// Readable reports whether a file of a package can declare types with markers.
func Readable(path string, text []byte) bool {
	return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !generated.Match(text[:min(len(text), 4096)])
}

// Declared returns the names of the types that a source declares.
func Declared(path string, text []byte) ([]string, error) {
	s, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	return sorted(s.types), nil
}

// Roots checks that every field at the root of every kind of a package has a permission or
// is exempt. A kind is a struct that embeds TypeMeta and ObjectMeta, from any package. A field
// has a permission if the field or its type has a marker with a verb or a scope. The error
// lists every field that has neither a permission nor an exemption, every field that has both,
// and every exemption for something that is not such a field.
func Roots(files map[string][]byte, exempt map[string]map[string]string) error {
	types := map[string]*declaration{}
	for _, path := range sorted(files) {
		s, err := parse(path, files[path])
		if err != nil {
			return err
		}
		maps.Copy(types, s.types)
	}
	var wrong []error
	used := map[[2]string]bool{}
	for _, typ := range sorted(types) {
		structure := types[typ].structure()
		if structure == nil || !isKind(structure) {
			continue
		}
		for _, f := range structure.Fields.List {
			for _, name := range names(f) {
				if len(f.Names) == 0 && (name == "TypeMeta" || name == "ObjectMeta") {
					continue // the permissions are in the declaration of TypeMeta or ObjectMeta
				}
				_, listed := exempt[typ][name]
				used[[2]string{typ, name}] = listed
				switch covered := granted(f.Doc) || grantedType(f.Type, types); {
				case covered && listed:
					wrong = append(wrong, fmt.Errorf("field %s.%s has a marker, but is also exempt from having one", typ, name))
				case !covered && !listed:
					wrong = append(wrong, fmt.Errorf("field %s.%s is at the root of a kind, and no permission covers it: add a marker, or an exemption with a reason", typ, name))
				}
			}
		}
	}
	for _, typ := range sorted(exempt) {
		for _, name := range sorted(exempt[typ]) {
			if !used[[2]string{typ, name}] {
				wrong = append(wrong, fmt.Errorf("field %s.%s is exempt from having a marker, but it is not a field at the root of a kind, so it needs no exemption", typ, name))
			}
		}
	}
	return errors.Join(wrong...)
}

func isKind(s *ast.StructType) bool {
	var all []string
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 {
			all = append(all, embedded(f.Type))
		}
	}
	return slices.Contains(all, "TypeMeta") && slices.Contains(all, "ObjectMeta")
}

// granted reports whether a comment has a marker of a permission: a verb or a scope.
func granted(doc *ast.CommentGroup) bool { return marked(doc, prefix+"verb", prefix+"scope") }

// grantedType reports whether a type, or the type that it points to, is declared in this package with a permission.
func grantedType(e ast.Expr, types map[string]*declaration) bool {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	name, ok := e.(*ast.Ident)
	return ok && types[name.Name] != nil && granted(types[name.Name].doc)
}
