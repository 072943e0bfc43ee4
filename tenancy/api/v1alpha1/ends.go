// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"iter"
	"time"
)

// Lists yields the lists of members in order, each with the name of its field.
func (s *LNamespaceSpec) Lists() iter.Seq2[string, *[]Subject] {
	return func(yield func(string, *[]Subject) bool) {
		_ = yield("users", &s.Users) && yield("managers", &s.Managers) && yield("sudoers", &s.Sudoers)
	}
}

// Duration is a time span in hours, minutes and seconds, such as 1h30m.
type Duration string

// Length returns the length of the duration. It is 0 if the duration is empty or can't be read.
func (d Duration) Length() time.Duration {
	length, err := time.ParseDuration(string(d))
	if err != nil {
		return 0
	}
	return length
}

// End returns the time at which an entry ends. ends is false if it does not end. The end of an entry
// whose time can't be read is long ago.
func (s Subject) End() (end time.Time, ends bool) {
	if s.Until == "" {
		return time.Time{}, false
	}
	end, err := time.Parse(time.RFC3339, s.Until)
	if err != nil {
		return time.Time{}, true
	}
	return end, true
}

// Same reports whether both are the same user, group or service account. It ignores the ends.
func (s Subject) Same(other Subject) bool { return s.Bare() == other.Bare() }

// Bare returns the subject with its kind and without its end.
func (s Subject) Bare() Subject {
	s.Kind, s.Until = cmp.Or(s.Kind, UserKind), ""
	return s
}
