// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rule

import "slices"

// Own returns the differences that a caller must be allowed to make if others change the object between the
// caller and the storage. sent is what the caller changes, and stored what is about to be stored. See the
// decision records 0003 and 0027.
//
// If a field differs as a whole, a caller may need other permissions than those that Own returns, but never
// fewer than those for Both, because what differs inside is not known.
func Own(sent, stored []Difference) []Difference {
	return slices.Concat(Both(sent, stored), moved(sent, stored))
}

// Both returns the differences that the caller made and that are about to be stored, with the values of both.
func Both(sent, stored []Difference) (out []Difference) {
	for _, d := range stored {
		if i := slices.IndexFunc(sent, d.Same); i >= 0 {
			out = append(out, slices.Concat(d, sent[i]))
		}
	}
	return out
}

// moved returns the differences that the caller made and that may be stored somewhere else: there is one that
// the caller did not make, with a permission of the same name.
func moved(sent, stored []Difference) (out []Difference) {
	for _, d := range sent {
		elsewhere := func(other Difference) bool {
			return d.name() != "" && other.name() == d.name() && !slices.ContainsFunc(sent, other.Same)
		}
		if !slices.ContainsFunc(stored, d.Same) && slices.ContainsFunc(stored, elsewhere) {
			out = append(out, d)
		}
	}
	return out
}

// Same reports whether the same fields and keys lead to another difference.
func (d Difference) Same(other Difference) bool { return d[0].String() == other[0].String() }

// name returns the name of the most specific permission that covers a difference, if possible one that is not
// for a single element of a list.
func (d Difference) name() (name string) {
	element := ""
	for _, s := range d[0] {
		for _, p := range s.Field.Permissions {
			if p.Element {
				element = p.Name
			} else {
				name = p.Name
			}
		}
	}
	if name == "" {
		return element
	}
	return name
}

// Excluded returns those differences that are not part of update.
func Excluded(differences []Difference) []Difference {
	return slices.DeleteFunc(slices.Clone(differences), func(d Difference) bool {
		return !slices.ContainsFunc(d[0], func(s Step) bool {
			return slices.ContainsFunc(s.Field.Permissions, func(p Permission) bool { return p.Excluded })
		})
	})
}
