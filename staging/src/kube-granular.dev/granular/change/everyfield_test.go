// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/schema"
)

// things is a Go type of which fields lie in structs that are inlined, some of them
// objects, at other offsets than in those.
type things struct {
	Size  int64
	Inner inner `json:"inner"`
	mixed `json:",inline"`
	Last  *inner `json:"last,omitempty"`
}

type mixed struct {
	Name   string `json:"name"`
	Parts  []string
	deeper `json:",inline"`
}

type deeper struct {
	Flag  bool              `json:"flag"`
	Notes map[string]string `json:"notes"`
	Count int32             `json:"count"`
	Own   inner             `json:"own"`
}

type inner struct {
	A string `json:"a"`
	B *int32 `json:"b"`
}

// TestEveryFieldIsLookedAt changes each field by itself, and takes the object that holds it
// away, in a type whose fields lie all over: the change is found, and charged to the field.
func TestEveryFieldIsLookedAt(t *testing.T) {
	root := &spec.Schema{}
	text := strings.ReplaceAll(`{properties: {spec: {properties: {
  inner: {properties: {a: {+verb: innerA}, b: {+verb: innerB}}}, name: {+verb: name}, flag: {+verb: flag},
  notes: {+verb: notes}, count: {+verb: count}, own: {properties: {a: {+verb: ownA}, b: {+verb: ownB}}},
  last: {properties: {a: {+verb: lastA}, b: {+verb: lastB}}}}}}}`, "+verb", schema.ExtVerb)
	if err := yaml.UnmarshalStrict([]byte(text), root); err != nil {
		t.Fatal(err)
	}
	tree, err := schema.Compile(map[string]*spec.Schema{"root": root}, "root")
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		Spec *things `json:"spec"`
	}
	w, one, two := NewWalker(tree), int32(1), int32(2)
	full := func() *object {
		return &object{Spec: &things{Inner: inner{A: "x", B: &one}, Last: &inner{A: "x", B: &one},
			mixed: mixed{Name: "x", deeper: deeper{Flag: true, Notes: map[string]string{"k": "x"}, Count: 1, Own: inner{A: "x", B: &one}}}}}
	}
	for verb, edit := range map[string]func(*things){
		"innerA": func(s *things) { s.Inner.A = "y" },
		"innerB": func(s *things) { s.Inner.B = &two },
		"name":   func(s *things) { s.Name = "y" },
		"flag":   func(s *things) { s.Flag = false },
		"notes":  func(s *things) { s.Notes = map[string]string{"k": "y"} },
		"count":  func(s *things) { s.Count = 2 },
		"ownA":   func(s *things) { s.Own.A = "y" },
		"ownB":   func(s *things) { s.Own.B = nil },
		"lastA":  func(s *things) { s.Last.A = "y" },
		"lastB":  func(s *things) { s.Last.B = &two },
	} {
		old, changed := full(), full()
		edit(changed.Spec)
		for _, set := range []Set{compareOrFail(t, w, Full, old, changed), compareOrFail(t, w, Full, changed, old)} {
			if len(set) != 1 || set[0].Node.Last() == nil || set[0].Node.Last().Name != verb {
				t.Errorf("%s: %v", verb, set)
			}
		}
		if set := compareOrFail(t, w, Full, changed, changed); len(set) != 0 {
			t.Errorf("%s: %v of nothing", verb, set)
		}
	}
	var all []string
	for _, c := range compareOrFail(t, w, Full, &object{}, full()) {
		all = append(all, c.Node.Last().Name)
	}
	slices.Sort(all)
	if want := []string{"count", "flag", "innerA", "innerB", "lastA", "lastB", "name", "notes", "ownA", "ownB"}; !reflect.DeepEqual(all, want) {
		t.Errorf("of a new object %v", all)
	}
}
