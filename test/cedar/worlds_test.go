// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package cedar

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// random makes schemas, objects and roles.
type random struct {
	*rand.Rand
	nodes int
	// same gives all permissions of a sort one name, and two keys that follow each other.
	same bool
}

// source returns the name of the key with a number.
func (r *random) source(key int) string {
	if r.same {
		key /= 2
	}
	return fmt.Sprintf("key%d", key)
}

func (r *random) chance(n int) bool { return r.IntN(n) == 0 }

func one[T any](r *random, from ...T) T { return from[r.IntN(len(from))] }

// schema returns a random schema. keys is the number of keyed maps and lists around it, and size the number
// of nodes that may be inside. inField is set for fields of an object.
func (r *random) schema(size, keys int, inField bool, kinds ...string) *spec.Schema {
	s := &spec.Schema{}
	if r.nodes++; size <= 0 {
		kinds = []string{"scalar"}
	}
	name := fmt.Sprint(r.nodes)
	if r.same {
		name = "0"
	}
	kind := one(r, kinds...)
	value := kind == "scalar"
	switch kind {
	case "scalar":
		s.Type = spec.StringOrArray{"string"}
	case "object":
		s.Type, s.Properties = spec.StringOrArray{"object"}, map[string]spec.Schema{}
		for i := range 1 + r.IntN(3) {
			f := r.schema(size/2-i, keys, true, all...)
			s.Properties[string(rune('a'+i))] = *f
			value = value || i == 0 && f.Type[0] == "string"
		}
	case "map":
		s.Type = spec.StringOrArray{"object"}
		s.AddExtension("x-kubernetes-permission-parameter-source", r.source(keys))
		s.AdditionalProperties = &spec.SchemaOrBool{Schema: r.schema(size-1, keys+1, false, all...)}
	case "map list":
		s.Type = spec.StringOrArray{"array"}
		s.AddExtension("x-kubernetes-list-type", "map")
		s.AddExtension("x-kubernetes-list-map-keys", []any{"k"})
		s.AddExtension("x-kubernetes-permission-parameter-source", r.source(keys))
		elem := r.schema(max(size-1, 1), keys+1, false, "object")
		elem.Properties["k"] = spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}}
		s.Items = &spec.SchemaOrArray{Schema: elem}
		if r.chance(2) {
			s.AddExtension("x-kubernetes-permission-element", "e"+name)
		}
	case "set":
		s.Type = spec.StringOrArray{"array"}
		s.AddExtension("x-kubernetes-list-type", "set")
		s.AddExtension("x-kubernetes-permission-parameter-source", r.source(keys))
		s.Items = &spec.SchemaOrArray{Schema: r.schema(0, keys+1, false)}
	case "list":
		s.Type = spec.StringOrArray{"array"}
		s.Items = &spec.SchemaOrArray{Schema: r.schema(size-1, keys, false, "scalar", "object", "map")}
	}
	r.mark(s, name, keys, value, inField)
	return s
}

var all = []string{"scalar", "object", "object", "map", "map list", "set", "list"}

// mark adds permissions to a node.
func (r *random) mark(s *spec.Schema, name string, keys int, value, inField bool) {
	scalar, scope := s.Type[0] == "string", s.Type[0] != "string" && r.chance(3)
	if scope {
		s.AddExtension("x-kubernetes-permission-scope", "s"+name)
	}
	if scalar && inField && r.chance(4) {
		s.Default = "v"
	}
	if r.chance(3) {
		return
	}
	verb := "p" + name
	if r.chance(3) {
		verb = "x" + name
		s.AddExtension("x-kubernetes-permission-excluded", true)
	}
	switch {
	case value && r.chance(2):
		source := "self"
		if !scalar {
			source = "self.a"
		}
		s.AddExtension("x-kubernetes-permission-parameterized-by", source)
		if verb[0] == 'x' {
			verb = "xv" + name
		} else {
			verb = "v" + name
		}
		if r.chance(2) {
			verb = "g" + verb + "," + verb
		}
		if r.chance(3) {
			s.AddExtension("x-kubernetes-permission-parameter-treatment", "image-repository-prefix")
		}
	case keys > 0 && r.chance(2):
		verb = "k" + verb
		s.AddExtension("x-kubernetes-permission-parameterized-by", r.source(r.IntN(keys)))
		if r.chance(2) {
			s.AddExtension("x-kubernetes-permission-parameter-treatment", "slash-delimited-prefix")
		}
	}
	s.AddExtension("x-kubernetes-permission-verb", verb)
}

var (
	texts = []string{"v", "w", "r.io/a/b:1", "r.io/a/c:1", "r.io/a/b:2", "a(b) %"}
	keys  = []string{"d/a", "d", "d/b", "/d", "é(1)/x"}
)

