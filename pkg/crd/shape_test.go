// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
	"testing"
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
