// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// world has the objects of one kind in the corpus, and what their fields hold.
type world struct {
	kind    kubeschema.GroupVersionKind
	tree    *schema.Tree
	objects []map[string]any
	// values are all values at a path, and texts all keys and strings.
	values map[string][]any
	texts  []string
}

// worlds returns the kinds of the corpus, in order.
func worlds(t *testing.T) []*world {
	scenarios, err := corpus.Load("../../../test/corpus")
	if err != nil {
		t.Fatal(err)
	}
	byKind := map[string]*world{}
	for i := range scenarios {
		s := &scenarios[i]
		object, unknown := scheme.Scheme.New(s.GVK())
		if unknown != nil {
			continue
		}
		w := byKind[s.Kind]
		if w == nil {
			w = &world{kind: s.GVK(), values: map[string][]any{}, tree: treeOf(t, object.(interface{ OpenAPIModelName() string }).OpenAPIModelName())}
			byKind[s.Kind] = w
		}
		for _, o := range []corpus.Object{s.Old, s.New} {
			if o != nil {
				w.objects = append(w.objects, o)
				w.learn("", map[string]any(o))
			}
		}
	}
	var out []*world
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		w := byKind[kind]
		slices.Sort(w.texts)
		w.texts = slices.Compact(w.texts)
		if len(w.objects) > 3 {
			out = append(out, w)
		}
	}
	return out
}

func (w *world) learn(path string, v any) {
	w.values[path] = append(w.values[path], v)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			w.texts = append(w.texts, name)
			w.learn(path+"."+name, v[name])
		}
	case []any:
		for _, elem := range v {
			w.learn(path+"[]", elem)
		}
	case string:
		w.texts = append(w.texts, v)
	}
}

// verbs returns random verbs of the kind.
func (w *world) verbs(r *rand.Rand) []string {
	all := w.tree.Permissions()
	var out []string
	for range 1 + r.IntN(6) {
		p := all[r.IntN(len(all))]
		verb := permission.Verb{Permission: p.Name}
		if p.Parameter == nil {
			if len(p.Above) == 0 && r.IntN(4) > 0 {
				continue // the most general ones leave little to compare
			}
			out = append(out, verb.String())
			continue
		}
		for range 1 + r.IntN(4) {
			text := w.texts[r.IntN(len(w.texts))]
			parameters := p.Parameter.Treatment.Parameters(text)
			if exact, ok := p.Parameter.Treatment.Exact(text); ok {
				parameters = append(parameters, exact)
			}
			if len(parameters) > 0 {
				verb.Parameterized, verb.Parameter = true, parameters[r.IntN(len(parameters))]
				if permission.CheckParameter(verb.Parameter) == nil {
					out = append(out, verb.String())
				}
			}
		}
	}
	return out
}

// write returns a random object, and another one that differs in few places.
func (w *world) write(r *rand.Rand) (before, after map[string]any) {
	before = runtime.DeepCopyJSON(normal(w.objects[r.IntN(len(w.objects))]))
	for range r.IntN(4) {
		before = w.edited(r, "", before).(map[string]any)
	}
	after = runtime.DeepCopyJSON(before)
	for range 1 + r.IntN(3) {
		after = w.edited(r, "", after).(map[string]any)
	}
	return before, after
}

// normal decodes numbers as DeepCopyJSON needs them.
func normal(o map[string]any) map[string]any {
	data, _ := json.Marshal(o)
	var out corpus.Object
	_ = json.Unmarshal(data, &out)
	return out
}

// edited returns v with a random change at or below path.
func (w *world) edited(r *rand.Rand, path string, v any) any {
	other := func(path string) (any, bool) {
		if known := w.values[path]; len(known) > 0 {
			return runtime.DeepCopyJSONValue(known[r.IntN(len(known))]), true
		}
		return nil, false
	}
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		for known := range w.values {
			if name, below := strings.CutPrefix(known, path+"."); below && !strings.ContainsAny(name, ".[") && v[name] == nil {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if len(names) == 0 {
			return v
		}
		name := names[r.IntN(len(names))]
		there, exists := v[name]
		switch choice := r.IntN(10); {
		case exists && choice < 7:
			v[name] = w.edited(r, path+"."+name, there)
		case exists && choice < 8 && path != "":
			delete(v, name)
		default:
			if value, ok := other(path + "." + name); ok {
				v[name] = value
			}
		}
		return v
	case []any:
		switch choice := r.IntN(10); {
		case len(v) > 0 && choice < 5:
			i := r.IntN(len(v))
			v[i] = w.edited(r, path+"[]", v[i])
		case len(v) > 1 && choice < 6:
			i, j := r.IntN(len(v)), r.IntN(len(v))
			v[i], v[j] = v[j], v[i]
		case len(v) > 0 && choice < 7:
			i := r.IntN(len(v))
			return slices.Delete(v, i, i+1)
		case len(v) > 0 && choice < 8:
			return append(v, runtime.DeepCopyJSONValue(v[r.IntN(len(v))]))
		default:
			if value, ok := other(path + "[]"); ok {
				return slices.Insert(v, r.IntN(len(v)+1), value)
			}
		}
		return v
	}
	if value, ok := other(path); ok && r.IntN(4) > 0 {
		return value
	}
	switch v := v.(type) {
	case string:
		return v + "x"
	case int64:
		return v + 1
	case bool:
		return !v
	}
	return v
}

// object decodes an object strictly, and returns nil if it is none of the kind.
func (w *world) object(content map[string]any) runtime.Object {
	out, err := scheme.Scheme.New(w.kind)
	if err != nil {
		return nil
	}
	data, err := json.Marshal(content)
	if err != nil || yaml.UnmarshalStrict(data, out) != nil {
		return nil
	}
	return out
}

// unbounded is the budget of the oracle: a policy has no limit of verbs.
const unbounded = 1 << 20

// holder answers from a list of verbs.
type holder []string

func (h holder) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	return slices.IndexFunc(verbs, func(v string) bool { return slices.Contains(h, v) }), nil
}

