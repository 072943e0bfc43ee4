// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// randomPlace returns a location with few different names, so that equal locations are frequent.
// It is new, as if another walk had made it, or is below one of the locations in made.
func randomPlace(r *rand.Rand, made []*location) *location {
	var p *location
	if len(made) > 0 && r.IntN(2) == 0 {
		p = made[r.IntN(len(made))]
	}
	for range r.IntN(4) {
		if depthOf(p) == 4 {
			break
		}
		step := Step{}
		switch names := []string{"a", "b", "ab", `a"`, `"`, "", "\x00"}; r.IntN(4) {
		case 0:
			step.Keys = []string{names[r.IntN(len(names))]}
		case 1:
			step.Keys = []string{names[r.IntN(len(names))], names[r.IntN(len(names))]}
		case 2: // an element without keys
		default:
			step.Field = names[r.IntN(5)]
		}
		p = &location{above: p, depth: depthOf(p) + 1, Step: step}
	}
	return p
}

func randomSet(r *rand.Rand) Set {
	var made []*location
	out := Set{}
	for range r.IntN(6) {
		at := randomPlace(r, made)
		made = append(made, at)
		c := Change{at: at}
		if r.IntN(3) == 0 {
			c.Ambiguous, c.Presence, c.extent = true, r.IntN(2) == 0, at
			if below := randomPlace(r, []*location{at}); r.IntN(2) == 0 && below.up(depthOf(at)) == at {
				c.extent = below
			}
		}
		out = append(out, c)
	}
	return out
}

// copyOf returns the same set as if another walk had made it.
func copyOf(s Set) Set {
	out := Set{}
	copies := map[*location]*location{nil: nil}
	var copied func(p *location) *location
	copied = func(p *location) *location {
		if _, ok := copies[p]; !ok {
			copies[p] = &location{above: copied(p.above), depth: p.depth, Step: p.Step}
		}
		return copies[p]
	}
	for _, c := range s {
		c.at, c.extent = copied(c.at), copied(c.extent)
		out = append(out, c)
	}
	return out
}

// plainIntersect is a second implementation of Intersect, which compares all pairs of changes.
func plainIntersect(observed, final Set) map[string]bool {
	reach := func(c *Change) string { return spelled(c.narrowest().path()) }
	out := map[string]bool{}
	for i := range final {
		for j := range observed {
			f, o := &final[i], &observed[j]
			same := spelled(f.Path()) == spelled(o.Path())
			holdsFinal := o.Ambiguous && !o.Presence && strings.HasPrefix(reach(f), reach(o))
			holdsObserved := f.Ambiguous && strings.HasPrefix(reach(o), reach(f))
			if same || holdsFinal || holdsObserved {
				out[plainly(f)] = true
			}
			if o.Presence && strings.HasPrefix(reach(f), reach(o)) {
				out[plainly(o)] = true
			}
		}
	}
	return out
}

func plainly(c *Change) string {
	return fmt.Sprintf("%s %t %t %s", spelled(c.Path()), c.Ambiguous, c.Presence, spelled(c.Extent()))
}

// randomSets returns two sets, which are often alike, as if nobody, or hardly anybody, changed the object in between.
func randomSets(r *rand.Rand) (first, second Set) {
	first, second = randomSet(r), randomSet(r)
	if r.IntN(3) == 0 {
		second = copyOf(first)
		for i := range second {
			if c := &second[i]; c.Ambiguous && r.IntN(4) == 0 {
				c.Presence = !c.Presence
			}
			if c := &second[i]; c.Ambiguous && r.IntN(4) == 0 {
				c.extent = &location{above: c.extent, depth: depthOf(c.extent) + 1, Step: Step{Field: "a"}}
			}
		}
	}
	if r.IntN(2) == 0 {
		first, second = first.normalize(), second.normalize()
	}
	return first, second
}

func TestIntersectAgreesWithItsComment(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 0))
		observed, final := randomSets(r)
		got := Intersect(observed, final)
		found := map[string]bool{}
		for i := range got {
			if found[plainly(&got[i])] {
				t.Fatalf("seed %d: %s twice", seed, plainly(&got[i]))
			}
			found[plainly(&got[i])] = true
		}
		if diff := cmp.Diff(plainIntersect(observed, final), found); diff != "" {
			t.Fatalf("seed %d: -want +got:\n%s", seed, diff)
		}
	}
}

