// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// randomSchema returns a random structural schema, with all kinds of lists, atomic maps, and
// fields that allow any value.
func randomSchema(r *rand.Rand, depth int) spec.Schema {
	s := spec.Schema{VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{}}}
	s.Nullable = r.IntN(6) == 0
	n := r.IntN(10)
	if depth <= 0 {
		n = r.IntN(5)
	}
	switch n {
	case 0, 1:
		s.Type = spec.StringOrArray{"string"}
	case 2:
		s.Type = spec.StringOrArray{"integer"}
	case 3:
		s.Type = spec.StringOrArray{[]string{"number", "boolean"}[r.IntN(2)]}
	case 4:
		s.Extensions["x-kubernetes-int-or-string"] = true
	case 5:
		s.Type = spec.StringOrArray{"object"}
		elem := randomSchema(r, depth-1)
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: &elem}
	case 6:
		randomList(r, &s, depth)
	case 7:
		s.Type = spec.StringOrArray{"object"}
		s.Extensions["x-kubernetes-preserve-unknown-fields"] = true
	default:
		s.Type = spec.StringOrArray{"object"}
		s.Properties = map[string]spec.Schema{}
		for i := range 1 + r.IntN(4) {
			s.Properties[fmt.Sprintf("f%d", i)] = randomSchema(r, depth-1)
		}
		if r.IntN(5) == 0 {
			s.Extensions["x-kubernetes-map-type"] = "atomic"
		}
	}
	return s
}

func randomList(r *rand.Rand, s *spec.Schema, depth int) {
	s.Type = spec.StringOrArray{"array"}
	elem := randomSchema(r, depth-1)
	switch r.IntN(4) {
	case 0:
		s.Extensions["x-kubernetes-list-type"] = "set"
		elem = spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{[]string{"string", "integer"}[r.IntN(2)]}}}
	case 1, 2:
		s.Extensions["x-kubernetes-list-type"] = "map"
		s.Extensions["x-kubernetes-list-map-keys"] = []any{"k", "l"}[:1+r.IntN(2)]
		elem = spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{
			"k": {SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}},
			"l": {SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"integer"}, Default: []any{nil, float64(1)}[r.IntN(2)]}},
			"v": randomSchema(r, depth-1),
		}}}
	}
	s.Items = &spec.SchemaOrArray{Schema: &elem}
}

// randomValue returns a random value of a schema, which is sometimes not valid.
func randomValue(r *rand.Rand, s *spec.Schema, depth int) any {
	switch {
	case s == nil:
		return anything(r, 1)
	case r.IntN(300) == 0:
		return []any{nil, "odd", int64(7), 1.5, true, math.NaN(), []any{nil}, map[string]any{"x": nil},
			map[string]any(nil), []any(nil)}[r.IntN(10)]
	case s.Nullable && r.IntN(4) == 0:
		return nil
	case s.Extensions["x-kubernetes-int-or-string"] == true:
		return []any{"1", int64(1), "50%"}[r.IntN(3)]
	case s.Extensions["x-kubernetes-preserve-unknown-fields"] == true:
		return anything(r, 3)
	case len(s.Type) == 0:
		return anything(r, 2)
	}
	switch s.Type[0] {
	case "string":
		return words[r.IntN(len(words))]
	case "integer":
		return int64(r.IntN(3))
	case "number":
		return []any{int64(1), 1.0, 0.5, math.Copysign(0, -1), 0.0}[r.IntN(5)]
	case "boolean":
		return r.IntN(2) == 0
	case "array":
		out := make([]any, 0, 3)
		for range r.IntN(4) {
			out = append(out, randomValue(r, s.Items.Schema, depth+1))
		}
		return out
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if p := s.Properties[name]; r.IntN(3) > 0 {
			out[name] = randomValue(r, &p, depth+1)
		}
	}
	if s.AdditionalProperties != nil {
		for range r.IntN(4) {
			out[words[r.IntN(len(words))]] = randomValue(r, s.AdditionalProperties.Schema, depth+1)
		}
	}
	return out
}

func anything(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n < 2 && depth > 0:
		out := map[string]any{}
		for range r.IntN(4) {
			out[words[r.IntN(len(words))]] = anything(r, depth-1)
		}
		return out
	case n == 2 && depth > 0:
		out := []any{}
		for range r.IntN(3) {
			out = append(out, anything(r, depth-1))
		}
		return out
	}
	return []any{nil, "a", int64(1), 1.5, true, map[string]any{}, []any{}}[r.IntN(7)]
}

// mutatePlain returns a copy of a value with random changes. The smaller chance is, the more
// changes it makes.
func mutatePlain(r *rand.Rand, v any, s *spec.Schema, chance int) any {
	if r.IntN(chance) == 0 {
		if r.IntN(2) == 0 && s != nil {
			return randomValue(r, s, 0)
		}
		return anything(r, 1)
	}
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		out := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			x := v[k]
			below := (*spec.Schema)(nil)
			if s != nil {
				if p, ok := s.Properties[k]; ok {
					below = &p
				} else if s.AdditionalProperties != nil {
					below = s.AdditionalProperties.Schema
				}
			}
			if r.IntN(chance) > 0 {
				out[k] = mutatePlain(r, x, below, chance)
			}
		}
		return out
	case []any:
		if v == nil {
			return v
		}
		out := make([]any, 0, len(v))
		below := (*spec.Schema)(nil)
		if s != nil && s.Items != nil {
			below = s.Items.Schema
		}
		for _, x := range v {
			out = append(out, mutatePlain(r, x, below, chance))
		}
		if len(out) > 1 && r.IntN(chance) < 2 {
			r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		if len(out) > 0 && r.IntN(chance) == 0 {
			out = append(out, out[0])
		}
		return out
	}
	return v
}
