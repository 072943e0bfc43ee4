// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"

	"kube-granular.dev/granular/change"
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
	// key, because its expression fails.
	NoParameter
	// Cost: the parameter expressions of the request cost too much already, and no
	// permission without one covers the change.
	Cost
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
	}
	return "unknown"
}

// Refusal is the first change that is not covered.
type Refusal struct {
	Reason Reason
	Change change.Change
	// General and Specific are the most general and most specific verb that
	// would have covered the change; equal if there is but one, empty for
	// NoPermission and NoParameter. For Budget, General is the one to hold instead of many;
	// for Cost, the one to hold instead of those with an expression, empty if there is none.
	General, Specific string

	budget int
	cost   int64
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

// Needs gives the part of a message that says what is missing. It names at most
// two verbs, however many would do.
func (r *Refusal) Needs() string {
	switch {
	case r.Reason == NoPermission:
		return "no permission covers this field"
	case r.Reason == NoParameter:
		return "the expression of its permission gives no parameter for this key"
	case r.Reason == Budget:
		return fmt.Sprintf("more than %d permissions would have to be asked for this request; hold the verb %q instead", r.budget, r.General)
	case r.Reason == Cost && r.General == "":
		return fmt.Sprintf("the parameter expressions for this request cost more than %d units, and every permission of the field has one; change fewer keys at a time", r.cost)
	case r.Reason == Cost:
		return fmt.Sprintf("the parameter expressions for this request cost more than %d units; hold the verb %q instead, or change fewer keys at a time", r.cost, r.General)
	case r.General == r.Specific:
		return fmt.Sprintf("needs the verb %q", r.General)
	}
	return fmt.Sprintf("needs one of the verbs %q, %q", r.General, r.Specific)
}

// Message joins both parts, for tools that know no user.
func (r *Refusal) Message(path string) string { return r.Cannot(path) + ": " + r.Needs() }