// TestNormalOrders checks that the order of a set does not depend on the order of the walk, that a
// location comes before those below it, and that no change is in the set twice.
func TestNormalOrders(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		set := randomSet(r)
		shuffled := append(Set{}, set...)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		want := map[string]bool{}
		for i := range set {
			want[plainly(&set[i])] = true
		}
		texts := func(s Set) (out []string) {
			s = s.normalize()
			for i := range s {
				out = append(out, plainly(&s[i]))
			}
			return out
		}
		got := texts(set)
		if diff := cmp.Diff(got, texts(shuffled)); diff != "" {
			t.Fatalf("seed %d: in another order %s", seed, diff)
		}
		if len(got) != len(want) {
			t.Fatalf("seed %d: %q, wanted %d", seed, got, len(want))
		}
		for i := range got {
			for j := range i {
				below, _, _ := strings.Cut(got[i], " ")
				above, _, _ := strings.Cut(got[j], " ")
				if below != above && strings.HasPrefix(above, below) {
					t.Fatalf("seed %d: %s before %s", seed, above, below)
				}
			}
		}
	}
}

// nested returns the walker of a kind that has a map of maps below the given number of levels.
func nested(t *testing.T, levels int) *Walker {
	t.Helper()
	value := spec.StringProperty()
	value.AddExtension(schema.ExtVerb, "value")
	value.AddExtension(schema.ExtParameterized, "key")
	inner, outer := spec.MapProperty(value), &spec.Schema{}
	inner.AddExtension(schema.ExtSource, "key")
	*outer = *spec.MapProperty(inner)
	outer.AddExtension(schema.ExtSource, "outer")
	at := *outer
	for range levels {
		at = spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{"a": at}}}
	}
	root := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{"spec": at}}}
	tree, err := schema.NewModels(map[string]*spec.Schema{"Thing": root}).Compile("Thing")
	if err != nil {
		t.Fatal(err)
	}
	return NewWalker(tree)
}

func nestedObject(levels int, outer string, values map[string]any) map[string]any {
	at := any(map[string]any{outer: values})
	for range levels {
		at = map[string]any{"a": at}
	}
	return map[string]any{"spec": at}
}

// TestMemoryOfChanges checks that the memory of a walk grows with the number of changes plus the
// size of the object, and not with their product.
//
// Attack: thousands of keys inside a map key that is a megabyte long, in a definition with permissions in maps
// of maps
// Answer: grows with the body
// Was: took the memory of their product, 3.3 GB for a body of 160 KB
// Held by: TestLongKey
func TestMemoryOfChanges(t *testing.T) {
	const changes, long = 2000, 50_000
	for name, tc := range map[string]struct {
		levels int
		outer  string
	}{
		"below a long key":  {0, strings.Repeat("k", long)},
		"below many levels": {100, "k"},
	} {
		t.Run(name, func(t *testing.T) {
			w := nested(t, tc.levels)
			values := map[string]any{}
			for i := range changes {
				values[fmt.Sprintf("k%d", i)] = "v"
			}
			old, new := nestedObject(tc.levels, tc.outer, map[string]any{"k": "v"}), nestedObject(tc.levels, tc.outer, values)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			observed := compareOrFail(t, w, All, old, new)
			final, err := w.CompareObserved(All, observed, old, new)
			if err != nil {
				t.Fatal(err)
			}
			both := Intersect(observed, final)
			runtime.ReadMemStats(&after)
			if len(both) != changes+1 {
				t.Fatalf("%d changes", len(both))
			}
			// For each change, a copy of its path would take 10 KB here, and the path as text 50
			// KB.
			if each := int(after.TotalAlloc-before.TotalAlloc-2*long) / changes; each > 2500 {
				t.Errorf("%d bytes for each change", each)
			}
		})
	}
}

// TestLocateLooksOnce locates a difference below thousands of levels with mostly equal values. If
// Locate compared everything again at each level, it would take hours.
//
// Attack: a field thousands of levels deep, which a refusal must name
// Answer: everything is compared once
// Was: took the square of the levels, 5.6 s for a body of 54 KB
func TestLocateLooksOnce(t *testing.T) {
	w := walkerOf(t, "example.com/v1/Widget")
	object := func(value string) map[string]any {
		leaves := map[string]any{}
		for i := range 100_000 {
			leaves[fmt.Sprintf("k%d", i)] = "v"
		}
		leaves["z"] = value
		at, same := any(leaves), any("x")
		for range 9_000 {
			same = map[string]any{"same": same}
		}
		for range 9_000 {
			at = map[string]any{"d": at}
		}
		return map[string]any{"spec": map[string]any{"settings": map[string]any{"s": map[string]any{"a": same, "b": []any{same, at}}}}}
	}
	old, new := object("v"), object("w")
	set := compareOrFail(t, w, All, old, new)
	if got, want := w.Locate(set[0], old, new), ".spec.settings[s].b[1].d.d.d"; !strings.HasPrefix(got, want) || len(got) != MaxPathLength {
		t.Errorf("got %s", got)
	}
	if got, want := w.Outline(set[0], old, new, 3), ".spec.settings[s]"; got != want {
		t.Errorf("outline %s", got)
	}
}
