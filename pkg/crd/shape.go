// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube-granular.dev/granular/schema"
)

// shapeDifferences returns an error for each field with an excluded permission whose schemas in
// two versions read a stored value differently. Without a conversion webhook, an object is read
// with the schema of the requested version before a change can be compared: fields that the
// schema lacks are pruned, its defaults are added, and elements are identified by its keys. So
// any write through one version could drop, set or move a field that the other version excludes.
func shapeDifferences(first, v *crdVersion) field.ErrorList {
	if first.full == v.full {
		return nil
	}
	var errs field.ErrorList
	for place := range first.tree.NodePaths() {
		if len(place) < 2 || !place.Node().ExcludedAt || place[len(place)-2].ExcludedAt {
			continue
		}
		if where, what := pathDifference(first.full, v.full, stepsTo(place)); what != "" {
			errs = append(errs, disagreement(v, "has another %s at %s than version %s, and %s is excluded; without a conversion webhook both versions hold the same fields",
				what, place.Pattern()+where, first.name, place.Pattern()))
		}
	}
	return errs
}

// pathDifference compares two schemas along the path to an excluded field. Above the field it
// compares only what determines the field's place: lists and defaults. It compares the schemas of
// the field and of everything below it completely. It returns what differs and, if that is below
// the field, where.
func pathDifference(a, b *apiextensions.JSONSchemaProps, way []schema.Step) (where, what string) {
	for i, step := range way {
		switch {
		case !reflect.DeepEqual(keysOf(a), keysOf(b)):
			return "", "list"
		case !reflect.DeepEqual(defaultAt(a, way[i:]), defaultAt(b, way[i:])):
			return "", "default"
		}
		if a, b = stepInto(a, step), stepInto(b, step); a == nil || b == nil {
			return "", "" // the paths differ, which is reported already
		}
	}
	return schemaDifference(a, b, "")
}

// schemaDifference compares the parts of two schemas that prune, default or convert values.
// Validation rules may differ.
func schemaDifference(a, b *apiextensions.JSONSchemaProps, at string) (where, what string) {
	switch {
	case a == nil || b == nil:
		if a == b {
			return "", ""
		}
		return at, "schema"
	case a.Type != b.Type || a.Nullable != b.Nullable || a.XIntOrString != b.XIntOrString || a.XEmbeddedResource != b.XEmbeddedResource:
		return at, "type"
	case preservesUnknown(a) != preservesUnknown(b):
		return at, "x-kubernetes-preserve-unknown-fields"
	case !reflect.DeepEqual(defaultAt(a, nil), defaultAt(b, nil)):
		return at, "default"
	case !reflect.DeepEqual(keysOf(a), keysOf(b)):
		return at, "list"
	case !slices.Equal(slices.Sorted(maps.Keys(a.Properties)), slices.Sorted(maps.Keys(b.Properties))):
		return at, "set of properties"
	case allowsAdditional(a) != allowsAdditional(b):
		return at, "additionalProperties"
	}
	for _, name := range slices.Sorted(maps.Keys(a.Properties)) {
		if where, what := schemaDifference(property(a, name), property(b, name), at+"."+name); what != "" {
			return where, what
		}
	}
	if where, what := schemaDifference(values(a), values(b), at+"[*]"); what != "" {
		return where, what
	}
	return schemaDifference(items(a), items(b), at+"[*]")
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

// keysOf returns how a schema identifies the elements of a list or map.
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

// defaultAt returns the default that a schema sets at a path below it. If the path leads into a
// list or map, it returns the default of that list or map. The default null is not the same as no
// default.
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
