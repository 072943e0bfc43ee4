// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube-granular.dev/granular/schema"
)

// fieldError converts a problem that the compiler of permission trees found to an error at the path
// of the problem in the definition.
func fieldError(version *crdVersion, problem *schema.Problem) *field.Error {
	path, s := descend(version, problem.Place)
	if problem.Extension == "" {
		return field.Invalid(path, field.OmitValueType{}, problem.Reason)
	}
	return field.Invalid(path.Child(problem.Extension), written(s, problem.Extension), problem.Reason)
}

// descend follows a path in the permission tree, and returns the schema at the end of that path and
// the path of the schema in the definition. The schema is nil if the definition has none there.
func descend(version *crdVersion, place []schema.Step) (*field.Path, *apiextensions.JSONSchemaProps) {
	path, s := version.path, version.schema
	for _, step := range place {
		switch {
		case !step.Elem:
			path = path.Child("properties").Key(step.Field)
			s = property(s, step.Field)
		case s != nil && s.Items != nil:
			path, s = path.Child("items"), s.Items.Schema
		default:
			path = path.Child("additionalProperties")
			s = values(s)
		}
	}
	return path, s
}

func property(s *apiextensions.JSONSchemaProps, name string) *apiextensions.JSONSchemaProps {
	if s == nil {
		return nil
	}
	p, ok := s.Properties[name]
	if !ok {
		return nil
	}
	return &p
}

func values(s *apiextensions.JSONSchemaProps) *apiextensions.JSONSchemaProps {
	if s == nil || s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

func items(s *apiextensions.JSONSchemaProps) *apiextensions.JSONSchemaProps {
	if s == nil || s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// extensions returns the permission extensions of a schema by name.
func extensions(s *apiextensions.JSONSchemaProps) map[string]any {
	out := map[string]any{}
	s.EachPermissionExtension(func(name string, value any) { out[name] = value })
	return out
}

func written(s *apiextensions.JSONSchemaProps, extension string) any {
	if s != nil {
		if value, ok := extensions(s)[extension]; ok {
			return value
		}
	}
	return field.OmitValueType{}
}

// visit calls f for s and for every schema nested in it: of properties, map values and list
// elements. If f returns false for a schema, visit does not call f for the schemas nested in that
// schema. It does not visit schemas below allOf, anyOf, oneOf and not, because structural schemas
// have no extensions there.
func visit(s *apiextensions.JSONSchemaProps, path *field.Path, f func(s *apiextensions.JSONSchemaProps, path *field.Path) bool) {
	if s == nil || !f(s, path) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		visit(property(s, name), path.Child("properties").Key(name), f)
	}
	visit(values(s), path.Child("additionalProperties"), f)
	visit(items(s), path.Child("items"), f)
}

// misplaced returns an error for each permission extension that the compiler does not see. These
// are the extensions in schemas that the server replaces by its own, the extensions at the root of
// the object, and parameter sources on a schema that neither has keys nor describes a key.
func misplaced(root *apiextensions.JSONSchemaProps, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	forbid := func(s *apiextensions.JSONSchemaProps, path *field.Path, why string) {
		for _, name := range slices.Sorted(maps.Keys(extensions(s))) {
			errs = append(errs, field.Forbidden(path.Child(name), why))
		}
	}
	keys := map[string]bool{} // the paths of the schemas that describe keys
	visit(root, path, func(s *apiextensions.JSONSchemaProps, path *field.Path) bool {
		if s == root && !isNone(s) {
			forbid(s, path, "the object as a whole can't have a permission, because its metadata has permissions of its own")
		}
		if s == root || s.XEmbeddedResource {
			for _, name := range replaced {
				visit(property(s, name), path.Child("properties").Key(name), func(s *apiextensions.JSONSchemaProps, path *field.Path) bool {
					forbid(s, path, fmt.Sprintf("the server replaces the schema of this %s by its own, so this extension has no effect", name))
					return true
				})
			}
		}
		if isList(s, "map") {
			for _, name := range s.XListMapKeys {
				keys[path.Child("items", "properties").Key(name).String()] = true
			}
		} else if isList(s, "set") {
			keys[path.Child("items").String()] = true
		}
		if s.XPermissionParameterSource != nil && s != root && !hasKeys(s) && !keys[path.String()] {
			errs = append(errs, field.Invalid(path.Child(schema.ExtSource), *s.XPermissionParameterSource,
				"must stand on a map, on a list of type map with one key or of type set, or on the schema of such a key"))
		}
		return true
	})
	return errs
}

// hasKeys reports whether a schema describes a container whose elements have one key each: a map, a
// list of type map with one key, or a list of type set.
func hasKeys(s *apiextensions.JSONSchemaProps) bool {
	return values(s) != nil || isList(s, "map") && len(s.XListMapKeys) == 1 || isList(s, "set")
}

func isList(s *apiextensions.JSONSchemaProps, listType string) bool {
	return s.XListType != nil && *s.XListType == listType && items(s) != nil
}

// withoutIdentity returns an error for each excluded permission on a field in an element of an
// atomic list. Such elements are identified only by their position. So a caller who is allowed to
// change all other fields of two elements could give each element the other fields of the other
// one. The effect would be the same as of exchanging the values of the excluded field.
func withoutIdentity(version *crdVersion, tree *schema.Tree) field.ErrorList {
	var errs field.ErrorList
	for place := range tree.NodePaths() {
		n := place.Node()
		for _, p := range n.Own() {
			if !p.Excluded || !inAtomic(place) || hasValue(place) {
				continue
			}
			path, _ := descend(version, place.Steps())
			errs = append(errs, field.Forbidden(path.Child(schema.ExtExcluded),
				"elements of an atomic list have no identity: exclude the whole list, give it the type map, or exclude the elements by a permission whose parameter is one of their values"))
		}
	}
	return errs
}

// hasValue reports whether a place is an element of an atomic list that is not nested in another
// atomic list, and has a permission whose parameter is a value in the element. If such a permission
// is excluded, it covers the whole element, and adding or removing an element needs the verb with
// the value in that element. So the element is identified by the value.
func hasValue(place schema.NodePath) bool {
	last := len(place) - 1
	return place[last].TakesValue() != nil && place[last-1].Kind == schema.List &&
		!slices.ContainsFunc(place[:last-1], func(n *schema.Node) bool { return n.Kind == schema.List })
}

func inAtomic(place schema.NodePath) bool {
	for _, above := range slices.Backward(place[:len(place)-1]) {
		if above.Kind == schema.List {
			return !above.ExcludedAt
		}
	}
	return false
}