// permits is the library's answer.
func permits(t *testing.T, tree *schema.Tree, verbs []string, before, after any) bool {
	t.Helper()
	changes, err := change.NewWalker(tree).Compare(change.All, before, after)
	if err != nil {
		t.Fatal(err)
	}
	refusal, err := decide.New(holder(verbs), unbounded).Decide(context.Background(), change.Answerable(changes, changes), true)
	if err != nil {
		t.Fatal(err)
	}
	return refusal == nil
}

// sorted returns v with all lists in one order.
func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = sorted(v[name])
		}
	case []any:
		for i := range v {
			v[i] = sorted(v[i])
		}
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return v
}

// randomly is the number of writes that TestRandomWrites judges.
var randomly = flag.Int("writes", 10_000, "random writes that are judged")

// TestRandomWrites compares the decisions about random writes with those of the library. A policy never allows
// what the library refuses. It refuses what the library allows only for the printed limit of the order of lists.
// The parts run in parallel, and make 10,000 writes together.
func TestRandomWrites(t *testing.T) {
	const parts = 4
	all, writes := worlds(t), *randomly
	var counts [parts]tally
	t.Run("parts", func(t *testing.T) {
		for part := range uint64(parts) {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				for seed := part; counts[part].judged < writes/parts; seed += parts {
					randomWrites(t, all, seed, &counts[part])
				}
			})
		}
	})
	var sum tally
	for _, c := range counts {
		sum.judged, sum.allowed, sum.order = sum.judged+c.judged, sum.allowed+c.allowed, sum.order+c.order
	}
	t.Logf("%d writes, %d allowed, %d refused for the order of a list", sum.judged, sum.allowed, sum.order)
	if sum.judged < writes || sum.allowed < writes/20 || sum.judged-sum.allowed < writes/20 {
		t.Errorf("%d of %d writes were allowed: that is no test", sum.allowed, sum.judged)
	}
}

// tally counts writes.
type tally struct{ judged, allowed, order int }

// randomWrites judges writes of a random kind with random verbs. Each policy is compiled once.
func randomWrites(t *testing.T, all []*world, seed uint64, counts *tally) {
	const each = 40
	r := rand.New(rand.NewPCG(seed, 101))
	w := all[r.IntN(len(all))]
	verbs := w.verbs(r)
	target := &Target{Resource: kubeschema.GroupVersionResource{Group: w.kind.Group, Version: w.kind.Version, Resource: "things"}, Tree: w.tree}
	made, err := policyFor("test", target, grantsOf(verbs...))
	if err != nil {
		return // every change, or a list without keys
	}
	e := compile(t, made.policy)
	for range each {
		before, after := w.write(r)
		old, stored := w.object(before), w.object(after)
		if old == nil || stored == nil {
			continue
		}
		counts.judged++
		want := permits(t, w.tree, verbs, old, stored)
		got, broken, why := e.allows(&write{old: old, new: stored, user: jane, target: target})
		if got {
			counts.allowed++
		}
		if got == want {
			continue // a server of v1.37 can't compare a null with a list, which is an error, and refuses
		}
		if want && !broken {
			one, _ := w.object(sorted(before).(map[string]any)), w.object(sorted(after).(map[string]any))
			other := w.object(sorted(after).(map[string]any))
			if same, _, _ := e.allows(&write{old: one, new: other, user: jane, target: target}); same {
				counts.order++
				continue
			}
		}
		a, _ := json.Marshal(before)
		b, _ := json.Marshal(after)
		if i := strings.Index(why, "resulted in"); broken && i >= 0 {
			why = why[i:]
		}
		t.Fatalf("seed %d: %s with %v: allowed %v (%s), the library %v\n%s\n%s", seed, w.kind.Kind, verbs, got, why, want, a, b)
	}
}
