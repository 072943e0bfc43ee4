// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package markers

import (
	"errors"
	"fmt"
	"go/ast"
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

// generated is how Go tells files that are written by a program.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// Readable reports whether a file of a package can declare what markers stand on.
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

// Roots holds that every field at the root of every kind of a package has a permission or
// is exempt. A kind is a struct that embeds TypeMeta and ObjectMeta, whatever package those
// are of; a field has a permission if a verb or a scope stands on it or on its type. It fails with every
// field that has neither a permission nor an exemption, or has both, and with every exemption
// of what is no such field.
func Roots(files map[string][]byte, exempt map[string]map[string]string) error {
	types := map[string]*declaration{}
	for _, path := range sorted(files) {
		s, err := parse(path, files[path])
		if err != nil {
			return err
		}
		for name, d := range s.types {
			types[name] = d
		}
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
					continue // the apiserver's own, and covered where it is declared
				}
				_, listed := exempt[typ][name]
				used[[2]string{typ, name}] = listed
				switch covered := grants(f.Doc) || ofMarkedType(f.Type, types); {
				case covered && listed:
					wrong = append(wrong, fmt.Errorf("field %s.%s has a marker, and is exempt", typ, name))
				case !covered && !listed:
					wrong = append(wrong, fmt.Errorf("field %s.%s stands at the root of a kind and no permission covers it: give it a marker, or exempt it with a reason", typ, name))
				}
			}
		}
	}
	for _, typ := range sorted(exempt) {
		for _, name := range sorted(exempt[typ]) {
			if !used[[2]string{typ, name}] {
				wrong = append(wrong, fmt.Errorf("field %s.%s is exempt, and is no field at the root of a kind", typ, name))
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

// ofMarkedType reports whether a type, or what it points to, is declared here with a permission.
func ofMarkedType(e ast.Expr, types map[string]*declaration) bool {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	name, ok := e.(*ast.Ident)
	if !ok || types[name.Name] == nil {
		return false
	}
	return grants(types[name.Name].doc...)
}

// grants reports whether comments hold a marker that is a permission.
func grants(groups ...*ast.CommentGroup) bool {
	for _, g := range groups {
		if g != nil && slices.ContainsFunc(g.List, func(c *ast.Comment) bool {
			return sameMarker(c.Text, prefix+"verb") || sameMarker(c.Text, prefix+"scope")
		}) {
			return true
		}
	}
	return false
}
