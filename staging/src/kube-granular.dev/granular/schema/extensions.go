// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// The vendor extensions of KEP-3617, "Permission Description System".
const (
	extPrefix         = "x-kubernetes-permission-"
	ExtVerb           = extPrefix + "verb"
	ExtExcluded       = extPrefix + "excluded"
	ExtSource         = extPrefix + "parameter-source"
	ExtParameterized  = extPrefix + "parameterized-by"
	ExtTreatment      = extPrefix + "parameter-treatment"
	ExtExpression     = extPrefix + "parameter-expression"
	ExtScope          = extPrefix + "scope"
	ExtElement        = extPrefix + "element"
	extListType       = "x-kubernetes-list-type"
	extListMapKeys    = "x-kubernetes-list-map-keys"
	extKinds          = "x-kubernetes-group-version-kind"
	objectMetaDefault = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
)

// marked reports whether a schema itself has a permission extension. Unknown extensions with the
// prefix of permission extensions count too, so that the compiler refuses and does not ignore
// them.
func marked(s *spec.Schema) bool {
	for k := range s.Extensions {
		if IsPermissionExtension(k) {
			return true
		}
	}
	return false
}

// IsPermissionExtension reports whether a vendor extension describes a permission, known or unknown.
func IsPermissionExtension(key string) bool { return strings.HasPrefix(key, extPrefix) }

// layers are the schemas that apply together to one field: the field's own schema first, then
// those it refers to. If several of them have the same extension, the value in the first one
// applies.
type layers []*spec.Schema

func (l layers) extension(key string) extensionValue {
	for _, s := range l {
		if v, ok := s.Extensions[key]; ok {
			return extensionValue{value: v, set: true}
		}
	}
	return extensionValue{}
}

func (l layers) text(key string) (string, error) { return l.extension(key).text(key) }

// extensionValue is the value of an extension. set tells an extension whose value is nil from an
// extension that the schema does not have.
type extensionValue struct {
	value any
	set   bool
}

func (w extensionValue) text(key string) (string, error) {
	if !w.set {
		return "", nil
	}
	s, ok := w.value.(string)
	if !ok {
		return "", faultf(key, "must be a string")
	}
	if s == "" {
		return "", faultf(key, "must not be empty")
	}
	return s, nil
}

// flag returns the boolean value of an extension. An extension that comes from a marker without a
// value in Go source has the value "", which means true.
func (w extensionValue) flag(key string) (bool, error) {
	if !w.set {
		return false, nil
	}
	switch w.value {
	case true, "true", "":
		return true, nil
	case false, "false":
		return false, nil
	}
	return false, faultf(key, "must be true or false")
}

// marks are the permission extensions of a field.
type marks struct {
	any                                                                          bool
	verb, excluded, source, parameterized, treatment, expression, scope, element extensionValue
	entries                                                                      []Entry
}

// marks collects the permission extensions. An unknown one is an error.
func (l layers) marks() (m marks, err error) {
	for _, s := range l {
		for key, value := range s.Extensions {
			if !strings.HasPrefix(key, extPrefix) {
				continue
			}
			m.any = true
			if entries, ok := value.([]Entry); ok && key == extEntries {
				m.entries = append(m.entries, entries...)
				continue
			}
			w := m.of(key)
			if w == nil {
				return m, faultf(key, "unknown extension")
			}
			if !w.set {
				*w = extensionValue{value: value, set: true}
			}
		}
	}
	return m, nil
}

func (m *marks) of(key string) *extensionValue {
	switch key {
	case ExtVerb:
		return &m.verb
	case ExtExcluded:
		return &m.excluded
	case ExtSource:
		return &m.source
	case ExtParameterized:
		return &m.parameterized
	case ExtTreatment:
		return &m.treatment
	case ExtExpression:
		return &m.expression
	case ExtScope:
		return &m.scope
	case ExtElement:
		return &m.element
	}
	return nil
}

func (l layers) listMapKeys() ([]string, error) {
	var keys []string
	switch v := l.extension(extListMapKeys).value.(type) {
	case []string:
		keys = v
	case []any:
		for _, k := range v {
			s, ok := k.(string)
			if !ok {
				return nil, faultf(extListMapKeys, "must be strings")
			}
			keys = append(keys, s)
		}
	}
	if len(keys) == 0 {
		return nil, faultf("", "a list of type map needs %s", extListMapKeys)
	}
	return keys, nil
}

// property returns the schemas of a field, one from each layer that has the field.
func (l layers) property(name string) layers {
	var out layers
	for _, s := range l {
		if p, ok := s.Properties[name]; ok {
			out = append(out, &p)
		}
	}
	return out
}

// refers reports whether a schema has references or an allOf to follow.
func refers(s *spec.Schema) bool { return refName(s) != "" || len(s.AllOf) > 0 }

// named reports whether any layer has properties.
func (l layers) named() bool {
	for _, s := range l {
		if len(s.Properties) > 0 {
			return true
		}
	}
	return false
}

func (l layers) additional() layers {
	var out layers
	for _, s := range l {
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			out = append(out, s.AdditionalProperties.Schema)
		}
	}
	return out
}

func (l layers) items() layers {
	var out layers
	for _, s := range l {
		if s.Items != nil && s.Items.Schema != nil {
			out = append(out, s.Items.Schema)
		}
	}
	return out
}

// scalar reports whether the type of the schemas is string, integer, number or boolean. Only the
// first type of the first schema that has a type counts. It returns false if no schema has a type.
func (l layers) scalar() bool {
	for _, s := range l {
		for _, t := range s.Type {
			switch t {
			case "string", "integer", "number", "boolean":
				return true
			}
			return false
		}
	}
	return false
}

func (l layers) fallback() (any, bool) {
	for _, s := range l {
		if s.Default != nil {
			return s.Default, true
		}
	}
	return nil, false
}
