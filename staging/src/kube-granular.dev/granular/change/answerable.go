// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"kube-granular.dev/granular/schema"
)

// Answerable returns the caller's own changes, for which it must be authorized. These are the Intersect
// of the observed changes (the caller's own, before mutating admission) and the final changes
// (those about to be stored). Some observed changes without a final change at their location are
// also in the result, because a mutating webhook can have moved them: a webhook can rewrite keys to
// lower case, or move a value to a field with a new name. Without this rule, a caller who lacks the
// permission of a field could change the field through such a webhook.
//
// Such an observed change is in the result if its most specific permission has the same name as
// the most specific permission of a final change that was not observed. Permissions of single elements
// of a list don't count as most specific: a webhook can turn a container into an init container. A
// caller who lacks the permission is refused for the change of the caller, not for the change of the
// webhook.
func Answerable(observed, final Set) Set {
	out := Intersect(observed, final)
	if len(observed) == 0 || len(final) == 0 || sameChanges(observed, final) {
		return out
	}
	x := newIndex(observed, final)
	seen, stored := x.coverage(observed), x.coverage(final)
	var elsewhere map[string]bool
	for i := range final {
		f := &final[i]
		if name := concept(f.Node); name != "" && !seen.matches(f) {
			if elsewhere == nil {
				elsewhere = map[string]bool{}
			}
			elsewhere[name] = true
		}
	}
	if elsewhere == nil {
		return out
	}
	for i := range observed {
		o := &observed[i]
		if elsewhere[concept(o.Node)] && !stored.matches(o) {
			out = append(out, *o)
		}
	}
	return out.normalize()
}

// concept returns the name of the most specific permission of a node that is not for one element of a list,
// or else the name of the most specific one. It returns "" if no permission covers the node.
func concept(n *schema.Node) string {
	last := n.Last()
	if last == nil {
		return ""
	}
	if !last.Element {
		return last.Name
	}
	for _, p := range slices.Backward(n.Chain()) {
		if !p.Element {
			return p.Name
		}
	}
	return last.Name
}

// Dropped reports whether some observed change is not among the final changes. If so, call
// Answerable with final changes from Compare. Those from CompareObserved are not enough, because
// CompareObserved compares only the fields in which a change was observed.
func Dropped(observed, final Set) bool {
	if len(observed) == 0 || sameChanges(observed, final) {
		return false
	}
	stored := newIndex(observed, final).coverage(final)
	for i := range observed {
		if !stored.matches(&observed[i]) {
			return true
		}
	}
	return false
}
