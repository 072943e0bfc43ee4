// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/rule"
	"kube-granular.dev/granular/schema"
)

// kind is one small schema in both forms.
type kind struct {
	root  *Node
	field *rule.Field
	// walker compares along the tree of the schema. referring does so along the tree of a schema that has
	// each field as a definition of its own; such trees share nodes.
	walker, referring *change.Walker
	// goType is a Go type of the objects, and typedWrites counts the writes of which it was compared.
	goType      reflect.Type
	typedWrites int
	caller      Caller
}

// compiled returns the kind of a schema. shared is the interner of many kinds.
func compiled(root *Node, same bool, shared *schema.Interner) (*kind, error) {
	s := Names{Same: same}.OpenAPI(root)
	tree, err := schema.Compile(map[string]*spec.Schema{"root": &s}, "root")
	if err != nil {
		return nil, err
	}
	definitions := map[string]*spec.Schema{}
	definitions["root"] = apart(s, definitions)
	other, err := schema.NewModels(definitions, schema.WithInterner(shared)).Compile("root")
	if err != nil {
		return nil, err
	}
	return &kind{
		root: root, field: Names{Same: same}.Field(root), walker: change.NewWalker(tree), referring: change.NewWalker(other),
		caller: *NewCaller(),
	}, nil
}

// apart returns the schema with each schema inside as a definition.
func apart(s spec.Schema, definitions map[string]*spec.Schema) *spec.Schema {
	refer := func(inside spec.Schema) *spec.Schema {
		name := fmt.Sprintf("d%d", len(definitions))
		definitions[name] = nil
		definitions[name] = apart(inside, definitions)
		return &spec.Schema{SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef("#/definitions/" + name)}}
	}
	if s.Properties != nil {
		properties := map[string]spec.Schema{}
		for name, inside := range s.Properties {
			properties[name] = *refer(inside)
		}
		s.Properties = properties
	}
	if s.AdditionalProperties != nil {
		s.AdditionalProperties = &spec.SchemaOrBool{Schema: refer(*s.AdditionalProperties.Schema)}
	}
	if s.Items != nil {
		s.Items = &spec.SchemaOrArray{Schema: refer(*s.Items.Schema)}
	}
	return &s
}

// write is one world, but for the verbs of the caller.
type write struct {
	stored, sent any
	// final is the object about to be stored, if others changed the one that was sent.
	final    any
	granular bool
}

func (w write) mode() change.Mode {
	if w.granular {
		return change.All
	}
	return change.ExcludedOnly
}

// old returns the stored object as a Walker takes it.
func (w write) old() any {
	if _, absent := w.stored.(rule.Absent); absent {
		return nil
	}
	return w.stored
}

// optimisation is one way in which the server gets the changes of a write. All ways must lead to the same
// decisions.
type optimisation struct {
	name    string
	changes func(k *kind, w write, observed change.Set) (change.Set, error)
}

var optimisations = []optimisation{
	{"no memory that the objects share", func(k *kind, w write, _ change.Set) (change.Set, error) {
		return k.walker.Compare(w.mode(), copied(w.old()), copied(w.sent))
	}},
	{"all fields, also those in which no change was observed", func(k *kind, w write, observed change.Set) (change.Set, error) {
		final, err := k.walker.Compare(w.mode(), w.old(), w.sent)
		return change.Answerable(observed, final), err
	}},
	{"all changes of a caller with update", func(k *kind, w write, _ change.Set) (change.Set, error) {
		return k.walker.Compare(change.All, w.old(), w.sent)
	}},
	{"a Go type", func(k *kind, w write, observed change.Set) (change.Set, error) {
		sent, ok := k.typed(w.sent)
		old, okOld := any(nil), true
		if w.old() != nil {
			old, okOld = k.typed(w.stored)
		}
		if !ok || !okOld {
			return change.Answerable(observed, observed), nil // the type can't represent the objects
		}
		k.typedWrites++
		return k.walker.Compare(w.mode(), old, sent)
	}},
	{"nodes that trees share", func(k *kind, w write, _ change.Set) (change.Set, error) {
		return k.referring.Compare(w.mode(), w.old(), w.sent)
	}},
}

