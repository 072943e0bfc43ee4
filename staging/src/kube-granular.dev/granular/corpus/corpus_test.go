// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/internal/testmodels"
)

const dir = "../../../../../test/corpus"

// known has the kinds for which this library has test models. The tests in test/corpus import the
// generated definitions, so they run the whole corpus.
var known = map[string]reflect.Type{
	"Deployment": reflect.TypeFor[appsv1.Deployment](),
	"Pod":        reflect.TypeFor[corev1.Pod](),
	"ConfigMap":  reflect.TypeFor[corev1.ConfigMap](),
	"Widget":     nil,
}

// load returns the scenarios of known kinds.
func load(t *testing.T, read func(string) ([]Scenario, error)) []Scenario {
	t.Helper()
	all, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(s Scenario) bool {
		_, ok := known[s.GVK().Kind]
		return !ok
	})
}

func run(t *testing.T, s *Scenario, object func(Object) (any, error)) Outcome {
	t.Helper()
	gvk := s.GVK()
	tree, err := testmodels.Tree(gvk.Group, gvk.Version, gvk.Kind)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Run(s, change.NewWalker(tree), object)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// typed returns a function that converts an object to the Go type of a built-in kind.
func typed(goType reflect.Type) func(Object) (any, error) {
	return func(o Object) (any, error) {
		if o == nil {
			return reflect.Zero(reflect.PointerTo(goType)).Interface(), nil
		}
		out := reflect.New(goType).Interface()
		data, err := yaml.Marshal(o)
		if err == nil {
			err = yaml.UnmarshalStrict(data, out)
		}
		return out, err
	}
}

func TestCorpus(t *testing.T) {
	for _, s := range load(t, Load) {
		t.Run(filepath.Base(s.File)+"/"+s.Name, func(t *testing.T) {
			if diff := cmp.Diff(s.Want(), run(t, &s, Plain)); diff != "" {
				t.Errorf("unstructured; if this is meant, run with -update and read what changed in %s (-want +got):\n%s", s.File, diff)
			}
			if goType := known[s.GVK().Kind]; goType != nil {
				if diff := cmp.Diff(s.Want(), run(t, &s, typed(goType))); diff != "" {
					t.Errorf("Go type (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestEveryUsedGrantIsNeeded removes each grant that an allowed scenario used. The request is then
// refused, and the refusal names the removed grant.
func TestEveryUsedGrantIsNeeded(t *testing.T) {
	for _, s := range load(t, Load) {
		if s.Decision != Allow {
			continue
		}
		for _, grant := range s.Grants {
			if !slices.Contains(s.Asked, grant) {
				continue
			}
			without := s
			without.Grants = slices.DeleteFunc(slices.Clone(s.Grants), func(g string) bool { return g == grant })
			if got := run(t, &without, Plain); got.Decision != Forbidden {
				t.Errorf("%s: allowed without %s", s.Name, grant)
			}
		}
	}
}

func TestOverlayAndDiff(t *testing.T) {
	parse := func(text string) (o Object) {
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	tests := map[string]struct{ before, diff, after string }{
		"nothing":         {`{a: {b: 1}}`, `{}`, `{a: {b: 1}}`},
		"a field":         {`{a: {b: 1, c: 1}}`, `{a: {b: 2}}`, `{a: {b: 2, c: 1}}`},
		"a field more":    {`{}`, `{a: {b: 2}}`, `{a: {b: 2}}`},
		"a field less":    {`{a: {b: 1, c: 1}}`, `{a: {b: null}}`, `{a: {c: 1}}`},
		"the last field":  {`{a: {b: 1}}`, `{a: {b: null}}`, `{a: {}}`},
		"a whole field":   {`{a: {b: 1}}`, `{a: null}`, `{}`},
		"a list":          {`{a: [1, 2]}`, `{a: [1]}`, `{a: [1]}`},
		"another type":    {`{a: [1, 2]}`, `{a: {b: 1}}`, `{a: {b: 1}}`},
		"a field, a list": {`{a: {b: 1}}`, `{a: [1]}`, `{a: [1]}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := parse(tc.before), parse(tc.after)
			diff := Diff(before, after)
			if d := cmp.Diff(parse(tc.diff), diff); d != "" {
				t.Errorf("difference (-want +got):\n%s", d)
			}
			if d := cmp.Diff(after, Overlay(before, diff)); d != "" {
				t.Errorf("overlay (-want +got):\n%s", d)
			}
			if d := cmp.Diff(parse(tc.before), before); d != "" {
				t.Errorf("what was overlaid changed (-want +got):\n%s", d)
			}
		})
	}
}
