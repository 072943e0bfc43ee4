// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kube-granular.dev/granular/schema"
)

// TestShapesAround checks that two versions without a conversion webhook must read an excluded
// field the same way, for different schemas around the field. Both versions read the same stored
// bytes.
func TestShapesAround(t *testing.T) {
	const guard = `{type: string, +verb: boom, +excluded: true}`
	root := func(text string) string {
		return `properties: {guard: ` + strings.Replace(text, "{", "{+verb: boom, +excluded: true, ", 1) + `}`
	}
	doors := func(more, key, guard string) string {
		return `properties: {spec: {type: object, properties: {doors: {type: array, ` + more + ` +list: map, +keys: [name], items: {type: object, required: [name], properties: {name: ` + key + `, guard: ` + guard + `}}}}}}`
	}
	const name = `{type: string}`
	inMap := func(value string) string {
		return `properties: {spec: {type: object, properties: {doors: {type: object, default: {a: {guard: ` + value + `}}, additionalProperties: {type: object, properties: {guard: ` + guard + `}}}}}}`
	}
	spec := func(more string) string {
		return `properties: {spec: {type: object, ` + more + ` properties: {inner: {type: object, nullable: true, properties: {guard: ` + guard + `}}}}}`
	}
	two := func(value string) string {
		return `properties: {spec: {type: object, default: ` + value + `, properties: {a: ` + guard + `, b: ` + guard + `}}}`
	}
	inList := func(inside string) string {
		return `properties: {list: {type: array, +list: map, +keys: [name], items: {type: object, required: [name], ` + strings.Replace(inside, "{", "{name: {type: string}, ", 1) + `}}}`
	}
	for _, test := range []struct{ name, v1, v2, want string }{
		{"a field of the root", root("{type: string}"), root("{type: integer}"), "type at .guard"},
		{"a field of the root, the same", root("{type: string}"), root("{type: string, maxLength: 3}"), ""},
		{"values of one kind in one", root("{type: object, additionalProperties: true}"),
			root("{type: object, additionalProperties: {type: string}}"), "schema at .guard[*]"},
		{"elements of one kind in one", root("{type: object, additionalProperties: {type: string}}"),
			root("{type: object, additionalProperties: true}"), "schema at .guard[*]"},
		{"a default in an element", doors("", name, guard),
			doors("", name, strings.Replace(guard, "type", "default: x, type", 1)),
			"default at .spec.doors[*].guard"},
		{"keys that may be numbers", doors("", name, guard), doors("", `{x-kubernetes-int-or-string: true}`, guard),
			"list at .spec.doors[*].guard"},
		{"a default of the list", doors("", name, guard), doors("default: [{name: a, guard: x}],", name, guard),
			"default at .spec.doors[*].guard"},
		{"another default of a map", inMap("x"), inMap("y"), "default at .spec.doors[*].guard"},
		{"the same default of a map", inMap("x"), inMap("x"), ""},
		{"a default for the second of two fields", two(`{a: x, b: y}`), two(`{a: x, b: z}`), "default at .spec.b"},
		{"a default for the second of two fields in a list", inList(two(`{a: x, b: y}`)), inList(two(`{a: x, b: z}`)), "default at .list[*].spec.b"},
		{"the same defaults for two fields in a list", inList(two(`{a: x, b: y}`)), inList(two(`{b: y, a: x}`)), ""},
		{"null and no default above", spec("default: {inner: null},"), spec("default: {},"),
			"default at .spec.inner.guard"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, pair := range [][2]string{{test.v1, test.v2}, {test.v2, test.v1}} {
				errs := validator().Validate(definition(t, nil, pair[0], pair[1]), nil)
				if test.want == "" && len(errs) > 0 || test.want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), "version v2 has another "+test.want)) {
					t.Errorf("want %q, got %v", test.want, errs)
				}
			}
		})
	}
}

// TestVersionsWithParameter checks that an excluded permission with a parameter and one of the
// same name without a parameter count as two different permissions.
func TestVersionsWithParameter(t *testing.T) {
	const taken, whole = `+parameterized-by: pool,`, ``
	pools := func(parameter string) string {
		return `properties: {pools: {type: object, +parameter-source: pool, additionalProperties: {type: string, +verb: pool, ` + parameter + ` +excluded: true}}}`
	}
	if errs := validator().Validate(definition(t, nil, pools(taken), pools(taken)+"\n"), nil); len(errs) > 0 {
		t.Error(errs)
	}
	got := validator().Validate(definition(t, nil, pools(taken), pools(whole)), nil).ToAggregate()
	if got == nil || !strings.Contains(got.Error(), "version v2 does not exclude permission pool(…), but version v1 does") || !strings.Contains(got.Error(), "version v2 excludes permission pool, but version v1 does not") {
		t.Error(got)
	}
}

