// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import "testing"

// TestValuesOfTheSameChanges checks that the values of a change are known if the same changes are
// about to be stored that were observed, also in a list whose elements can't be told apart. They are
// not known if somebody else changed the list.
func TestValuesOfTheSameChanges(t *testing.T) {
	w := walkerFor(t, `{list: {x-kubernetes-permission-verb: list, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [key],
	  items: {x-kubernetes-permission-scope: element, properties: {key: {type: string},
	    level: {type: string, x-kubernetes-permission-verb: level, x-kubernetes-permission-parameterized-by: self}}}}}`)
	const old, sent = `{}`, `{list: [{key: a}, {key: a, level: low}]}`
	observed := compareOrFail(t, w, All, plainOf(t, old), plainOf(t, sent))
	for final, known := range map[string]bool{sent: true, `{list: [{key: a, level: high}]}`: false} {
		found := false
		for _, c := range Intersect(observed, compareOrFail(t, w, All, plainOf(t, old), plainOf(t, final))) {
			if c.HasValues() {
				found = true
				if _, ok := c.Values(c.Node.Last()); ok != known {
					t.Errorf("stored %s: the values of %s are known: %v", final, c.String(), ok)
				}
			}
		}
		if !found {
			t.Errorf("stored %s: no change has values", final)
		}
	}
}
