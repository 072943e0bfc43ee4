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

// What holders of update did to get around an excluded permission, and what they may
// do without one.
func TestExcluded(t *testing.T) {
	const (
		either = `{ports: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port], items: {properties: {port: {x-kubernetes-int-or-string: true}, guard: {type: string, +}}}}}`
		flags  = `{flags: {additionalProperties: {type: string, default: "on", +}}}`
		tags   = `{tags: {type: array, x-kubernetes-list-type: set, items: {type: string, default: admin, +}}}`
		box    = `{box: {default: {limit: 0}, properties: {limit: {type: integer}}, +}}`
		rules  = `{rules: {type: array, default: [{name: x}], items: {properties: {name: {type: string}, weight: {type: integer, default: 7}}}, +}}`
	)
	for _, test := range []struct {
		name, properties, old, new string
		want                       []string
	}{
		{"a key of another type is another element", either, `{ports: [{port: 80, guard: "on"}]}`, `{ports: [{port: "80", guard: "on"}]}`,
			[]string{`guard .ports[port="80"].guard`}},
		{"keys of two types change places", either, `{ports: [{port: 80, guard: "on"}, {port: "80", guard: "off"}]}`, `{ports: [{port: "80", guard: "on"}, {port: 80, guard: "off"}]}`,
			[]string{`guard .ports[port="80"].guard`}},
		{"elements of two types change places", either, `{ports: [{port: 80, guard: "on"}, {port: "80", guard: "off"}]}`, `{ports: [{port: "80", guard: "off"}, {port: 80, guard: "on"}]}`, nil},
		{"no key of a map is there by default", flags, `{flags: {}}`, `{flags: {a: "on"}}`, []string{`guard .flags[a]`}},
		{"nor goes by default", flags, `{flags: {a: "on"}}`, `{flags: {}}`, []string{`guard .flags[a]`}},
		{"no element of a set is there by default", tags, `{tags: [user]}`, `{tags: [user, admin]}`, []string{`guard .tags["admin"]`}},
		{"less than the default", box, ``, `{box: {}}`, []string{`guard .box`}},
		{"the default", box, ``, `{box: {limit: 0}}`, nil},
		{"a list with defaults within", rules, ``, `{rules: [{name: x, weight: 7}]}`, nil},
		{"a list with more than defaults", rules, ``, `{rules: [{name: x, weight: 8}]}`, []string{`guard .rules`}},
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
			set, err := NewWalker(tree).Compare(Sparse, plainOf(t, test.old), plainOf(t, test.new))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, verbs(set)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
