// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

// observation is the caller's own change in the current attempt, before mutating admission: a
// change.Set, or change.Attributes. If that change is not known, observed is nil and everything is
// set. Then all changes that are about to be stored count as the caller's.
type observation[Changes any] struct {
	observed   Changes
	everything bool
}

// unobserved returns the observation of a change that is not known.
func unobserved[Changes any]() observation[Changes] { return observation[Changes]{everything: true} }

// keep keeps the result of the comparison that observes the caller's change.
func (o *observation[Changes]) keep(observed Changes, err error) {
	o.observed, o.everything = observed, err != nil
}

// intersect returns those of the final changes, which are about to be stored, that are the caller's.
// both returns those of the final changes that were observed.
func (o *observation[Changes]) intersect(final Changes, both func(observed, final Changes) Changes) Changes {
	if o.everything {
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