// TestVersionsWithOtherParameters checks that without a conversion webhook, an excluded permission has
// the same parameter in all versions: the versions read the same stored field.
//
// Attack: writing an excluded field through the version that makes the parameter that the caller holds
// Answer: the definition is refused
// Was: got through; now the definition is refused
func TestVersionsWithOtherParameters(t *testing.T) {
	pools := func(parameter string) string {
		return `properties: {pools: {type: object, +parameter-source: pool, additionalProperties: {type: string, +verb: pool, ` + parameter + ` +excluded: true}}}`
	}
	rules := func(parameter string) string {
		return `properties: {rules: {type: array, items: {type: object, +verb: rule, ` + parameter + ` +excluded: true, properties: {owner: {type: string}, other: {type: string}}}}}`
	}
	const byKey = `+parameterized-by: pool,`
	for _, test := range []struct {
		name, v1, v2 string
		want         string
	}{
		{"the same key", pools(byKey), pools(byKey + ` maxLength: 3,`), ""},
		{"an expression", pools(byKey), pools(byKey + ` +parameter-expression: "'free'",`), "permission pool(…) at .pools[*]"},
		{"another expression", pools(byKey + ` +parameter-expression: "self",`), pools(byKey + ` +parameter-expression: "'free'",`), "permission pool(…) at .pools[*]"},
		{"a treatment", pools(byKey), pools(byKey + ` +parameter-treatment: slash-delimited-prefix,`), "permission pool(…) at .pools[*]"},
		{"the key and the value", pools(byKey), pools(`+parameterized-by: self,`), "permission pool(…) at .pools[*]"},
		{"the same field", rules(`+parameterized-by: self.owner,`), rules(`+parameterized-by: self.owner, description: d,`), ""},
		{"another field", rules(`+parameterized-by: self.owner,`), rules(`+parameterized-by: self.other,`), "permission rule(…) at .rules[*]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, pair := range [][2]string{{test.v1, test.v2}, {test.v2, test.v1}} {
				errs := validator().Validate(definition(t, nil, pair[0], pair[1]), nil)
				if test.want == "" && len(errs) > 0 || test.want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), "version v2 makes the parameter of "+test.want+" in another way than version v1")) {
					t.Errorf("want %q, got %v", test.want, errs)
				}
			}
			webhook := func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
			}
			if errs := validator().Validate(definition(t, webhook, test.v1, test.v2), nil); len(errs) > 0 {
				t.Errorf("with a webhook: %v", errs)
			}
		})
	}
}

// TestProblemsOfVersionsAreBounded checks that at most schema.MaxProblems problems are reported, also
// of two versions that differ everywhere.
func TestProblemsOfVersionsAreBounded(t *testing.T) {
	var marked, plain strings.Builder
	for i := range 10 * schema.MaxProblems {
		fmt.Fprintf(&marked, "f%d: {type: string, +verb: p%d, +excluded: true}, ", i, i)
		fmt.Fprintf(&plain, "f%d: {type: string}, ", i)
	}
	errs := validator().Validate(definition(t, nil, "properties: {"+marked.String()+"}", "properties: {a: {type: string, +verb: q}, "+plain.String()+"}"), nil)
	if len(errs) != schema.MaxProblems {
		t.Errorf("%d problems, want %d", len(errs), schema.MaxProblems)
	}
}

// TestDefaultsAreComparedOnce checks that the default of a list is compared once, however many
// excluded fields are in the list.
//
// Attack: a definition with a large default and many excluded fields in it, so that its validation takes minutes
// Answer: each default is compared once
func TestDefaultsAreComparedOnce(t *testing.T) {
	var fields strings.Builder
	for i := range 50 {
		fmt.Fprintf(&fields, "f%d: {type: string, +verb: p%d, +excluded: true}, ", i, i)
	}
	list := func(more string) string {
		return `properties: {spec: {type: object, default: {list: [{a: x}]}, properties: {list: {type: array, +list: map, +keys: [a], default: [{a: x}], ` + more + ` items: {type: object, required: [a], properties: {a: {type: string}, ` + fields.String() + `}}}}}}`
	}
	versions := versionsOf(definition(t, nil, list(""), list("description: d,")))
	v := validator()
	for _, version := range versions {
		if errs := v.validateVersion(version); len(errs) > 0 {
			t.Fatal(errs)
		}
	}
	compared := defaults{}
	places := 0
	for place := range versions[0].tree.NodePaths() {
		if place.Node().ExcludedAt {
			places++
			if where, what := pathDifference(versions[0].full, versions[1].full, place.Steps(), compared, false); what != "" {
				t.Errorf("another %s at %s", what, where)
			}
		}
	}
	if places != 50 || len(compared) != 2 {
		t.Errorf("%d fields, %d comparisons of defaults", places, len(compared))
	}
}
