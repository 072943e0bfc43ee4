// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

// Answerable returns the changes that the caller must be authorized for: the Intersect of the
// observed and the final changes, and also observed changes that may be stored under another
// key. Without the second part, a webhook that rewrites keys to lower case, or moves a field to
// its new name, would let anybody write what the permission guards: the caller's location does
// not change in the end, and the location that changes is not the caller's.
//
// So an observed change that is missing at the end counts if a permission of the same name
// covers a final change that was not observed. A caller who may make the observed change is not
// affected. A caller who may not is refused for its own change, not for the webhook's.
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

// Dropped reports whether some observed change is not among the final ones. The result of
// Answerable then depends on all final changes, and not only on the fields that CompareObserved
// compares.
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
