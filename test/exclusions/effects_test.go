// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusions

import (
	"context"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kube-granular.dev/granular/overlay"
)

var (
	update = flag.Bool("update", false, "add the effects that were found to the table of package overlay")
	rounds = flag.Int("rounds", 40, "random objects for each version of a resource")
	seed   = flag.Int64("seed", 1, "seed of the random objects")
)

// table is the table of package overlay.
var table = filepath.Join("..", "..", "staging", "src", "kube-granular.dev", "granular", "overlay", "builtin.json")

// effects are the serverEffects of package overlay, as sets.
type effects struct {
	filled, lost map[string]bool
	moved        map[string]map[string]bool
	objects      int
}

func (e *effects) move(target, source string) {
	if e.moved[target] == nil {
		e.moved[target] = map[string]bool{}
	}
	e.moved[target][source] = true
}

// effectsJSON is one element of the table.
type effectsJSON struct {
	Filled []string            `json:"filled,omitempty"`
	Lost   []string            `json:"lost,omitempty"`
	Moved  map[string][]string `json:"moved,omitempty"`
}

// TestServerEffects sends random objects through the server's own code. Each effect on a field that
// the client did not send must be in the table of package overlay, by which exclusions are refused.
//
// Attack: a closed field is written by its alias, and the server copies the value after the gate has looked
// Answer: an exclusion of a field is refused if the server sets that field because of another one that stays open
// Attack: the resources of a pod as a whole are closed, and the server fills them in by those of its containers
// Was: got through
// Answer: 422 for the exclusion of the whole alone
func TestServerEffects(t *testing.T) {
	if err := utilfeature.DefaultMutableFeatureGate.Set("AllBeta=true"); err != nil {
		t.Fatal(err)
	}
	known := map[string]*effectsJSON{}
	data, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &known); err != nil {
		t.Fatal(err)
	}
	found := map[string]*effectsJSON{}
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		r, group := resources[name], schema.ParseGroupResource(name).Group
		var kinds []schema.GroupVersionKind
		for _, gv := range legacyscheme.Scheme.PrioritizedVersionsForGroup(group) {
			if kind := gv.WithKind(r.kind); legacyscheme.Scheme.Recognizes(kind) && !removed(t, kind) {
				kinds = append(kinds, kind)
			}
		}
		for _, kind := range kinds {
			key := name + "/" + kind.Version
			if withoutExclusions[key] != "" {
				continue
			}
			t.Run(key, func(t *testing.T) {
				e := &effects{filled: map[string]bool{}, lost: map[string]bool{}, moved: map[string]map[string]bool{}}
				for _, sent := range kinds {
					e.decoding(t, sent, kind)
				}
				e.storing(t, kind, r.strategy)
				if e.objects < *rounds/2 {
					t.Errorf("only %d objects could be made", e.objects)
				}
				found[key] = e.listed()
				e.compare(t, known[key])
			})
		}
	}
	if *update {
		write(t, known, found)
	}
	for key := range known {
		if found[key] == nil && flag.Lookup("test.run").Value.String() == "" {
			t.Errorf("the table has %s, which is not tested", key)
		}
	}
}

// removed reports whether servers do not serve a version any more.
func removed(t *testing.T, kind schema.GroupVersionKind) bool {
	t.Helper()
	obj, err := legacyscheme.Scheme.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	ending, ok := obj.(interface{ APILifecycleRemoved() (major, minor int) })
	if !ok {
		return false
	}
	major, minor := ending.APILifecycleRemoved()
	current := compatibility.DefaultBuildEffectiveVersion().BinaryVersion()
	return major < int(current.Major()) || major == int(current.Major()) && minor <= int(current.Minor())
}

