// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestElementsWithoutIdentity shows that elements of a list-map or set are compared by position if
// they have no identity. An Ambiguous change of the list is then added. Atomic lists are compared
// by position too.
func TestElementsWithoutIdentity(t *testing.T) {
	const (
		keyed  = `{list: {x-kubernetes-permission-verb: list, type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a, b], items: {properties: {a: {type: string}, b: {type: string}, v: {type: integer, x-kubernetes-permission-verb: value}}}}}`
		set    = `{set: {x-kubernetes-permission-verb: set, type: array, x-kubernetes-list-type: set, items: {type: number, x-kubernetes-permission-verb: member}}}`
		atomic = `{spec: {x-kubernetes-permission-verb: specification, properties: {steps: {type: array, items: {properties: {by: {x-kubernetes-permission-verb: approval}}}}}}}`
	)
	for _, test := range []struct {
		name, properties, old, new string
		want                       []string
	}{
		{"the first key is missing", keyed, `{list: [{b: x, v: 1}]}`, `{list: [{b: x, v: 2}]}`,
			[]string{`list .list *`, `value .list[a="",b="x"].v`}},
		{"the last key is missing", keyed, `{list: [{a: x, v: 1}]}`, `{list: [{a: x, v: 2}]}`,
			[]string{`list .list *`, `value .list[a="x",b=""].v`}},
		{"both are there", keyed, `{list: [{a: x, b: z, v: 1}]}`, `{list: [{a: x, b: z, v: 2}]}`,
			[]string{`value .list[a="x",b="z"].v`}},
		{"an element is no object", keyed, `{list: [1]}`, `{list: [2]}`, []string{`list .list *`, `list .list *[*]`}},
		{"the list comes with twins", keyed, `{other: 1}`, `{other: 1, list: [{a: x, b: z}, {a: x, b: z}]}`,
			[]string{`list .list`, `list .list *`}},
		{"the list of twins goes", keyed, `{other: 1, list: [{a: x, b: z}, {a: x, b: z}]}`, `{other: 1}`,
			[]string{`list .list`, `list .list *`}},
		{"numbers of a set", set, `{set: [1.5, 2]}`, `{set: [2.5, 2]}`,
			[]string{`member .set["1.5"]`, `member .set["2.5"]`}},
		{"large numbers of a set", set, `{set: [1e300]}`, `{set: [2e300]}`,
			[]string{`member .set["1e+300"]`, `member .set["2e+300"]`}},
		{"an object in a set", set, `{set: [{a: 1}]}`, `{set: [{a: 2}]}`, []string{`set .set *`, `member .set[""]`}},
		{"an object comes into a set", set, `{other: 1}`, `{other: 1, set: [{a: 2}]}`,
			[]string{`set .set *`, `member .set[""]`}},
		{"an atomic list comes", atomic, `{spec: {x: 1}}`, `{spec: {x: 1, steps: [{by: a}]}}`,
			[]string{`specification .spec`, `approval .spec.steps[*].by`}},
		{"an atomic list comes, of what has no permission", atomic, `{spec: {x: 1}}`,
			`{spec: {x: 1, steps: [{at: a}]}}`, []string{`specification .spec`}},
		{"an atomic list goes", atomic, `{spec: {x: 1, steps: [{by: a}]}}`, `{spec: {x: 1}}`,
			[]string{`specification .spec`, `approval .spec.steps[*].by`}},
		{"an empty atomic list comes", atomic, `{spec: {x: 1}}`, `{spec: {x: 1, steps: []}}`,
			[]string{`specification .spec *.steps`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := walkerFor(t, test.properties)
			set := compareOrFail(t, w, All, plainOf(t, test.old), plainOf(t, test.new))
			if diff := cmp.Diff(test.want, verbs(set)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// The kind has no excluded permission, so ExcludedOnly finds no changes.
			if set := compareOrFail(t, w, ExcludedOnly, plainOf(t, test.old), plainOf(t, test.new)); len(set) > 0 {
				t.Errorf("sparse: %v", verbs(set))
			}
		})
	}
}

// TestSetKeepsPresenceApart shows that normalize keeps a Presence change and another Ambiguous
// change of the same location apart, in a fixed order.
func TestSetKeepsPresenceApart(t *testing.T) {
	w := walkerFor(t, `{a: {x-kubernetes-permission-verb: a, properties: {b: {x-kubernetes-permission-verb: b}}}, c: {x-kubernetes-permission-verb: c}}`)
	place := w.Charge("a")
	whole := func(presence bool) Change {
		c := place
		c.Ambiguous, c.Presence, c.extent = true, presence, c.at
		return c
	}
	for _, set := range []Set{
		{whole(true), whole(false), place, w.Charge("c"), whole(true)}, {w.Charge("c"), place, whole(false), whole(true), place},
		{whole(false), whole(true), w.Charge("c"), place}, {place, whole(true), whole(true), whole(false), w.Charge("c")},
	} {
		got := set.normalize()
		var shown []string
		for _, c := range got {
			shown = append(shown, strings.TrimSpace(c.String()+" "+map[bool]string{true: "presence"}[c.Presence]))
		}
		if diff := cmp.Diff([]string{".a", ".a *", ".a * presence", ".c"}, shown); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestParameterAtTheSource shows that a change of a whole map has no parameter. Only changes of
// single keys in the map have one.
func TestParameterAtTheSource(t *testing.T) {
	w := walkerFor(t, `{tags: {x-kubernetes-permission-verb: tags, x-kubernetes-permission-parameter-source: tag, additionalProperties: {x-kubernetes-permission-verb: tag, x-kubernetes-permission-parameterized-by: tag}}}`)
	c := w.Charge("tags", "x")
	p := c.Node.Last()
	if got := c.Parameter(p); got != "x" {
		t.Errorf("the parameter is %q", got)
	}
	c.at = c.at.up(1)
	if got := c.Parameter(p); got != "" {
		t.Errorf("of the whole map it is %q", got)
	}
	c = w.Charge("tags", "x")
	c.at.Keys = nil
	if got := c.Parameter(p); got != "" {
		t.Errorf("without a key it is %q", got)
	}
}
