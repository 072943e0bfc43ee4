// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestElementsWithValues checks an atomic list whose elements carry a permission made from a value: an
// element that only moves is a change of the list alone, and a list that comes or goes with its elements
// is no change of its own.
func TestElementsWithValues(t *testing.T) {
	w := walkerFor(t, ofValues)
	for name, test := range map[string]struct {
		old, new string
		want     []string
	}{
		"the list comes": {`{}`, `{taints: [{key: a}]}`, []string{"taint (a) .taints[*]"}},
		"the list goes":  {`{taints: [{key: a}]}`, `{}`, []string{"taint (a) .taints[*]"}},
		"two of one key change places": {`{taints: [{key: a, level: 1}, {key: a, level: 2}]}`,
			`{taints: [{key: a, level: 2}, {key: a, level: 1}]}`, []string{"taints .taints"}},
		"one of two of one key changes": {`{taints: [{key: a, level: 1}, {key: a, level: 2}]}`,
			`{taints: [{key: a, level: 2}, {key: a, level: 3}]}`, []string{"taints .taints", "taint (a) .taints[*]"}},
		"one is replaced":               {`{taints: [{key: a}]}`, `{taints: [{key: b}]}`, []string{"taint (a,b) .taints[*]"}},
		"a value comes with its object": {`{}`, `{box: {mode: a}}`, []string{"mode (a) .box.mode"}},
		"a value changes to null":       {`{}`, `{mode: null}`, []string{"mode (?) .mode"}},
	} {
		if diff := cmp.Diff(test.want, shownValues(compareOrFail(t, w, All, plainOf(t, test.old), plainOf(t, test.new)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	type unwritable struct {
		Key   string `json:"key"`
		Extra badly  `json:"extra"`
	}
	type object struct {
		Taints []unwritable `json:"taints"`
	}
	w = walkerFor(t, `{taints: {x-kubernetes-permission-verb: taints, items: {type: object, properties: {key: {type: string}},
		x-kubernetes-permission-verb: taint, x-kubernetes-permission-parameterized-by: self.key}}}`)
	got := shownValues(compareOrFail(t, w, All, &object{[]unwritable{{Key: "a"}, {Key: "b"}}}, &object{[]unwritable{{Key: "b"}, {Key: "a"}}}))
	if diff := cmp.Diff([]string{"taints .taints"}, got); diff != "" {
		t.Errorf("elements that can't be written as JSON change places (-want +got):\n%s", diff)
	}
}