// decoding finds out what decoding an object of the kind sent does to fields of the kind in which
// objects are compared.
func (e *effects) decoding(t *testing.T, sent, kind schema.GroupVersionKind) {
	t.Helper()
	g, empty := newGenerator(*seed), pristine(t, kind)
	for range *rounds {
		o, ok := g.sent(t, sent)
		if !ok {
			continue
		}
		internal, ok := received(sent, o, true)
		if !ok {
			continue
		}
		raw, ok := received(sent, o, false)
		if !ok {
			continue
		}
		// A client can send a field by another spelling, which conversion tells.
		spelled, ok := judged(kind, raw)
		if !ok {
			continue
		}
		after, ok := judged(kind, internal)
		if !ok {
			continue
		}
		e.objects++
		differences(spelled, after, nil, func(path overlay.Path, was, now any) {
			if !ignored(path) && was == nil && !inEmpty(empty, path, now) && (sent != kind || !respelled(kind, o, path, now)) {
				e.filled[path.String()] = true
			}
		})
		if sent == kind {
			differences(o, after, nil, func(path overlay.Path, was, now any) {
				if !ignored(path) && now == nil && notZero(was) {
					e.lost[path.String()] = true
				}
			})
		}
	}
}

// respelled reports whether the client sent the value of a field by the name of a field beside it.
func respelled(kind schema.GroupVersionKind, o object, path overlay.Path, value any) bool {
	parent, _ := valueAt(o, path[:len(path)-1]).(object)
	for name, beside := range parent {
		if text(beside) != text(value) {
			continue
		}
		without, _ := shown(o)
		delete(valueAt(without, path[:len(path)-1]).(object), name)
		internal, ok := received(kind, without, true)
		if !ok {
			continue
		}
		if after, ok := judged(kind, internal); ok && valueAt(after, path) == nil {
			return true
		}
	}
	return false
}

// inEmpty reports whether an empty object with its defaults has the same value.
func inEmpty(empty object, path overlay.Path, value any) bool {
	return !slices.Contains(path, overlay.Step{Every: true}) && text(valueAt(empty, path)) == text(value)
}

func notZero(v any) bool {
	switch text(v) {
	case "null", "0", "false", `""`, "{}", "[]":
		return false
	}
	return true
}

// ignored reports whether a path takes no exclusion at all.
func ignored(path overlay.Path) bool {
	switch path[0].Name {
	case "status", "apiVersion", "kind":
		return true
	case "metadata":
		return len(path) < 2 || path[1].Name != "finalizers" && path[1].Name != "ownerReferences"
	}
	return false
}

// storing finds out what the storage does to fields that the client did not change.
func (e *effects) storing(t *testing.T, kind schema.GroupVersionKind, s strategy) {
	t.Helper()
	g := newGenerator(*seed + 1)
	ctx := genericapirequest.WithRequestInfo(genericapirequest.WithNamespace(context.Background(), "ns"), &genericapirequest.RequestInfo{})
	create := func(o object) (observed, final object, ok bool) {
		return stored(kind, o, nil, func(obj, _ runtime.Object) { s.PrepareForCreate(ctx, obj); s.Canonicalize(obj) })
	}
	for range *rounds {
		o, ok := g.sent(t, kind)
		another, okToo := g.sent(t, kind)
		if !ok || !okToo {
			continue
		}
		observed, old, ok := create(o)
		if !ok {
			continue
		}
		differences(observed, old, nil, func(path overlay.Path, _, now any) {
			if !ignored(path) && now != nil { // what a create drops is in no object
				e.created(path, o, create)
			}
		})
		for _, source := range fields(another) {
			changed, _ := shown(old)
			if text(valueAt(old, source)) == text(valueAt(another, source)) || !set(changed, source, valueAt(another, source), g.Intn(4) == 0) {
				continue
			}
			observed, final, ok := stored(kind, changed, old, func(obj, old runtime.Object) { s.PrepareForUpdate(ctx, obj, old); s.Canonicalize(obj) })
			if !ok {
				continue
			}
			var own []overlay.Path
			differences(old, observed, nil, func(path overlay.Path, _, _ any) { own = append(own, path) })
			differences(observed, final, nil, func(path overlay.Path, _, now any) {
				restored := !slices.Contains(path, overlay.Step{Every: true}) && text(valueAt(old, path)) == text(now)
				client := slices.ContainsFunc(own, func(p overlay.Path) bool { return len(p) > 1 && overlaps(path, p) })
				if !ignored(path) && !restored && !client {
					e.move(path.String(), source.String())
				}
			})
		}
	}
}

