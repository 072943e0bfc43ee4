// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// author makes random schemas in which random fields carry permissions.
type author struct {
	r       *rand.Rand
	written int
}

func (a *author) mark(s *spec.Schema, source string) {
	if a.r.IntN(2) == 0 {
		return
	}
	a.written++
	s.AddExtension(schema.ExtVerb, fmt.Sprintf("p%d", a.written))
	if a.r.IntN(4) == 0 {
		s.AddExtension(schema.ExtExcluded, true)
	}
	if source != "" && a.r.IntN(2) == 0 {
		s.AddExtension(schema.ExtParameterized, source)
		if a.r.IntN(2) == 0 {
			s.AddExtension(schema.ExtTreatment, "slash-delimited-prefix")
		}
	}
}

func (a *author) schema(depth int, source string) spec.Schema {
	s := spec.Schema{}
	kind := a.r.IntN(6)
	if depth == 0 {
		kind = 5
	}
	inner := source
	if kind < 3 && a.r.IntN(2) == 0 {
		inner = fmt.Sprintf("key%d", a.r.IntN(3))
		s.AddExtension(schema.ExtSource, inner)
	}
	switch kind {
	case 0:
		s.Type = spec.StringOrArray{"object"}
		elem := a.schema(depth-1, inner)
		s.AdditionalProperties = &spec.SchemaOrBool{Schema: &elem}
	case 1:
		s.Type = spec.StringOrArray{"array"}
		s.AddExtension("x-kubernetes-list-type", "map")
		s.AddExtension("x-kubernetes-list-map-keys", []any{"key"})
		elem := a.object(depth-1, inner)
		elem.Properties["key"] = spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}}
		s.Items = &spec.SchemaOrArray{Schema: &elem}
	case 2:
		s.Type = spec.StringOrArray{"array"}
		s.AddExtension("x-kubernetes-list-type", "set")
		elem := a.schema(0, inner)
		s.Items = &spec.SchemaOrArray{Schema: &elem}
	case 3, 4:
		s = a.object(depth, source)
		return s
	default:
		s.Type = spec.StringOrArray{[]string{"string", "integer", "boolean"}[a.r.IntN(3)]}
	}
	a.mark(&s, source)
	return s
}

func (a *author) object(depth int, source string) spec.Schema {
	s := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{}}}
	for i := range a.r.IntN(3) + 1 {
		s.Properties[string(rune('a'+i))] = a.schema(max(depth-1, 0), source)
	}
	a.mark(&s, source)
	return s
}

func agreeOnSchema(t *testing.T, seed uint64) (permissions, changed int) {
	t.Helper()
	a := &author{r: rand.New(rand.NewPCG(seed, 7))}
	root := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{
		"apiVersion": {SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}},
		"kind":       {SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}},
		"metadata": {SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{
			"name": {SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}}}}},
		"spec":   a.object(5, ""),
		"status": a.object(4, ""),
		"other":  a.schema(3, ""),
	}}}
	definitions := map[string]*spec.Schema{"root": &root}
	tree, err := schema.Compile(definitions, "root")
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	w, o := NewWalker(tree), newOracle(t, definitions, tree)
	for i := range uint64(5) {
		changed += agree(t, w, o, definitions, seed*5+i)
	}
	return len(tree.Permissions()), changed
}

func TestWalkAgreesOnRandomSchemas(t *testing.T) {
	permissions, changed := 0, 0
	for seed := range uint64(300) {
		p, c := agreeOnSchema(t, seed)
		permissions, changed = permissions+p, changed+c
	}
	if permissions < 1000 || changed < 1000 {
		t.Errorf("%d permissions, %d changes: that is no test", permissions, changed)
	}
}

func FuzzSchemas(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { agreeOnSchema(t, seed) })
}