// judge judges a write by callers of all sets of verbs, and returns how many it judged. way is the number of
// the optimisation to judge besides the usual way.
func (k *kind) judge(w write, way int) (int, error) {
	differences := rule.Differences(k.field, w.stored, w.sent)
	observed, err := k.walker.Compare(w.mode(), w.old(), w.sent)
	if err != nil {
		return 0, err
	}
	usual, err := k.usual(w, observed)
	if err != nil {
		return 0, err
	}
	o := optimisations[way%len(optimisations)]
	other, err := o.changes(k, w, observed)
	if err != nil {
		return 0, err
	}
	c, judged := &k.caller, 0
	c.Begin()
	for more := true; more; more = c.Next() {
		want := rule.Allowed(w.granular, differences, c.Holds)
		early := decide.New(c, 0).CoveredAsObserved(context.Background(), observed, w.granular)
		got, err := k.decide(w, usual)
		if err != nil {
			return 0, err
		}
		optimised, err := k.decide(w, other)
		if err != nil {
			return 0, err
		}
		judged++
		switch {
		case got != want:
			return judged, fmt.Errorf("allowed: %v, by the rule: %v", got, want)
		case early && !want:
			return judged, errors.New("allowed as observed, not by the rule")
		case optimised != want:
			return judged, fmt.Errorf("%s: allowed: %v, by the rule: %v", o.name, optimised, want)
		}
	}
	return judged, nil
}

// usual returns the changes that the server decides about if the observed ones do not suffice.
func (k *kind) usual(w write, observed change.Set) (change.Set, error) {
	final, err := k.walker.CompareObserved(w.mode(), observed, w.old(), w.sent)
	if err == nil && change.Dropped(observed, final) {
		final, err = k.walker.Compare(w.mode(), w.old(), w.sent)
	}
	return change.Answerable(observed, final), err
}

func (k *kind) decide(w write, changes change.Set) (bool, error) {
	d := decide.New(&k.caller, 0)
	refusal, err := d.Decide(context.Background(), changes, w.granular)
	return refusal == nil, err
}

// judgeAdmitted judges a write whose object others change before it is stored.
func (k *kind) judgeAdmitted(w write) (int, error) {
	sent, final := rule.Differences(k.field, w.stored, w.sent), rule.Differences(k.field, w.stored, w.final)
	whole := slices.ContainsFunc(slices.Concat(sent, final), differsAsWhole)
	if !w.granular {
		sent, final = rule.Excluded(sent), rule.Excluded(final)
	}
	own := rule.Own(sent, final)
	if whole {
		own = rule.Both(sent, final)
	}
	observed, err := k.walker.Compare(w.mode(), w.old(), w.sent)
	if err != nil {
		return 0, err
	}
	changes, err := k.usual(write{stored: w.stored, sent: w.final, granular: w.granular}, observed)
	if err != nil {
		return 0, err
	}
	c, judged := &k.caller, 0
	c.Begin()
	for more := true; more; more = c.Next() {
		needed := rule.Allowed(w.granular, own, c.Holds)
		early := decide.New(c, 0).CoveredAsObserved(context.Background(), observed, w.granular)
		got, err := k.decide(w, changes)
		if err != nil {
			return 0, err
		}
		judged++
		switch {
		case early && !needed:
			return judged, errors.New("allowed as observed, not by the rule")
		case got && !needed:
			return judged, errors.New("allowed, not by the rule")
		case !got && needed && !whole:
			return judged, errors.New("refused, allowed by the rule")
		}
	}
	return judged, nil
}

func differsAsWhole(d rule.Difference) bool {
	return slices.ContainsFunc(d, func(p rule.Place) bool { return p[len(p)-1].Whole })
}

// copied returns a value that shares no memory with v.
func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = copied(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = copied(v[i])
		}
		return out
	}
	return v
}
