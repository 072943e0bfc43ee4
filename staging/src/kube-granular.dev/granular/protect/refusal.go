// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"fmt"
	"slices"
	"strings"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/permission"
)

// Reason is why a change was refused.
type Reason int

const (
	// NotHeld means that the caller holds nothing that admits the change.
	NotHeld Reason = iota + 1
	// Nobody means that no entry admits any caller to a value of the change, or that the key is
	// too long for a verb.
	Nobody
	// Unreadable means that the new value of the field labels or annotations is not a map, so that
	// the keys in it are not known, or that too many labels or annotations differ to compare them.
	Unreadable
	// Budget means that the Holder would have to be asked about more roles and verbs than one
	// request may ask about.
	Budget
)

func (r Reason) String() string {
	switch r {
	case NotHeld:
		return "NotHeld"
	case Nobody:
		return "Nobody"
	case Unreadable:
		return "Unreadable"
	case Budget:
		return "Budget"
	}
	return "unknown"
}

// MaxReferences is the highest number of references in a Refusal.
const MaxReferences = 3

// Refusal describes the first change that is not admitted, and why.
type Refusal struct {
	Reason    Reason
	Attribute change.Attribute
	// Namespace is the namespace of the scope that refuses, empty for the cluster.
	Namespace string
	// References are roles and verbs, at most MaxReferences. The refusing scope would admit a
	// caller to the refused value who holds at least one of them. More is the number of further
	// ones that are left out here.
	References []Reference
	More       int

	budget int
}

func refused(s *scope, a *change.Attribute, admitting []Reference) *Refusal {
	out := &Refusal{Reason: NotHeld, Attribute: *a, Namespace: s.namespace, References: admitting}
	if len(out.References) == 0 {
		out.Reason = Nobody
	}
	if extra := len(out.References) - MaxReferences; extra > 0 {
		out.References, out.More = out.References[:MaxReferences:MaxReferences], extra
	}
	return out
}

// Cannot returns the first part of the message: that the caller cannot change the attribute. Set
// outline for a caller who may not see the object; the message then shows less, see
// change.Attribute.Outline.
func (r *Refusal) Cannot(outline bool) string {
	place := r.Attribute.String()
	if outline {
		place = r.Attribute.Outline()
	}
	return fmt.Sprintf("cannot change %s, a protected %s", place, strings.ToLower(r.Attribute.Kind.String()))
}

// Needs returns the second part of the message: what the caller would have to hold, or why nothing
// helps. It never shows a value of a label or annotation.
func (r *Refusal) Needs() string {
	where := "in the cluster"
	if r.Namespace != "" {
		where = fmt.Sprintf("in namespace %q", r.Namespace)
	}
	switch r.Reason {
	case Unreadable:
		if r.Attribute.TooLarge {
			return fmt.Sprintf("more than %d labels and annotations in it differ, or some are more than %d levels deep, so some may be protected %s",
				change.MaxEmbedded, change.MaxEmbeddedDepth, where)
		}
		return "its new value can't be read, so it may have keys that are protected " + where
	case Budget:
		return fmt.Sprintf("more than %d roles and verbs would have to be checked for this request", r.budget)
	case Nobody:
		if permission.CheckParameter(r.Attribute.Key) != nil {
			return "no protected attribute " + where + " admits this value, or the key is too long for a verb"
		}
		return "no protected attribute " + where + " admits this value"
	}
	names := make([]string, 0, len(r.References))
	for _, ref := range r.References {
		names = append(names, ref.String())
	}
	out := "needs " + names[0]
	if len(names) > 1 || r.More > 0 {
		out = "needs one of " + strings.Join(names, ", ")
	}
	if r.More > 0 {
		out += fmt.Sprintf(" or %d others", r.More)
	}
	return out + ", for it is protected " + where
}

// Message returns the whole message, without the user, resource and namespace.
func (r *Refusal) Message(outline bool) string { return r.Cannot(outline) + ": " + r.Needs() }

// String returns the reference as messages show it.
func (r Reference) String() string {
	if r.Kind == Verb {
		return fmt.Sprintf("the verb %q", r.Name)
	}
	return fmt.Sprintf("%s %q", r.Kind, r.Name)
}

// Finding is a change that a scope would have refused if its entries with mode Audit had been
// enforced together with the others.
type Finding struct {
	Attribute change.Attribute
	// Namespace is the namespace of the scope, empty for the cluster.
	Namespace string
	// Entries are the sorted names of the entries with mode Audit that protect a value of the
	// change.
	Entries []string
	// Undecided is set if it is not known what the caller holds, because the Holder returned an
	// error or could not be asked about more roles and verbs.
	Undecided bool
}

func (f *Finding) add(concerned []*Entry) {
	for _, e := range concerned {
		if e.Mode == Audit {
			f.Entries = append(f.Entries, e.Name)
		}
	}
	slices.Sort(f.Entries)
	f.Entries = slices.Compact(f.Entries)
}
