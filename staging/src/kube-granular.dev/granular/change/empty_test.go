// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEmptyInMetadata checks that an empty object or list in the object's own metadata is an absent one
// whatever it holds: it has no value, and no shape that it lacks. Elsewhere it is there.
func TestEmptyInMetadata(t *testing.T) {
	const owner = `{x-kubernetes-permission-verb: owner, x-kubernetes-permission-parameterized-by: self.name,
	  properties: {name: {type: string}}}`
	const marks = `{x-kubernetes-permission-verb: marks, additionalProperties: {type: string, x-kubernetes-permission-verb: mark}}`
	const both = `{properties: {owner: ` + owner + `, marks: ` + marks + `}}`
	w := walkerFor(t, `{metadata: `+both+`, spec: `+both+`}`)
	for name, test := range map[string]struct {
		old, new string
		values   []string
		want     []string
	}{
		"a value":           {`{metadata: {owner: {}}}`, `{metadata: {owner: {name: a}}}`, []string{"a"}, []string{"- .metadata.owner"}},
		"a value elsewhere": {`{spec: {owner: {}}}`, `{spec: {owner: {name: a}}}`, []string{"", "a"}, []string{"- .spec.owner"}},
		"another shape":     {`{metadata: {marks: []}}`, `{metadata: {marks: {a: b}}}`, nil, []string{"mark .metadata.marks[a]"}},
		"another shape elsewhere": {`{spec: {marks: []}}`, `{spec: {marks: {a: b}}}`, nil,
			[]string{"marks .spec.marks *", "mark .spec.marks[a]"}},
	} {
		t.Run(name, func(t *testing.T) {
			set := compareOrFail(t, w, All, plainOf(t, test.old), plainOf(t, test.new))
			if diff := cmp.Diff(test.want, verbs(set)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if values, _ := set[0].Values(set[0].Node.Last()); cmp.Diff(test.values, values) != "" {
				t.Errorf("values %q, wanted %q", values, test.values)
			}
		})
	}
}
