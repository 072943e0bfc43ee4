// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/schema"
)

// TestExcluded lists attempts of callers with the verb update to change a field without its
// excluded permission, and changes that need no excluded permission.
func TestExcluded(t *testing.T) {
	const (
		either = `{ports: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port], items: {properties: {port: {x-kubernetes-int-or-string: true}, guard: {type: string, +}}}}}`
		flags  = `{flags: {additionalProperties: {type: string, default: "on", +}}}`
		tags   = `{tags: {type: array, x-kubernetes-list-type: set, items: {type: string, default: admin, +}}}`
		box    = `{box: {default: {limit: 0}, properties: {limit: {type: integer}}, +}}`
		rules  = `{rules: {type: array, default: [{name: x}], items: {properties: {name: {type: string}, weight: {type: integer, default: 7}}}, +}}`
		outer  = `{outer: {default: {limit: 5, other: 1}, properties: {limit: {type: integer, +}, other: {type: integer}, flags: {type: array, items: {properties: {limit: {type: integer, +}}}}}}}`
		beside = `{outer: {default: {limit: 5}, properties: {limit: {type: integer, +}}}, zone: {properties: {limit: {type: integer, +}}}}`
		above  = `{optional: {properties: {outer: {default: {limit: 5}, properties: {limit: {type: integer, default: 3, +}}}}}}`
		nested = `{outer: {default: {}, properties: {inner: {default: {limit: 5}, properties: {limit: {type: integer, +}}}}}}`
		listed = `{outer: {default: {items: [{limit: 1}]}, properties: {items: {type: array, items: {properties: {limit: {type: integer, +}}}}}}}`
	)
	for _, test := range []struct {
		name, properties, old, new string
		want                       []string
	}{
		{"a key of another type is another element", either, `{ports: [{port: 80, guard: "on"}]}`, `{ports: [{port: "80", guard: "on"}]}`,
			[]string{`guard .ports[port="80"].guard`}},
		{"keys of two types change places", either, `{ports: [{port: 80, guard: "on"}, {port: "80", guard: "off"}]}`, `{ports: [{port: "80", guard: "on"}, {port: 80, guard: "off"}]}`,
			[]string{`guard .ports[port="80"].guard`}},
		{"elements of two types change places", either,
			`{ports: [{port: 80, guard: "on"}, {port: "80", guard: "off"}]}`,
			`{ports: [{port: "80", guard: "off"}, {port: 80, guard: "on"}]}`, nil},
		{"no key of a map is there by default", flags, `{flags: {}}`, `{flags: {a: "on"}}`,
			[]string{`guard .flags[a]`}},
		{"nor goes by default", flags, `{flags: {a: "on"}}`, `{flags: {}}`, []string{`guard .flags[a]`}},
		{"no element of a set is there by default", tags, `{tags: [user]}`, `{tags: [user, admin]}`,
			[]string{`guard .tags["admin"]`}},
		{"less than the default", box, ``, `{box: {}}`, []string{`guard .box`}},
		{"the default", box, ``, `{box: {limit: 0}}`, nil},
		{"a list with defaults within", rules, ``, `{rules: [{name: x, weight: 7}]}`, nil},
		{"a list with more than defaults", rules, ``, `{rules: [{name: x, weight: 8}]}`, []string{`guard .rules`}},
		{"the default of what holds it", outer, ``, `{outer: {limit: 5, other: 1}}`, nil},
		// A default is exempt only in a new object. Otherwise a caller could remove the field and
		// let it come back with another default, or not at all.
		{"that goes", outer, `{outer: {limit: 5, other: 1}}`, `{}`, []string{`guard .outer.limit`}},
		{"that comes later", outer, `{}`, `{outer: {limit: 5, other: 1}}`, []string{`guard .outer.limit`}},
		{"that goes with what holds it", above, `{optional: {outer: {limit: 5}}}`, `{}`,
			[]string{`guard .optional.outer.limit`}},
		{"that comes back by its own default", above, `{}`, `{optional: {outer: {limit: 3}}}`, nil},
		{"its own default goes", above, `{optional: {outer: {limit: 3}}}`, `{}`, nil},
		{"and does not come back by that of what holds it", above, `{}`, `{optional: {outer: {limit: 5}}}`,
			[]string{`guard .optional.outer.limit`}},
		{"another value than in the default of what holds it", outer, ``, `{outer: {limit: 6, other: 1}}`,
			[]string{`guard .outer.limit`}},
		{"beside something else than in that default", outer, ``, `{outer: {limit: 5, other: 2}}`,
			[]string{`guard .outer.limit`}},
		{"less than in that default", outer, ``, `{outer: {limit: 5}}`, []string{`guard .outer.limit`}},
		{"the same value, in what was there", outer, `{outer: {other: 1}}`, `{outer: {limit: 5, other: 1}}`,
			[]string{`guard .outer.limit`}},
		{"from that default", outer, `{outer: {limit: 5, other: 1}}`, `{outer: {limit: 4, other: 1}}`,
			[]string{`guard .outer.limit`}},
		{"more than that default", outer, ``, `{outer: {limit: 5, other: 1, flags: [{limit: 5}]}}`,
			[]string{`guard .outer.flags[*].limit`, `guard .outer.limit`}},
		{"something else after what is its default", beside, ``, `{outer: {limit: 5}, zone: {limit: 5}}`,
			[]string{`guard .zone.limit`}},
		{"a default in a default", nested, ``, `{outer: {inner: {limit: 5}}}`, nil},
		{"another than the default in a default", nested, ``, `{outer: {inner: {limit: 4}}}`,
			[]string{`guard .outer.inner.limit`}},
		{"in a list of a default", listed, ``, `{outer: {items: [{limit: 1}]}}`, nil},
		{"in a list that is longer", listed, ``, `{outer: {items: [{limit: 1}, {limit: 1}]}}`,
			[]string{`guard .outer.items[*].limit`}},
		{"in a list of a default that was there", listed, `{outer: {}}`, `{outer: {items: [{limit: 1}]}}`,
			[]string{`guard .outer.items[*].limit`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := &spec.Schema{}
			text := strings.ReplaceAll(test.properties, "+", "x-kubernetes-permission-verb: guard, x-kubernetes-permission-excluded: true")
			if err := yaml.UnmarshalStrict([]byte("{properties: "+text+"}"), root); err != nil {
				t.Fatal(err)
			}
			tree, err := schema.Compile(map[string]*spec.Schema{"root": root}, "root")
			if err != nil {
				t.Fatal(err)
			}
			set, err := NewWalker(tree).Compare(ExcludedOnly, plainOf(t, test.old), plainOf(t, test.new))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, verbs(set)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
