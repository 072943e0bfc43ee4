// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package cedar

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/granular/schema"
)

var writes = flag.Int("writes", 4000, "how many random writes each test judges")

// tally counts what was judged.
//
// equal are writes without a difference, which both must allow. unasked are those with elements of one key,
// those for which the policies compare too few values, or the library asks for too many verbs. The others are
// counted as allowed or forbidden; in excluded ones a difference is in an excluded permission.
type tally struct{ schemas, equal, unasked, allowed, forbidden, ordinary, excluded, parameterized int }

// kind is a schema in both forms.
type kind struct {
	schema *spec.Schema
	model  *model
	walker *change.Walker
}

// judge compares the answers about one write.
func (k *kind) judge(t *testing.T, found *tally, r *random, old, new any) {
	t.Helper()
	fields, told := k.model.differences(old, new)
	if !told {
		found.unasked++
		return
	}
	c := r.role(fields)
	want, ok, err := k.model.judge(c, fields)
	if err != nil {
		t.Fatal(err)
	}
	s := corpus.Scenario{Grants: c.verbs, Unmarked: c.ordinary}
	s.Old, _ = old.(map[string]any)
	s.New, _ = new.(map[string]any)
	got, err := corpus.Run(&s, k.walker, corpus.Plain)
	if err != nil {
		t.Fatal(err)
	}
	if !ok || strings.Contains(got.Needs, "would have to be checked") {
		found.unasked++
		return
	}
	found.count(c, fields, want)
	if (got.Decision == corpus.Allow) != want {
		a, _ := json.Marshal(s.Old)
		b, _ := json.Marshal(s.New)
		var kind []byte
		if k.model.metadata == "" {
			kind, _ = json.Marshal(k.schema)
		}
		var differ []string
		for _, f := range fields {
			differ = append(differ, f.name)
		}
		t.Fatalf("Cedar: %t, library: %s at %s\nfrom %s\nto %s\na holder of %q, ordinary %t\ndifferent: %q\n%s%s", want, got.Decision, got.Field,
			a, b, c.verbs, c.ordinary, differ, k.model.policies(c), kind)
	}
}

func (found *tally) count(c caller, fields []*field, allowed bool) {
	switch {
	case len(fields) == 0:
		found.equal++
		return
	case allowed:
		found.allowed++
	default:
		found.forbidden++
	}
	if c.ordinary {
		found.ordinary++
	}
	if slices.ContainsFunc(fields, func(f *field) bool { return f.has(func(p *permission) bool { return p.excluded }) }) {
		found.excluded++
	}
	if slices.ContainsFunc(fields, func(f *field) bool { return f.has(func(p *permission) bool { return p.value || p.key >= 0 }) }) {
		found.parameterized++
	}
}

// has reports whether a permission for a field is of some sort.
func (f *field) has(sort func(*permission) bool) bool {
	for p := f.last; p != nil; p = p.above {
		if sort(p) {
			return true
		}
	}
	return false
}

// TestWorlds judges random writes of random schemas.
func TestWorlds(t *testing.T) {
	var found tally
	for n := 0; found.allowed+found.forbidden < *writes; n++ {
		r := &random{Rand: rand.New(rand.NewPCG(uint64(n), 49)), same: n%4 == 3}
		root := r.schema(1+r.IntN(10), 0, false, "object")
		if n%5 == 4 {
			root = &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{"metadata": *root}}}
		}
		tree, err := schema.Compile(map[string]*spec.Schema{"root": root}, "root")
		if err != nil {
			if !strings.Contains(err.Error(), "more than 12 permissions on one path") {
				t.Fatalf("schema %d: %v", n, err)
			}
			continue
		}
		found.schemas++
		k := &kind{root, newModel(nil, root, ""), change.NewWalker(tree)}
		for range 40 {
			old := r.value(root, 1<<30)
			new := r.changed(root, old)
			if _, ok := new.(map[string]any); !ok {
				continue
			}
			if r.chance(8) {
				old = absent{}
			}
			k.judge(t, &found, r, old, new)
			if t.Failed() {
				return
			}
		}
	}
	found.report(t)
}

func (found tally) report(t *testing.T) {
	t.Helper()
	t.Logf("%+v", found)
	if total := found.allowed + found.forbidden; found.allowed < total/5 || found.forbidden < total/5 || found.unasked > total/20 {
		t.Errorf("that proves little: %+v", found)
	}
}
