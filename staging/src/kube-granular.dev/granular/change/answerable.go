// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import "kube-granular.dev/granular/schema"

// reach is what a permission covers of one field of the root.
type reach struct {
	permission string
	field      *schema.Node
}

func reachOf(c *Change) (reach, bool) {
	last := c.Node.Last()
	if last == nil || len(c.Path) == 0 {
		return reach{}, false
	}
	return reach{last.Name, c.Path[0].Node}, true
}

// Answerable gives what the caller has to answer for: the Intersect of what the caller
// changed and what is about to change, and observed changes that may be stored under
// another key. A webhook that writes keys in lower case, or moves a field to its new name,
// would else let anybody write what the permission guards: the caller's place does not
// change in the end, and the place that does is not the caller's.
//
// So an observed change that is gone counts if the same permission, in the same field of the
// root, covers a final change that nobody observed. Who may make the observed change is not
// disturbed, and who may not is refused for what the caller did, not for what the webhook did.
func Answerable(observed, final Set) Set {
	out := Intersect(observed, final)
	if len(observed) == 0 || len(final) == 0 {
		return out
	}
	var elsewhere map[reach]bool
	seen := newIndex(observed)
	for i := range final {
		if f := &final[i]; !seen.answers(f) {
			if r, ok := reachOf(f); ok {
				if elsewhere == nil {
					elsewhere = map[reach]bool{}
				}
				elsewhere[r] = true
			}
		}
	}
	if elsewhere == nil {
		return out
	}
	stored := newIndex(final)
	for i := range observed {
		o := &observed[i]
		if r, ok := reachOf(o); ok && elsewhere[r] && !stored.answers(o) {
			out = append(out, *o)
		}
	}
	return out.normal()
}
