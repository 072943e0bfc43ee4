// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"encoding/json"
	"reflect"
	"strings"

	"kube-granular.dev/granular/rule"
)

// goType returns a Go type for the values of a node, as the types of built-in kinds are made: a field that
// may be absent is a pointer, a map or a slice.
func goType(n *Node, isField bool) reflect.Type {
	var out reflect.Type
	switch n.Kind {
	case rule.Scalar:
		out = reflect.TypeFor[string]()
	case rule.Object:
		fields := []reflect.StructField{goField("k", reflect.TypeFor[string]()), goField("unknown", reflect.TypeFor[*string]())}
		for _, kid := range n.Kids {
			fields = append(fields, goField(kid.Name, goType(kid, true)))
		}
		out = reflect.StructOf(fields)
	case rule.Map:
		return reflect.MapOf(reflect.TypeFor[string](), goType(n.Kids[0], false))
	default:
		return reflect.SliceOf(goType(n.Kids[0], false))
	}
	if isField {
		return reflect.PointerTo(out)
	}
	return out
}

func goField(name string, t reflect.Type) reflect.StructField {
	tag := reflect.StructTag(`json:"` + name + `,omitempty"`)
	return reflect.StructField{Name: strings.ToUpper(name[:1]) + name[1:], Type: t, Tag: tag}
}

// typed returns an object as a Go type. It returns false if the type can't represent the object: it does not
// tell null, empty and absent lists apart, and has one shape.
func (k *kind) typed(object any) (any, bool) {
	if !representable(object) {
		return nil, false
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, false
	}
	out := reflect.New(k.goType)
	if json.Unmarshal(data, out.Interface()) != nil {
		return nil, false
	}
	again, err := json.Marshal(out.Interface())
	var plain any
	if err != nil || json.Unmarshal(again, &plain) != nil || !reflect.DeepEqual(plain, object) {
		return nil, false
	}
	return out.Interface(), true
}

// representable reports whether a value has no null, no empty list and no empty map inside.
func representable(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case map[string]any:
		for _, inside := range v {
			if m, ok := inside.(map[string]any); ok && len(m) == 0 || !representable(inside) {
				return false
			}
		}
	case []any:
		for _, inside := range v {
			if !representable(inside) {
				return false
			}
		}
		return len(v) > 0
	}
	return true
}
