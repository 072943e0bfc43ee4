// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

// Answerable returns what the caller has to answer for: the Intersect of what the caller
// changed and what is about to change, and observed changes that may be stored under
// another key. A webhook that writes keys in lower case, or moves a field to its new name,
// would else let anybody write what the permission guards: the caller's place does not
// change in the end, and the place that does is not the caller's.
//
// So an observed change that is gone counts if a permission of the same name covers a final
// change that nobody observed. Who may make the observed change is not
// disturbed, and who may not is refused for what the caller did, not for what the webhook did.
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

// Gone reports whether something observed does not change in the end. Then what is
// Answerable depends on all that does, and not only on the fields that CompareObserved looks
// at.
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
