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

// Reason is why a change was refused.
type Reason int

const (
	// NotCovered means that the caller holds none of the permissions that can cover the change.
	NotCovered Reason = iota + 1
	// NoPermission means that no permission in the schema covers the changed field.
	NoPermission
	// Budget means that the authorizer would have to be asked more verbs than one request may
	// use.
	Budget
	// NoParameter means that every permission for the change needs a parameter, and none has a
	// parameter for this key or value: its expression fails, or the parameter would be too long.
	NoParameter
	// Cost means that the parameter expressions of the request have used up its cost budget. The
	// caller holds none of the permissions that cover the change without an expression.
	Cost
	// Withheld means that every verb that would cover the change depends on a key or value that
	// the caller must not learn. So the refusal names no verb.
	Withheld
)

// String returns the name of the reason, for traces.
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

// Refusal describes the first change that is not covered, and which verbs would cover it.
type Refusal struct {
	Reason Reason
	Change change.Change
	// General and Specific are the most general and the most specific verb that would cover the
	// change. They are equal if only one verb would. Both are empty for NoPermission, NoParameter
	// and Withheld. For Budget, General is one verb that covers many keys or values at once. For
	// Cost, General is a verb whose permission has no expression, or empty.
	General, Specific string

	// budget is the number of verbs that the authorizer may be asked for the request.
	budget int
	// tooLong is true if the parameter of a candidate is too long for a verb. long is then the
	// beginning of the last such parameter.
	long    string
	tooLong bool
	// ofValue is true if a candidate makes its parameter from a value of the object.
	ofValue bool
	// offered are the verbs that would cover the change.
	offered []offer
}

// offer is a permission and its verb for the change.
type offer struct {
	permission *schema.Permission
	verb       string
}

// shownOfParameter is the number of bytes that a message shows of a parameter that is too long.
const shownOfParameter = 64

// Withhold returns a refusal for a caller that must not learn the whole path of the change. known
// is the number of steps that the caller knows; change.Sender computes it. The result does not
// depend on later steps of the path, on answers of the authorizer about them, or on values in the
// object.
func (r *Refusal) Withhold(known int) *Refusal {
	path := r.Change.Path()
	if known >= len(path) && !r.ofValue {
		return r
	}
	known = min(known, len(path))
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
		if takesValue(o.permission) || !slices.Contains(chain, o.permission) {
			continue
		}
		if out.Reason = NotCovered; out.General == "" {
			out.General = o.verb
		}
		out.Specific = o.verb
	}
	return out
}

// Cannot returns the part of a message that names the field, such as "cannot change
// .spec.replicas". path is the result of Locate or Outline of change.Walker. If path is empty,
// Cannot uses the path of the change.
func (r *Refusal) Cannot(path string) string {
	if path == "" {
		path = r.Change.Path().String()
	}
	if path == "" {
		return "cannot change the object"
	}
	return "cannot change " + path
}

// Needs returns the part of a message that describes which permission is missing. It names at most
// two verbs, the narrower verb first, because people tend to copy the first verb into a role.
func (r *Refusal) Needs() string {
	switch {
	case r.Reason == NoPermission:
		return "no permission covers this field"
	case r.Reason == Withheld:
		return "the missing permission is shown only to callers that may get the object"
	case r.Reason == NoParameter && r.tooLong:
		return r.length()
	case r.Reason == NoParameter && r.ofValue:
		return "the permission of this field has no parameter for this value"
	case r.Reason == NoParameter:
		return "the expression of the permission returns no parameter for this key"
	case r.tooLong && r.Reason == NotCovered:
		return r.verbs() + "; " + r.length()
	case r.Reason == Budget:
		return fmt.Sprintf("more than %d permissions would have to be asked for this request; hold the verb %q instead", r.budget, r.General)
	case r.Reason == Cost && r.General == "":
		return fmt.Sprintf("the parameter expressions for this request cost more than %d units, and every permission of the field has an expression; change fewer keys at a time", MaxCost)
	case r.Reason == Cost:
		return fmt.Sprintf("the parameter expressions for this request cost more than %d units; hold the verb %q instead, or change fewer keys at a time", MaxCost, r.General)
	}
	return r.verbs()
}

// verbs returns the part of a message that names the missing verbs.
func (r *Refusal) verbs() string {
	if r.General == r.Specific {
		return fmt.Sprintf("needs the verb %q", r.General)
	}
	return fmt.Sprintf("needs one of the verbs %q, %q", r.Specific, r.General)
}

// length returns the part of a message for a parameter that is too long.
func (r *Refusal) length() string {
	return fmt.Sprintf("the parameter \"%s...\" is longer than the %d bytes that a verb may have", r.long, permission.MaxParameterLength)
}

// Message returns the results of Cannot and Needs as one message, for tools that name no user.
func (r *Refusal) Message(path string) string { return r.Cannot(path) + ": " + r.Needs() }
