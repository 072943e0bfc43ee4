// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

// Answerable returns the changes that the caller must be authorized for. Observed changes are those
// that the caller made before mutating admission. Final changes are those that are about to be
// stored. The result has the Intersect of both sets, and also observed changes that a webhook may
// have moved to another location.
//
// An example of the latter is a webhook that rewrites keys to lower case, or moves a deprecated
// field to its new name. The location that the caller changed is then no final change, and the
// location that finally changes was not observed. Intersect alone would let any caller make such a
// write.
//
// So an observed change without a matching final change counts if its most specific permission has
// the same name as that of a final change that was not observed. A caller that holds the permission
// for its own change is not affected.
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
		if last := f.Node.Last(); last != nil && !seen.matches(f) {
			if elsewhere == nil {
				elsewhere = map[string]bool{}
			}
			elsewhere[last.Name] = true
		}
	}
	if elsewhere == nil {
		return out
	}
	for i := range observed {
		o := &observed[i]
		if last := o.Node.Last(); last != nil && elsewhere[last.Name] && !stored.matches(o) {
			out = append(out, *o)
		}
	}
	return out.normalize()
}

// Dropped reports whether an observed change is missing from the final changes. If so, Answerable
// needs the final changes of all fields: the result of CompareObserved, which compares only some
// fields, does not suffice.
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
