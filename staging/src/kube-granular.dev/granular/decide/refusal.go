// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// Reason says why a change was refused.
type Reason int

const (
	// NotCovered: the caller holds none of the permissions that would do.
	NotCovered Reason = iota + 1
	// NoPermission: there is no permission that would do.
	NoPermission
	// Budget: too many verbs were asked already.
	Budget
	// NoParameter: no permission that covers the change has a parameter for its
	// key, because its expression fails or the parameter would be too long.
	NoParameter
	// Cost: the parameter expressions of the request cost too much already, and no
	// permission without one covers the change.
	Cost
	// Withheld: what would have covered the change depends on what the caller may not
	// be told.
	Withheld
)

func (r Reason) String() string {
	switch r {
	case NotCovered:
		return "NotCovered"
	case NoPermission:
		return "NoPermission"
	case Budget:
		return "Budget"
	case NoParameter:
		return "NoParameter"
	case Cost:
		return "Cost"
	case Withheld:
		return "Withheld"
	}
	return "unknown"
}

// Refusal is the first change that is not covered.
type Refusal struct {
	Reason Reason
	Change change.Change
	// General and Specific are the most general and most specific verb that
	// would have covered the change; equal if there is but one, empty for
	// NoPermission, NoParameter and Withheld. For Budget, General is the one to hold instead
	// of many; for Cost, the one to hold instead of those with an expression, empty if there
	// is none.
	General, Specific string

	budget int
	// long is the beginning of the last parameter that is too long to be one, and
	// tooLong says that there is one.
	long    string
	tooLong bool
	// offered are the verbs that would have covered the change.
	offered []offer
}

// offer is a permission and its verb for the change.
type offer struct {
	permission *schema.Permission
	verb       string
}

// shownOfParameter is how much a message shows of what is too long to be a parameter,
// in bytes.
const shownOfParameter = 64

// Withhold returns what may be told of the refusal to a caller who knows no more than
// the first steps of the path of the change; see change.Sender. It depends on nothing
// that follows: not on the key, not on what became of asking for it.
func (r *Refusal) Withhold(known int) *Refusal {
	path := r.Change.Path()
	if known >= len(path) {
		return r
	}
	out := &Refusal{Reason: Withheld, Change: r.Change.Truncate(known)}
	if r.Reason == NoPermission {
		out.Reason = NoPermission
		return out
	}
	chain := r.Change.Node.Chain()
	for _, below := range path[known:] {
		chain = chain[:len(chain)-len(below.Node.Own())]
	}
	for _, o := range r.offered {
		if !slices.Contains(chain, o.permission) {
			continue
		}
		if out.Reason = NotCovered; out.General == "" {
			out.General = o.verb
		}
		out.Specific = o.verb
	}
	return out
}

// Cannot gives the part of a message that names the field, such as "cannot
// change .spec.replicas". path is what change.Walker.Locate found; if it is
// empty the change's own path stands in.
func (r *Refusal) Cannot(path string) string {
	if path == "" {
		path = r.Change.Path().String()
	}
	if path == "" {
		return "cannot change the object"
	}
	return "cannot change " + path
}

// Needs returns the part of a message that says what is missing. It names at most
// two verbs, however many would do, and the narrower one first: people copy the first.
func (r *Refusal) Needs() string {
	switch {
	case r.Reason == NoPermission:
		return "no permission covers this field"
	case r.Reason == Withheld:
		return "which permission it takes is shown only to callers who may get it"
	case r.Reason == NoParameter && r.tooLong:
		return r.length()
	case r.Reason == NoParameter:
		return "the expression of its permission gives no parameter for this key"
	case r.tooLong && r.Reason == NotCovered:
		return r.verbs() + "; " + r.length()
	case r.Reason == Budget:
		return fmt.Sprintf("more than %d permissions would have to be asked for this request; hold the verb %q instead", r.budget, r.General)
	case r.Reason == Cost && r.General == "":
		return fmt.Sprintf("the parameter expressions for this request cost more than %d units, and every permission of the field has one; change fewer keys at a time", MaxCost)
	case r.Reason == Cost:
		return fmt.Sprintf("the parameter expressions for this request cost more than %d units; hold the verb %q instead, or change fewer keys at a time", MaxCost, r.General)
	}
	return r.verbs()
}

func (r *Refusal) verbs() string {
	if r.General == r.Specific {
		return fmt.Sprintf("needs the verb %q", r.General)
	}
	return fmt.Sprintf("needs one of the verbs %q, %q", r.Specific, r.General)
}

func (r *Refusal) length() string {
	return fmt.Sprintf("the parameter \"%s...\" is longer than the %d bytes that a verb may have", r.long, permission.MaxParameterLength)
}

// Message joins both parts, for tools that know no user.
func (r *Refusal) Message(path string) string { return r.Cannot(path) + ": " + r.Needs() }
