// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package testmodels

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Generator makes random objects of a schema. Each element of a list-map or set occurs once, the
// elements are in the order of their keys or values, and an element of a list-map has all its keys.
// A scalar is never the default of its schema.
type Generator struct {
	// IntN returns a number in [0, n), as in math/rand.
	IntN        func(n int) int
	Definitions map[string]*spec.Schema
}

// resolved returns a schema merged with everything that its references and allOf lead to. If
// several schemas set the same attribute, such as type, the first one wins. If several have the
// same property, the last one wins. Permissions get no special treatment.
func (g *Generator) resolved(s *spec.Schema) *spec.Schema {
	out := *s
	out.Properties = map[string]spec.Schema{}
	out.Extensions = maps.Clone(s.Extensions)
	g.merge(&out, s, 0)
	return &out
}

// merge adds to out what s, the $ref of s and the allOf of s set, if out does not set it yet. A
// property replaces the property of the same name in out.
func (g *Generator) merge(out, s *spec.Schema, depth int) {
	for name, p := range s.Properties {
		out.Properties[name] = p
	}
	if out.Items == nil {
		out.Items = s.Items
	}
	if out.AdditionalProperties == nil {
		out.AdditionalProperties = s.AdditionalProperties
	}
	if len(out.Type) == 0 {
		out.Type = s.Type
	}
	if out.Format == "" {
		out.Format = s.Format
	}
	if out.Default == nil {
		out.Default = s.Default
	}
	for k, v := range s.Extensions {
		if _, ok := out.Extensions[k]; !ok {
			out.AddExtension(k, v)
		}
	}
	if depth > 10 {
		return
	}
	if ref := s.Ref.String(); ref != "" {
		if d := g.Definitions[ref[strings.LastIndexByte(ref, '/')+1:]]; d != nil {
			g.merge(out, d, depth+1)
		}
	}
	for i := range s.AllOf {
		g.merge(out, &s.AllOf[i], depth+1)
	}
}

// Value makes a random value of a schema. depth is the number of levels of objects and lists that
// may have content. At depth 0 objects and lists are empty.
func (g *Generator) Value(s *spec.Schema, depth int) any {
	s = g.resolved(s)
	kind := ""
	if len(s.Type) > 0 {
		kind = s.Type[0]
	}
	switch {
	case kind == "array" || s.Items != nil:
		return g.list(s, depth)
	case kind == "object" || len(s.Properties) > 0 || s.AdditionalProperties != nil:
		return g.object(s, depth)
	}
	return g.scalar(s, kind)
}

func (g *Generator) scalar(s *spec.Schema, kind string) any {
	for {
		var v any
		switch kind {
		case "integer":
			v = int64(g.IntN(4) + 1)
		case "boolean":
			v = g.IntN(2) == 0
		case "number":
			v = float64(g.IntN(4)) + 0.5
		default:
			v = []string{"a", "b", "c.com/d", "c.com/e"}[g.IntN(4)]
			switch s.Format {
			case "date-time":
				v = fmt.Sprintf("2020-01-0%dT00:00:00Z", g.IntN(4)+1)
			case "byte":
				v = []string{"YQ==", "Yg==", "Yw==", "ZA=="}[g.IntN(4)]
			}
		}
		if fmt.Sprint(v) != fmt.Sprint(s.Default) {
			return v
		}
	}
}

func (g *Generator) object(s *spec.Schema, depth int) any {
	out := map[string]any{}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		p := s.Properties[name]
		if depth > 0 && g.IntN(3) > 0 {
			out[name] = g.Value(&p, depth-1)
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil && depth > 0 {
		for range g.IntN(4) {
			out[[]string{"k", "l", "m.com/x", "m.com/y"}[g.IntN(4)]] = g.Value(s.AdditionalProperties.Schema, depth-1)
		}
	}
	return out
}

func (g *Generator) list(s *spec.Schema, depth int) any {
	out := []any{}
	if depth <= 0 || s.Items == nil || s.Items.Schema == nil {
		return out
	}
	listType, _ := s.Extensions.GetString("x-kubernetes-list-type")
	keys, _ := s.Extensions.GetStringSlice("x-kubernetes-list-map-keys")
	item := g.resolved(s.Items.Schema)
	byKey := map[string]any{}
	for range g.IntN(4) {
		v := g.Value(s.Items.Schema, depth-1)
		id := fmt.Sprint(len(byKey))
		switch listType {
		case "set":
			id = fmt.Sprintf("%T %v", v, v)
		case "map":
			id = ""
			element, _ := v.(map[string]any)
			if element == nil {
				continue
			}
			for _, key := range keys {
				p := item.Properties[key]
				element[key] = g.Value(&p, 0)
				id += fmt.Sprintf("%q", fmt.Sprint(element[key]))
			}
		}
		byKey[id] = v
	}
	ids := make([]string, 0, len(byKey))
	for id := range byKey {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		out = append(out, byKey[id])
	}
	return out
}

// Change returns a random variation of v, which is a value of the schema s. It does not modify v.
// depth is the number of levels of new objects and lists that may have content.
func (g *Generator) Change(s *spec.Schema, v any, depth int) any {
	s = g.resolved(s)
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, x := range v {
			out[name] = x
		}
		fresh, _ := g.Value(s, depth).(map[string]any)
		listKeys := slices.Sorted(func(yield func(string) bool) {
			for name := range v {
				if !yield(name) {
					return
				}
			}
			for name := range fresh {
				if _, ok := v[name]; !ok && !yield(name) {
					return
				}
			}
		})
		for _, name := range listKeys {
			child, ok := s.Properties[name]
			if !ok && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
				child = *s.AdditionalProperties.Schema
			}
			switch g.IntN(6) {
			case 0:
				delete(out, name)
			case 1:
				if x, ok := fresh[name]; ok {
					out[name] = x
				}
			case 2, 3:
				if x, ok := out[name]; ok {
					out[name] = g.Change(&child, x, depth-1)
				}
			}
		}
		return out
	case []any:
		if g.IntN(2) == 0 {
			return g.Value(s, depth)
		}
		return v
	}
	return g.Value(s, depth)
}