// created records why a create sets a field that the client did not send: because of another field,
// without which it does not set the field, or because of what is beside it.
func (e *effects) created(path overlay.Path, o object, create func(object) (observed, final object, ok bool)) {
	found := false
	for _, source := range fields(o) {
		without, _ := shown(o)
		if overlaps(path, source) || !set(without, source, nil, true) {
			continue
		}
		observed, final, ok := create(without)
		if !ok {
			continue
		}
		still := false
		differences(observed, final, nil, func(p overlay.Path, _, _ any) { still = still || p.String() == path.String() })
		if !still {
			found = true
			e.move(path.String(), source.String())
		}
	}
	if !found && len(path) > 1 {
		e.move(path.String(), path[:2].String())
	}
}

// fields returns the fields of an object that are changed one at a time.
func fields(o object) (out []overlay.Path) {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		part, isObject := o[name].(object)
		if !isObject || ignored(overlay.Path{{Name: name}, {Name: "finalizers"}}) {
			continue
		}
		for _, field := range slices.Sorted(maps.Keys(part)) {
			if path := (overlay.Path{{Name: name}, {Name: field}}); !ignored(path) {
				out = append(out, path)
			}
		}
	}
	return out
}

// set sets or removes a field, and reports whether the object has the part around it.
func set(o object, path overlay.Path, value any, remove bool) bool {
	part, ok := o[path[0].Name].(object)
	if !ok {
		return false
	}
	part[path[1].Name] = value
	if remove || value == nil {
		delete(part, path[1].Name)
	}
	return true
}

func overlaps(a, b overlay.Path) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// stored returns an object as it is compared before and after prepare. old is nil for a create.
func stored(kind schema.GroupVersionKind, sent, old object, prepare func(obj, old runtime.Object)) (observed, final object, ok bool) {
	defer func() {
		if recover() != nil { // a strategy meets an object that validation would have refused
			ok = false
		}
	}()
	internal, ok := received(kind, sent, true)
	if !ok {
		return nil, nil, false
	}
	var was runtime.Object
	if old != nil {
		if was, ok = received(kind, old, true); !ok {
			return nil, nil, false
		}
	}
	if observed, ok = judged(kind, internal); !ok {
		return nil, nil, false
	}
	prepare(internal, was)
	final, ok = judged(kind, internal)
	return observed, final, ok
}

// listed returns the effects in the form of the table.
func (e *effects) listed() *effectsJSON {
	out := &effectsJSON{Filled: outermost(e.filled), Lost: outermost(e.lost), Moved: map[string][]string{}}
	for target, sources := range e.moved {
		out.Moved[target] = slices.Sorted(maps.Keys(sources))
	}
	return out
}

// outermost returns the paths that are not inside another one.
func outermost(all map[string]bool) (out []string) {
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if !slices.ContainsFunc(out, func(o string) bool { return inside(path, o) }) {
			out = append(out, path)
		}
	}
	return out
}

func inside(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// compare checks that the table has all effects.
func (e *effects) compare(t *testing.T, known *effectsJSON) {
	t.Helper()
	if *update {
		return
	}
	if known == nil {
		t.Fatal("the table lacks this version; run the test with -update")
	}
	covered := func(list []string, path string) bool {
		return slices.ContainsFunc(list, func(o string) bool { return inside(path, o) })
	}
	for path := range e.filled {
		if !covered(known.Filled, path) {
			t.Errorf("the server sets %s if a client does not send it", path)
		}
	}
	for path := range e.lost {
		if !covered(known.Lost, path) {
			t.Errorf("the server does not store %s", path)
		}
	}
	for target, sources := range e.moved {
		for source := range sources {
			if !slices.Contains(known.Moved[target], source) {
				t.Errorf("the server sets %s because of %s", target, source)
			}
		}
	}
}

// write adds the effects that were found to the table. What is in it stays: other random objects have shown it.
func write(t *testing.T, known, found map[string]*effectsJSON) {
	t.Helper()
	for key, k := range known {
		if found[key] == nil {
			found[key] = k
			continue
		}
		e := effects{filled: map[string]bool{}, lost: map[string]bool{}, moved: map[string]map[string]bool{}}
		for _, some := range []*effectsJSON{k, found[key]} {
			for _, path := range some.Filled {
				e.filled[path] = true
			}
			for _, path := range some.Lost {
				e.lost[path] = true
			}
			for target, sources := range some.Moved {
				for _, source := range sources {
					e.move(target, source)
				}
			}
		}
		found[key] = e.listed()
	}
	data, err := json.MarshalIndent(found, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(table, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
