// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/utils/ptr"

	"kube-granular.dev/granular/schema"
)

// random returns a random schema with some valid and some invalid extensions.
func random(r *rand.Rand, depth int) apiextensions.JSONSchemaProps {
	s := apiextensions.JSONSchemaProps{Type: "string"}
	if depth > 0 {
		switch r.IntN(5) {
		case 0, 1:
			s.Type, s.Properties = "object", map[string]apiextensions.JSONSchemaProps{}
			for _, name := range []string{"a", "b", "metadata", "k"}[:1+r.IntN(4)] {
				s.Properties[name] = random(r, depth-1)
			}
			if r.IntN(6) == 0 {
				s.XEmbeddedResource, s.XPreserveUnknownFields = true, ptr.To(true)
			}
		case 2:
			s.Type, s.AdditionalProperties = "object", &apiextensions.JSONSchemaPropsOrBool{Allows: true, Schema: ptr.To(random(r, depth-1))}
		case 3, 4:
			item := random(r, depth-1)
			s.Type, s.Items = "array", &apiextensions.JSONSchemaPropsOrArray{Schema: &item}
			switch r.IntN(3) {
			case 0:
				s.XListType, s.XListMapKeys = ptr.To("map"), []string{"k", "l"}[:1+r.IntN(2)]
			case 1:
				s.XListType = ptr.To("set")
			}
		}
	} else if r.IntN(3) == 0 {
		var d apiextensions.JSON = "x"
		s.Default = &d
	}
	if r.IntN(8) == 0 {
		s.AnyOf = []apiextensions.JSONSchemaProps{{MinLength: ptr.To[int64](1)}}
		if r.IntN(8) == 0 {
			s.AnyOf[0].XPermissionVerb = ptr.To("x")
		}
	}
	if r.IntN(3) == 0 {
		s.XPermissionVerb = ptr.To([]string{"p", "q", "example.com/r", "s", "t", "Wrong"}[r.IntN(6)])
		s.XPermissionExcluded = r.IntN(4) == 0
		if r.IntN(3) == 0 {
			s.XPermissionParameterizedBy = ptr.To("key")
		}
	}
	if r.IntN(4) == 0 {
		s.XPermissionParameterSource = ptr.To("key")
	}
	if r.IntN(12) == 0 {
		s.XPermissionScope = ptr.To("cell")
	}
	return s
}

// FuzzPrune checks that the pruned schema compiles to the same permission tree, or has the same
// problems, as the whole schema.
func FuzzPrune(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(seed)
	}
	v := validator()
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		whole := random(r, 5)
		whole.Type = "object"
		trees := make([]string, 2)
		for i, s := range []*apiextensions.JSONSchemaProps{whole.DeepCopy(), prune(whole.DeepCopy())} {
			if tree, err := v.compile(s); err != nil {
				for _, problem := range schema.ProblemsOf(err) {
					trees[i] += problem.Error() + "\n"
				}
			} else {
				trees[i] = tree.String()
			}
		}
		if diff := cmp.Diff(trees[0], trees[1]); diff != "" {
			t.Errorf("(-whole +pruned):\n%s", diff)
		}
	})
}
