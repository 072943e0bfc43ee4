// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/schema"
)

// things is a Go type with fields at many kinds of offsets: in inlined structs, in structs inside
// inlined structs, and in 64-bit words that several fields share.
type things struct {
	Size  int64
	Inner inner `json:"inner"`
	mixed `json:",inline"`
	Last  *inner           `json:"last,omitempty"`
	One   bool             `json:"one"`
	Two   bool             `json:"two"`
	Three bool             `json:"three"`
	Small small            `json:"small"`
	Many  map[string]small `json:"many"`
}

// small is a struct whose size is no multiple of a 64-bit word.
type small struct {
	A int32 `json:"a"`
	B bool  `json:"b"`
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
	A string   `json:"a"`
	B *int32   `json:"b"`
	C [3]int16 `json:"c"`
}

// TestEveryFieldIsLookedAt changes each field of things by itself, and each two fields at once. It
// also removes the objects that contain fields. Compare must charge each change to its field.
func TestEveryFieldIsLookedAt(t *testing.T) {
	text := strings.ReplaceAll(`{properties: {spec: {+verb: spec, properties: {
  many: {additionalProperties: {properties: {a: {+verb: manyA}, b: {+verb: manyB}}}},
  one: {+verb: one}, two: {+verb: two}, small: {properties: {a: {+verb: smallA}, b: {+verb: smallB}}},
  inner: {properties: {a: {+verb: innerA}, b: {+verb: innerB}, c: {+verb: innerC}}}, name: {+verb: name}, flag: {+verb: flag},
  notes: {+verb: notes}, count: {+verb: count}, own: {properties: {a: {+verb: ownA}, b: {+verb: ownB}, c: {+verb: ownC}}},
  last: {properties: {a: {+verb: lastA}, b: {+verb: lastB}, c: {+verb: lastC}}}}}}}`, "+verb", schema.ExtVerb)
	tree := treeOf(t, text)
	type object struct {
		Spec *things `json:"spec"`
	}
	w, one, two := NewWalker(tree), int32(1), int32(2)
	full := func() *object {
		some := inner{A: "x", B: &one, C: [3]int16{1, 1, 1}}
		return &object{Spec: &things{Inner: some, Last: &inner{A: "x", B: &one, C: some.C}, One: true, Two: true, Three: true, Small: small{A: 1, B: true}, Many: map[string]small{"k": {A: 1,
			B: true}},
			mixed: mixed{Name: "x",
				deeper: deeper{Flag: true, Notes: map[string]string{"k": "x"}, Count: 1, Own: some}}}}
	}
	edits := map[string]func(*things){
		"innerA": func(s *things) { s.Inner.A = "y" },
		"innerB": func(s *things) { s.Inner.B = &two },
		"innerC": func(s *things) { s.Inner.C[1] = 2 },
		"name":   func(s *things) { s.Name = "y" },
		"flag":   func(s *things) { s.Flag = false },
		"notes":  func(s *things) { s.Notes = map[string]string{"k": "y"} },
		"count":  func(s *things) { s.Count = 2 },
		"ownA":   func(s *things) { s.Own.A = "y" },
		"ownB":   func(s *things) { s.Own.B = nil },
		"ownC":   func(s *things) { s.Own.C[2] = 2 },
		"lastA":  func(s *things) { s.Last.A = "y" },
		"lastB":  func(s *things) { s.Last.B = &two },
		"lastC":  func(s *things) { s.Last.C[0] = 2 },
		"one":    func(s *things) { s.One = false },
		"two":    func(s *things) { s.Two = false },
		"spec":   func(s *things) { s.Three = false },
		"manyA":  func(s *things) { s.Many["k"] = small{A: 2, B: s.Many["k"].B} },
		"manyB":  func(s *things) { s.Many["k"] = small{A: s.Many["k"].A} },
		"smallA": func(s *things) { s.Small.A = 2 },
		"smallB": func(s *things) { s.Small.B = false },
	}
	charged := func(old, new *object) string {
		var out []string
		for _, c := range compareOrFail(t, w, All, old, new) {
			name := "nothing"
			if c.Node.Last() != nil {
				name = c.Node.Last().Name
			}
			out = append(out, name)
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	for first, edit := range edits {
		for second, another := range edits {
			old, changed := full(), full()
			edit(changed.Spec)
			another(changed.Spec)
			both := []string{first, second}
			slices.Sort(both)
			want := strings.Join(slices.Compact(both), " ")
			if there, back := charged(old, changed), charged(changed, old); there != want || back != want {
				t.Errorf("%s: %s, and back %s", want, there, back)
			}
			if set := charged(changed, changed); set != "" {
				t.Errorf("%s: %s of nothing", want, set)
			}
		}
	}
	if all, want := charged(&object{}, full()), strings.Join(slices.Sorted(maps.Keys(edits)), " "); all != want {
		t.Errorf("of a new object %s, not %s", all, want)
	}
}

// TestDefaultInWhatIsNew shows that an excluded object in a new Go object does not need its own
// permission if it has only its default value. The change is charged to the object that contains
// it.
func TestDefaultInWhatIsNew(t *testing.T) {
	text := strings.NewReplacer("+verb", schema.ExtVerb, "+excluded", schema.ExtExcluded).Replace(`{properties: {spec: {+verb: spec, properties: {
  inner: {default: {}, +verb: guard, +excluded: true, properties: {a: {+verb: a}}}}}}}`)
	tree := treeOf(t, text)
	type object struct {
		Spec struct {
			Inner struct {
				A string `json:"a,omitempty"`
			} `json:"inner"`
		} `json:"spec"`
	}
	set := compareOrFail(t, NewWalker(tree), All, (*object)(nil), &object{})
	if len(set) != 1 || set[0].Node.Last() == nil || set[0].Node.Last().Name != "spec" {
		t.Errorf("%v", verbs(set))
	}
}

// treeOf compiles the permission tree of a schema, given as YAML.
func treeOf(t *testing.T, text string) *schema.Tree {
	t.Helper()
	root := &spec.Schema{}
	if err := yaml.UnmarshalStrict([]byte(text), root); err != nil {
		t.Fatal(err)
	}
	tree, err := schema.Compile(map[string]*spec.Schema{"root": root}, "root")
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
