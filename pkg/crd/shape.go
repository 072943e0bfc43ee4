// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube-granular.dev/granular/schema"
)

// shapeDifferences returns an error for each field with an excluded permission if two versions have
// different schemas for that field. Without a conversion webhook, a stored object is read with the
// schema of the requested version: fields that the schema lacks are pruned, the defaults of the
// schema are added, and list elements are identified by the keys in the schema. This happens before
// the server compares the old and the new object. So any write through one version could drop, set
// or move a field that is excluded in the other version, and the server would not notice it.
func shapeDifferences(first, v *crdVersion) field.ErrorList {
	if first.full == v.full {
		return nil
	}
	var errs field.ErrorList
	compared := defaults{}
	for place := range first.tree.NodePaths() {
		if len(place) < 2 || !place.Node().ExcludedAt || place[len(place)-2].ExcludedAt {
			continue
		}
		if where, what := pathDifference(first.full, v.full, place.Steps(), compared, false); what != "" {
			errs = append(errs, disagreement(v, "has another %s at %s than version %s, and %s is excluded; without a conversion webhook both versions hold the same fields",
				what, place.Pattern()+where, first.name, place.Pattern()))
		}
	}
	return errs
}

// pathDifference compares two schemas along way, the path to an excluded field. Of the schemas
// above the field, it compares only how lists identify their elements, and the defaults for the
// field. The schemas of the field and below the field are compared by schemaDifference. It returns
// what differs, or "". If the difference is below the field, where is the path from the field to
// the difference. If grows is set, b may have properties below the field that a lacks, as
// schemaDifference describes.
func pathDifference(a, b *apiextensions.JSONSchemaProps, way []schema.Step, compared defaults, grows bool) (where, what string) {
	for i, step := range way {
		switch {
		case !reflect.DeepEqual(keysOf(a), keysOf(b)):
			return "", "list"
		case !compared.equal(a, b, way, i):
			return "", "default"
		}
		if a, b = stepInto(a, step), stepInto(b, step); a == nil || b == nil {
			return "", "" // the paths differ, which is reported already
		}
	}
	return schemaDifference(a, b, "", grows)
}

// defaults has the results of comparing the defaults of two schemas. Many excluded fields can be in
// one list or map, whose default is compared as a whole: without the results, once for each field.
type defaults map[string]bool

// equal reports whether the defaults of two schemas are equal for a field. way is the path to the
// field from the roots of the schemas that are compared, and a and b are the schemas after the first
// n steps.
func (d defaults) equal(a, b *apiextensions.JSONSchemaProps, way []schema.Step, n int) bool {
	if a.Default == nil && b.Default == nil {
		return true
	}
	// The place of the defaults, and the path below them as far as it leads through objects.
	path := strconv.Itoa(n)
	for i, step := range way {
		if step.Elem && i >= n {
			break
		}
		path += "/" + strconv.Quote(step.Field)
	}
	same, known := d[path]
	if !known {
		same = reflect.DeepEqual(defaultAt(a, way[n:]), defaultAt(b, way[n:]))
		d[path] = same
	}
	return same
}

// schemaDifference compares those parts of two schemas by which the server prunes, defaults or
// converts values. Validation rules are not compared. path is the path of both schemas. It returns
// the path of the first difference and what differs there, or two empty strings. If grows is set,
// properties that only b has are no difference, unless one of them has a default.
func schemaDifference(a, b *apiextensions.JSONSchemaProps, path string, grows bool) (where, what string) {
	switch {
	case a == nil || b == nil:
		if a == b {
			return "", ""
		}
		return path, "schema"
	case a.Type != b.Type || a.Nullable != b.Nullable || a.XIntOrString != b.XIntOrString || a.XEmbeddedResource != b.XEmbeddedResource:
		return path, "type"
	case preservesUnknown(a) != preservesUnknown(b):
		return path, "x-kubernetes-preserve-unknown-fields"
	case !reflect.DeepEqual(defaultAt(a, nil), defaultAt(b, nil)):
		return path, "default"
	case !reflect.DeepEqual(keysOf(a), keysOf(b)):
		return path, "list"
	case !sameProperties(a, b, grows):
		return path, "set of properties"
	case allowsAdditional(a) != allowsAdditional(b):
		return path, "additionalProperties"
	}
	for _, name := range slices.Sorted(maps.Keys(a.Properties)) {
		if where, what := schemaDifference(property(a, name), property(b, name), path+"."+name, grows); what != "" {
			return where, what
		}
	}
	if where, what := schemaDifference(values(a), values(b), path+"[*]", grows); what != "" {
		return where, what
	}
	return schemaDifference(items(a), items(b), path+"[*]", grows)
}

// sameProperties reports whether two schemas have the same properties. If grows is set, b may have
// more, if these have no default.
func sameProperties(a, b *apiextensions.JSONSchemaProps, grows bool) bool {
	for name := range a.Properties {
		if _, ok := b.Properties[name]; !ok {
			return false
		}
	}
	for name := range b.Properties {
		if _, ok := a.Properties[name]; !ok && (!grows || hasDefault(property(b, name))) {
			return false
		}
	}
	return true
}

// hasDefault reports whether a schema, or a schema nested in it, has a default.
func hasDefault(s *apiextensions.JSONSchemaProps) bool {
	found := false
	visit(s, field.NewPath(""), func(s *apiextensions.JSONSchemaProps, _ *field.Path) bool {
		found = found || s.Default != nil
		return !found
	})
	return found
}

// stepInto returns the schema that one step of a path in the permission tree leads to.
func stepInto(s *apiextensions.JSONSchemaProps, step schema.Step) *apiextensions.JSONSchemaProps {
	switch {
	case !step.Elem:
		return property(s, step.Field)
	case items(s) != nil:
		return items(s)
	}
	return values(s)
}

// keysOf returns how a list identifies its elements: the type of the list, and the keys of a list
// of type map, with their defaults. It returns nil if the schema does not describe a list.
func keysOf(s *apiextensions.JSONSchemaProps) []any {
	if items(s) == nil {
		return nil
	}
	listType := "atomic"
	if s.XListType != nil {
		listType = *s.XListType
	}
	out := []any{listType}
	if listType == "map" {
		for _, name := range s.XListMapKeys {
			key := property(items(s), name)
			out = append(out, name, key != nil && key.XIntOrString, defaultAt(key, nil))
		}
	}
	return out
}

// defaultAt returns the value that the default of the schema s has at a path below s, as the only
// element of a slice. It returns nil if s has no default, or the default has no value at that path.
// So the default null differs from no default. If the path leads into a list or map, it returns the
// value of the whole list or map.
func defaultAt(s *apiextensions.JSONSchemaProps, way []schema.Step) []any {
	if s == nil || s.Default == nil {
		return nil
	}
	value := any(*s.Default)
	for _, step := range way {
		object, ok := value.(map[string]any)
		if step.Elem || !ok {
			break
		}
		if value, ok = object[step.Field]; !ok {
			return nil
		}
	}
	return []any{value}
}

func preservesUnknown(s *apiextensions.JSONSchemaProps) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

func allowsAdditional(s *apiextensions.JSONSchemaProps) bool {
	return s.AdditionalProperties != nil && s.AdditionalProperties.Allows
}