// value returns a random value of a schema, and absent in one of so many cases.
func (r *random) value(s *spec.Schema, missing int) any {
	if r.chance(missing) {
		return one[any](r, absent{}, absent{}, nil)
	}
	switch {
	case s.Type[0] == "string":
		return texts[r.IntN(2+r.IntN(len(texts)-1))]
	case s.Properties != nil:
		out := map[string]any{}
		for _, name := range []string{"a", "b", "c"} {
			if f, ok := s.Properties[name]; ok {
				set(out, name, r.value(&f, 4))
			}
		}
		if r.chance(10) {
			out["unknown"] = one(r, "v", "w")
		}
		return out
	case s.AdditionalProperties != nil:
		out := map[string]any{}
		for range r.IntN(4) {
			set(out, one(r, keys...), r.value(s.AdditionalProperties.Schema, 8))
		}
		return out
	}
	return r.list(s)
}

func set(o map[string]any, name string, v any) {
	if v != any(absent{}) {
		o[name] = v
	}
}

// list returns a random list. Elements of lists of all sorts but atomic ones differ in their key.
func (r *random) list(s *spec.Schema) any {
	out := []any{}
	sort := s.Extensions["x-kubernetes-list-type"]
	order := r.Perm(len(keys))
	for i := range r.IntN(4) {
		key := keys[order[i]]
		var v any = key
		if sort != "set" {
			v = r.value(s.Items.Schema, 1<<30)
		}
		if sort == "map" {
			v.(map[string]any)["k"] = key
		}
		out = append(out, v)
	}
	return out
}

// changed returns a value that differs from another one in few places.
func (r *random) changed(s *spec.Schema, v any) any {
	if v == any(absent{}) || v == nil || r.chance(6) {
		return r.value(s, 3)
	}
	switch old := v.(type) {
	case map[string]any:
		if s.Properties == nil && s.AdditionalProperties == nil {
			return r.value(s, 3)
		}
		out := map[string]any{}
		for k, x := range old {
			out[k] = x
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if f := s.Properties[name]; name != "k" && r.chance(2) {
				delete(out, name)
				set(out, name, r.changed(&f, at(v, name)))
			}
		}
		if s.AdditionalProperties != nil {
			name := one(r, keys...)
			delete(out, name)
			set(out, name, r.changed(s.AdditionalProperties.Schema, at(v, name)))
		}
		return out
	case []any:
		out := append([]any{}, old...)
		for i := range out {
			if s.Extensions["x-kubernetes-list-type"] != "set" && r.chance(2) {
				k := at(out[i], "k")
				if out[i] = r.changed(s.Items.Schema, out[i]); out[i] == any(absent{}) || out[i] == nil {
					out[i] = r.value(s.Items.Schema, 1<<30)
				}
				if m, ok := out[i].(map[string]any); ok {
					set(m, "k", k)
				}
			}
		}
		switch n := len(out); {
		case n > 0 && r.chance(3):
			return out[:n-1]
		case n > 1 && r.chance(2):
			r.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		return out
	}
	return r.value(s, 3)
}

// other returns a verb that looks as if it were for a field: with another parameter, or one of an element
// that the field does not have.
func (r *random) other(f *field, path []*permission) string {
	p := one(r, path...)
	verb := "granular:" + p.name
	parameters := []string{"d", "r.io", "v"}
	elements := slices.DeleteFunc(slices.Clone(path), func(p *permission) bool { return !p.element })
	if len(elements) > 0 && r.chance(2) {
		verb = "granular:" + capital(one(r, elements...).name, one(r, path...).verb)
		parameters = nil
	}
	if len(parameters)+len(f.keys) == 0 || r.chance(4) {
		return verb
	}
	for _, key := range f.keys {
		parameters = append(parameters, key...)
	}
	return verb + "(" + spelled(one(r, parameters...)) + ")"
}

// role returns a caller who mostly holds what some differences need.
func (r *random) role(fields []*field) caller {
	c := caller{ordinary: r.chance(6)}
	for _, f := range fields {
		var path []*permission
		for p := f.last; p != nil; p = p.above {
			path = append(path, p)
		}
		if len(path) == 0 {
			continue
		}
		if r.chance(3) {
			c.verbs = append(c.verbs, r.other(f, path))
			continue
		}
		verbs := path[min(r.IntN(len(path)), r.IntN(len(path)))].verbsFor(f)
		if len(verbs) > 1 && r.chance(6) {
			verbs = verbs[1:]
		}
		c.verbs = append(c.verbs, verbs...)
		if r.chance(2) {
			c.verbs = append(c.verbs, r.other(f, path))
		}
	}
	return c
}
