// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// withoutSchema takes the schema from a version, and takes the version out of use.
func withoutSchema(version int) edit {
	return func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Spec.Versions[version].Schema = nil
		c.Spec.Versions[version].Served = false
	}
}

// TestKept checks which extensions are put back if an update opens a field: only those on the way to
// that field if that is enough, and otherwise all.
func TestKept(t *testing.T) {
	const (
		owners = `properties: {spec: {type: object, properties: {a: {type: string}, owners: {type: array, +list: map, +keys: [name], items: {type: object, required: [name], properties: {
			name: {type: string, +parameter-source: owner}, guard: {type: string, +verb: example.com/guard, +excluded: true, +parameterized-by: owner}}}}}}}`
		nested = `properties: {spec: {type: object, properties: {secret: {type: string, +verb: example.com/secret, +excluded: true},
			words: {type: object, additionalProperties: {type: object, +verb: example.com/word, properties: {w: {type: string, +verb: example.com/w}}}},
			parts: {type: array, items: {type: object, +verb: example.com/part, properties: {p: {type: string, +verb: example.com/p}}}}}}}`
		bareNested = `properties: {spec: {type: object, properties: {secret: {type: string},
			words: {type: object, additionalProperties: {type: object, properties: {w: {type: string}}}},
			parts: {type: array, items: {type: object, properties: {p: {type: string}}}}}}}`
	)
	marked := func(text, verb string) string {
		return strings.Replace(text, "a: {type: string", "a: {type: string, +verb: example.com/"+verb, 1)
	}
	openOwners := strings.NewReplacer(", +parameter-source: owner", "", ", +verb: example.com/guard, +excluded: true, +parameterized-by: owner", "").Replace(owners)
	if err := validator().Validate(definition(t, nil, owners), nil); len(err) > 0 {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name                string
		change              edit
		before, after, want []string
	}{
		{"another field keeps its new permission", nil, []string{guarded}, []string{marked(open, "new")}, []string{marked(guarded, "new")}},
		{"the key of a list gets its source back", nil, []string{owners}, []string{marked(openOwners, "new")}, []string{marked(owners, "new")}},
		{"all, in maps and lists", nil, []string{nested}, []string{bareNested}, []string{nested}},
		{"all, in each version its own, in a new one those of the stored one", nil,
			[]string{marked(guarded, "one"), marked(guarded, "two")}, []string{open, open, open}, []string{marked(guarded, "one"), marked(guarded, "two"), marked(guarded, "one")}},
		{"a version without a schema", withoutSchema(1), []string{guarded, guarded}, []string{open, open}, []string{guarded, guarded}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := validator()
			stored, updated := definition(t, test.change, test.before...), definition(t, test.change, test.after...)
			found := v.Openings(updated, stored)
			if len(found) == 0 {
				t.Fatal("the update opens nothing")
			}
			kept := v.Keep(updated, stored, found)
			if kept == nil {
				t.Fatal("nothing is kept")
			}
			if diff := cmp.Diff(definition(t, test.change, test.want...).Spec, kept.Spec); diff != "" {
				t.Errorf("(-want +kept):\n%s", diff)
			}
		})
	}
}

// TestKeptStatus checks that the status that comes with an update does not decide what is kept, and
// that Keep leaves it as it is. The server writes no status with an update of a definition.
func TestKeptStatus(t *testing.T) {
	const typeless = "properties: {spec: {type: object, properties: {a: {type: string}, x: {description: x}, secret: {type: string"
	v := validator()
	stored, updated := definition(t, nil, guarded), definition(t, nil, typeless+"}}}}")
	updated.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{{Type: apiextensions.NonStructuralSchema, Status: apiextensions.ConditionTrue}}
	kept := v.Keep(updated, stored, v.Openings(updated, stored))
	if kept == nil {
		t.Fatal("nothing is kept")
	}
	if diff := cmp.Diff(definition(t, nil, typeless+", +verb: example.com/secret, +excluded: true}}}}").Spec, kept.Spec); diff != "" {
		t.Errorf("spec (-want +kept):\n%s", diff)
	}
	if diff := cmp.Diff(updated.Status, kept.Status); diff != "" {
		t.Errorf("status (-want +kept):\n%s", diff)
	}
}
