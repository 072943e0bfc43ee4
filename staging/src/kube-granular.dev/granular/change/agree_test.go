// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/granular/internal/testmodels"
)

// plainable removes from decoded JSON what Go types with omitempty do not keep: empty maps, lists
// and strings, and false.
func plainable(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if v[k] = plainable(x); empty(v[k]) || v[k] == false {
				delete(v, k)
			}
		}
	case []any:
		for i := range v {
			v[i] = plainable(v[i])
		}
	}
	return v
}

func clone(t testing.TB, v map[string]any) map[string]any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return plainOf(t, string(data))
}

func typedFrom(t testing.TB, kind string, v map[string]any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return typedOf(t, kind, string(data))
}

// agreeTyped fails the test unless Compare returns the same changes for two random Go objects as
// for the same objects as decoded JSON.
func agreeTyped(t *testing.T, w *Walker, kind string, seed uint64) {
	t.Helper()
	definitions, err := testmodels.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	g := testmodels.Generator{IntN: rand.New(rand.NewPCG(seed, 2)).IntN, Definitions: definitions}
	root := definitions[w.Tree().Name]
	old := g.Value(root, 9)
	new, _ := plainable(clone(t, tame(g.Change(root, old, 9)))).(map[string]any)
	before, _ := plainable(clone(t, tame(old))).(map[string]any)
	for _, pair := range [][2]map[string]any{{before, new}, {new, before}, {nil, new}} {
		var typedOld any
		var plainOld any
		if pair[0] != nil {
			typedOld, plainOld = typedFrom(t, kind, pair[0]), pair[0]
		}
		plain := compareOrFail(t, w, All, plainOld, pair[1])
		typed := compareOrFail(t, w, All, typedOld, typedFrom(t, kind, pair[1]))
		if diff := cmp.Diff(verbs(plain), verbs(typed)); diff != "" {
			t.Fatalf("seed %d (-plain +typed):\n%s\nold %v\nnew %v", seed, diff, pair[0], pair[1])
		}
		if diff := cmp.Diff(verbs(plain), verbs(Intersect(plain, plain))); diff != "" {
			t.Fatalf("seed %d: a set within itself:\n%s", seed, diff)
		}
		for i := range plain {
			a := w.Locate(plain[i], plainOld, pair[1])
			if len(a) > MaxPathLength || a == "" {
				t.Fatalf("seed %d: %s is located at %q", seed, plain[i].String(), a)
			}
		}
	}
}

func TestTypedAgreesWithPlain(t *testing.T) {
	for kind := range goTypes {
		t.Run(kind, func(t *testing.T) {
			w := walkerOf(t, kind)
			for seed := range uint64(250) {
				agreeTyped(t, w, kind, seed)
			}
		})
	}
}

func FuzzWalk(f *testing.F) {
	definitions, err := testmodels.Definitions()
	if err != nil {
		f.Fatal(err)
	}
	kinds := []string{"apps/v1/Deployment", "/v1/Pod", "/v1/ConfigMap", "example.com/v1/Widget"}
	walkers, oracles := map[string]*Walker{}, map[string]*oracle{}
	for i, kind := range kinds {
		walkers[kind] = walkerOf(f, kind)
		oracles[kind] = newOracle(f, definitions, walkers[kind].Tree())
		f.Add(uint64(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, seed uint64, which uint8) {
		kind := kinds[int(which)%len(kinds)]
		agree(t, walkers[kind], oracles[kind], definitions, seed)
		if goTypes[kind] != nil {
			agreeTyped(t, walkers[kind], kind, seed)
		}
	})
}

// FuzzJSON compares two arbitrary JSON objects. Compare must return no error, no change for equal
// objects, and at least one change for different objects.
func FuzzJSON(f *testing.F) {
	f.Add(`{"spec":{"guard":null}}`, `{"spec":[1,{"a":1e400}]}`)
	f.Add(`{"metadata":{"labels":[1]}}`, `{"metadata":{"labels":{"a":null}}}`)
	f.Add(`{"spec":{"doors":[{"floor":1},{"floor":1}]}}`, `{"spec":{"doors":[null,[],"x"]}}`)
	f.Add(`{"status":{"conditions":[{"type":null}]}}`, `{"status":{"conditions":{"type":"a"}}}`)
	w := walkerOf(f, "example.com/v1/Widget")
	f.Fuzz(func(t *testing.T, a, b string) {
		var old, new, twin map[string]any
		if json.Unmarshal([]byte(a), &old) != nil || json.Unmarshal([]byte(b), &new) != nil || old == nil || new == nil {
			return
		}
		if json.Unmarshal([]byte(a), &twin) != nil {
			return
		}
		for _, mode := range []Mode{All, ExcludedOnly} {
			if set := compareOrFail(t, w, mode, old, twin); set != nil {
				t.Errorf("the same object: %v", verbs(set))
			}
			if set := compareOrFail(t, w, mode, nil, new); mode == All && len(new) > 0 && set == nil && !onlySystem(new) {
				t.Errorf("nothing is charged for creating %s", b)
			}
		}
		set := compareOrFail(t, w, All, old, new)
		if set == nil && !same(w, old, new) {
			t.Errorf("no charge from %s to %s", a, b)
		}
		for i := range set {
			w.Locate(set[i], old, new)
		}
	})
}

func onlySystem(v map[string]any) bool {
	for k := range v {
		if k != "apiVersion" && k != "kind" {
			return false
		}
	}
	return true
}

// same reports whether two objects are equal, apart from differences that Compare ignores: fields
// that the server writes, empty metadata, and the order of conditions.
func same(w *Walker, a, b map[string]any) bool {
	return fmt.Sprint(canonical(a)) == fmt.Sprint(canonical(b))
}

func canonical(v map[string]any) map[string]any {
	out := map[string]any{}
	for k, x := range v {
		switch k {
		case "apiVersion", "kind":
		case "metadata":
			m, ok := x.(map[string]any)
			if !ok && x != nil && !empty(x) {
				out[k] = x
			}
			inner := map[string]any{}
			for name, y := range m {
				system := false
				for _, s := range []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"} {
					system = system || s == name
				}
				if !system && y != nil && !empty(y) {
					inner[name] = sorted(y)
				}
			}
			if len(inner) > 0 {
				out[k] = inner
			}
		case "status":
			out[k] = x
			if m, ok := x.(map[string]any); ok {
				copied := map[string]any{}
				for name, y := range m {
					copied[name] = y
					if name == "conditions" {
						copied[name] = sorted(y)
					}
				}
				out[k] = copied
			}
		default:
			out[k] = x
		}
	}
	return out
}

func sorted(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	count := map[string]int{}
	for _, x := range list {
		count[fmt.Sprintf("%T %v", x, x)]++
	}
	return count
}
