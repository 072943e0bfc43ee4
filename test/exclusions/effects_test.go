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
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kube-granular.dev/granular/overlay"
)

var (
	update = flag.Bool("update", false, "add the effects that were found to the table of package overlay")
	rounds = flag.Int("rounds", 150, "random objects for each version of a resource")
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
			if kind := gv.WithKind(r.kind); legacyscheme.Scheme.Recognizes(kind) {
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
		write(t, found, known)
	}
	for key := range known {
		if found[key] == nil && flag.Lookup("test.run").Value.String() == "" {
			t.Errorf("the table has %s, which is not tested", key)
		}
	}
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
		before := o
		if sent != kind {
			raw, ok := received(sent, o, false)
			if !ok {
				continue
			}
			if before, ok = judged(kind, raw); !ok {
				continue
			}
		}
		after, ok := judged(kind, internal)
		if !ok {
			continue
		}
		e.objects++
		differences(before, after, nil, func(path overlay.Path, was, is any) {
			switch {
			case ignored(path):
			case was == nil && !inEmpty(empty, path, is):
				e.filled[path.String()] = true
			case is == nil && sent == kind && notZero(was):
				e.lost[path.String()] = true
			}
		})
	}
}

// inEmpty reports whether an empty object with its defaults has the same value.
func inEmpty(empty object, path overlay.Path, is any) bool {
	return !slices.Contains(path, overlay.Step{Every: true}) && text(at(empty, path)) == text(is)
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
	for range *rounds {
		o, ok := g.sent(t, kind)
		another, okToo := g.sent(t, kind)
		if !ok || !okToo {
			continue
		}
		e.stored(kind, o, nil, func(obj, _ runtime.Object) { s.PrepareForCreate(ctx, obj); s.Canonicalize(obj) })
		// One field of the object is changed at a time.
		for _, name := range slices.Sorted(maps.Keys(another)) {
			spec, isObject := another[name].(object)
			if !isObject || name == "metadata" || name == "status" {
				continue
			}
			for _, field := range slices.Sorted(maps.Keys(spec)) {
				changed, _ := shown(o)
				if part, ok := changed[name].(object); ok && text(part[field]) != text(spec[field]) {
					part[field] = spec[field]
					if g.Intn(4) == 0 {
						delete(part, field)
					}
					e.stored(kind, changed, o, func(obj, old runtime.Object) { s.PrepareForUpdate(ctx, obj, old); s.Canonicalize(obj) })
				}
			}
		}
	}
}

// stored finds out which fields prepare changes that the client did not change. old is nil for a
// create.
func (e *effects) stored(kind schema.GroupVersionKind, sent, old object, prepare func(obj, old runtime.Object)) {
	defer func() { _ = recover() }() // a strategy meets an object that validation would have refused
	internal, ok := received(kind, sent, true)
	if !ok {
		return
	}
	var was runtime.Object
	var before object
	if old != nil {
		if was, ok = received(kind, old, true); !ok {
			return
		}
		if before, ok = judged(kind, was); !ok {
			return
		}
	}
	observed, ok := judged(kind, internal)
	if !ok {
		return
	}
	prepare(internal, was)
	final, ok := judged(kind, internal)
	if !ok {
		return
	}
	var sources []string
	if old != nil {
		differences(before, observed, nil, func(path overlay.Path, _, _ any) {
			if !ignored(path) && (len(sources) == 0 || !strings.HasPrefix(path.String(), sources[len(sources)-1])) {
				sources = append(sources, path.String())
			}
		})
	}
	differences(observed, final, nil, func(path overlay.Path, a, b any) {
		if ignored(path) || len(path) == 0 {
			return
		}
		if old == nil {
			if b != nil { // what a create drops is in no object
				e.move(path.String(), "a create")
			}
			return
		}
		target := path.String()
		for _, source := range sources {
			if strings.HasPrefix(target, source) || strings.HasPrefix(source, target) {
				return // the client changes it
			}
		}
		if !slices.Contains(path, overlay.Step{Every: true}) && text(at(before, path)) == text(b) {
			return // the server restores what is stored
		}
		for _, source := range sources {
			e.move(target, source)
		}
	})
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

func write(t *testing.T, found, known map[string]*effectsJSON) {
	t.Helper()
	maps.Copy(known, found)
	data, err := json.MarshalIndent(known, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(table, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
