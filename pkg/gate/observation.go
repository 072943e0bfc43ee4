// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

// observation is what a comparison of the current attempt found: a change.Set, or change.Attributes. It is the
// caller's own change before mutating admission or, in admitted, what admission left. While it is not known,
// which is the zero value, all changes that are about to be stored count as the caller's.
type observation[Changes any] struct {
	// observed is nil if known is not set.
	observed Changes
	known    bool
}

// keep keeps the result of the comparison that observes the caller's change.
func (o *observation[Changes]) keep(observed Changes, err error) {
	o.observed, o.known = observed, err == nil
}

// intersect returns those of the final changes, which are about to be stored, that are the caller's.
// both returns those of the final changes that were observed.
func (o *observation[Changes]) intersect(final Changes, both func(observed, final Changes) Changes) Changes {
	if !o.known {
		return final
	}
	return both(o.observed, final)
}

// split splits changes in two: those that are known, and the others. first is the index of the first
// change that is not known.
func split[Change any](changes []Change, first int, known func(*Change) bool) (yes, no []Change) {
	yes, no = append(yes, changes[:first]...), append(no, changes[first])
	for i := first + 1; i < len(changes); i++ {
		if known(&changes[i]) {
			yes = append(yes, changes[i])
		} else {
			no = append(no, changes[i])
		}
	}
	return yes, no
}
