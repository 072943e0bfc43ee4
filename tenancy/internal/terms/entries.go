// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package terms

import (
	"slices"
	"time"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

// InForce returns the entries of a list that have not ended, one for each subject, in the order of the
// list. Of several entries of a subject, it returns the one that ends last.
func InForce(list []v1alpha1.Subject, at time.Time) []v1alpha1.Subject {
	var present []v1alpha1.Subject
	for _, entry := range list {
		if hasEnded(entry, at) {
			continue
		}
		i := slices.IndexFunc(present, entry.Same)
		switch {
		case i < 0:
			until := entry.Until
			entry = entry.Bare()
			entry.Until = until
			present = append(present, entry)
		case endsLater(entry, present[i]):
			present[i].Until = entry.Until
		}
	}
	return present
}

// hasEnded reports whether the entry has ended at this time. At the very moment of its end, it has.
func hasEnded(entry v1alpha1.Subject, at time.Time) bool {
	end, ends := entry.End()
	return ends && !at.Before(end)
}

// endsLater reports whether entry a ends after entry b.
func endsLater(a, b v1alpha1.Subject) bool {
	endA, endsA := a.End()
	endB, endsB := b.End()
	return endsB && (!endsA || endA.After(endB))
}

// Present returns a copy of the LNamespace whose lists have only the entries that are in force, and whose
// status has the sudo that the requests of the tenant give.
func Present(t *v1alpha1.LNamespace, requests []v1alpha1.SudoRequest, at time.Time) *v1alpha1.LNamespace {
	present := t.DeepCopy()
	for _, list := range present.Spec.Lists() {
		*list = InForce(*list, at)
	}
	present.Status.Sudo = granted(present, requests, at)
	return present
}

// NextEnd returns the time at which the next entry of a list, or sudo by a request, ends. found is false if
// none ends.
func NextEnd(t *v1alpha1.LNamespace, at time.Time) (next time.Time, found bool) {
	for _, entry := range entries(t) {
		if end, ends := entry.End(); ends && at.Before(end) && (!found || end.Before(next)) {
			next, found = end, true
		}
	}
	return next, found
}

// HasEnds reports whether an entry of a list, or sudo by a request, ends at some time. A tenant without is never
// overdue.
func HasEnds(t *v1alpha1.LNamespace) bool {
	return slices.ContainsFunc(entries(t), func(entry v1alpha1.Subject) bool {
		_, ends := entry.End()
		return ends
	})
}

// entries returns the entries of all lists, and those of sudo by a request.
func entries(t *v1alpha1.LNamespace) []v1alpha1.Subject {
	all := slices.Concat(t.Spec.Users, t.Spec.Managers, t.Spec.Sudoers)
	for _, granted := range t.Status.Sudo {
		all = append(all, granted.Subject)
	}
	return all
}

// IsOverdue reports whether the status says that somebody has rights that the lists do not give any
// more, although the controller saw the present lists: an entry, or sudo by a request, has ended.
func IsOverdue(t *v1alpha1.LNamespace, at time.Time) bool {
	had := t.Status.Granted
	granted := map[string][]v1alpha1.Subject{"users": had.Users, "managers": had.Managers, "sudoers": had.Sudoers}
	for field, list := range t.Spec.Lists() {
		present := InForce(*list, at)
		for _, subject := range granted[field] {
			if !slices.ContainsFunc(present, subject.Same) && slices.ContainsFunc(*list, subject.Same) {
				return true
			}
		}
	}
	return slices.ContainsFunc(t.Status.Sudo, func(granted v1alpha1.GrantedSudo) bool { return hasEnded(granted.Subject, at) })
}
