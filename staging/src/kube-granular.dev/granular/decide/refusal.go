// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// Reason is why a change was refused.
type Reason int

const (
	// NotCovered means that the caller holds none of the permissions that cover the change.
	NotCovered Reason = iota + 1
	// NoPermission means that no permission covers the change.
	NoPermission
	// Budget means that the decision would need more verbs than one request may ask for.
	Budget
	// NoParameter means that no permission for the changed field has a parameter for the key or
	// value of the change: the expression fails, or the parameter would be too long.
	NoParameter
	// Cost means that the parameter expressions of the request have used up the cost budget of the
	// request, and that the caller holds no permission without an expression that covers the
	// change.
	Cost
	// Withheld means that the verbs that would cover the change depend on content of the object
	// that the caller must not learn.
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

// Refusal describes the first change that is not covered, and why.
type Refusal struct {
	Reason Reason
	Change change.Change
	// General and Specific are the most general and the most specific verb that would have covered
	// the change. They are equal if there is only one, and empty for NoPermission, NoParameter and
	// Withheld. For Budget, General is the one verb that a caller should hold instead of many. For
	// Cost, General is the verb to hold instead of verbs with an expression, empty if there is
	// none.
	General, Specific string
	// Exact is the verb that would have covered the change and as little else as possible, if the
	// verb depends on no value. It is for one key, where Specific is for a domain of keys, and for one
	// element of a list, where Specific is for all of them. It is set only for NotCovered.
	Exact string
	// Together are the verbs that are needed instead of Specific alone, one for each value of the
	// change that the caller's verbs do not cover: a change of a value needs a verb for the old value
	// and one for the new value. It is nil if Specific alone suffices.
	Together []string

	// budget is the largest number of verbs that the authorizer may be asked for in one request.
	budget int
	// tooLong is set if a parameter is too long. long is then the beginning of the last such
	// parameter.
	long    string
	tooLong bool
	// ofValue is true if a candidate makes its parameter from a value of the object.
	ofValue bool
	// offered are the verbs that would cover the change.
	offered []offer
	// byEntry is set if an entry excludes the changed field or a field around it, and embedded if that
	// entry is embedded.
	byEntry, embedded bool
}

// offer is a permission and its verb for the change.
type offer struct {
	permission *schema.Permission
	verb       string
	// values are the values of the change, if the permission makes its parameter from a value.
	values []string
	// together are the verbs that are needed instead of verb alone, or nil.
	together []string
}

// maxTogether is the number of verbs that are needed together and that a message names.
const maxTogether = 4

// shownOfParameter is how many bytes of a parameter that is too long a message shows.
const shownOfParameter = 64

// Withhold returns the refusal as it may be shown to a caller who knows only the first steps of
// the path of the change. known is the number of these steps; see change.Sender. If the refusal
// depends on later steps or on field values, the result is a new refusal that does not: not on the
// keys of later steps, not on values, and not on the authorizer's answers about them.
func (r *Refusal) Withhold(known int) *Refusal {
	path := r.Change.Path()
	if known >= len(path) && !r.ofValue {
		return r
	}
	known = min(known, len(path))
	out := &Refusal{Reason: Withheld, Change: r.Change.Truncate(known), byEntry: r.byEntry, embedded: r.embedded}
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

// ByEntry reports whether an entry excludes the changed field or a field around it, other than those
// that IgnoreEntries says.
func (r *Refusal) ByEntry() bool { return r.byEntry }

// Embedded reports whether the entry is an embedded one; see schema.Permission.
func (r *Refusal) Embedded() bool { return r.embedded }

// Cannot returns the part of a message that names the field, such as "cannot change
// .spec.replicas". path is the result of change.Walker.Locate. If path is empty, the path of the
// change is used.
func (r *Refusal) Cannot(path string) string {
	if path == "" {
		path = r.Change.Path().String()
	}
	if path == "" {
		return "cannot change the object"
	}
	return "cannot change " + path
}

// Needs returns the part of a message that names what is missing: at most two ways, the narrower one
// first, because people copy the first. A way is one verb, or the verbs of a change of a value.
func (r *Refusal) Needs() string {
	switch {
	case r.Reason == NoPermission:
		return "no permission covers this field"
	case r.Reason == Withheld:
		return "the needed permission is shown only to callers who may get the object"
	case r.Reason == NoParameter && r.tooLong:
		return r.length()
	case r.Reason == NoParameter && r.ofValue:
		return "the permission of this field has no parameter for this value"
	case r.Reason == NoParameter:
		return "the parameter expression of the permission returns no parameter for this key"
	case r.tooLong && r.Reason == NotCovered:
		return r.verbs() + "; " + r.length()
	case r.Reason == Budget:
		return fmt.Sprintf("more than %d permissions would have to be checked for this request; hold the verb %q instead", r.budget, r.General)
	case r.Reason == Cost && r.General == "":
		return fmt.Sprintf("the parameter expressions for this request cost more than %d units, and every permission of the field has an expression; change fewer keys at a time", MaxCost)
	case r.Reason == Cost:
		return fmt.Sprintf("the parameter expressions for this request cost more than %d units; hold the verb %q instead, or change fewer keys at a time", MaxCost, r.General)
	}
	return r.verbs()
}

// verbs returns the part of a message that names the missing verbs.
func (r *Refusal) verbs() string {
	if len(r.Together) > 0 {
		var all []string
		for i, v := range r.Together {
			if i == maxTogether {
				all = append(all, fmt.Sprintf("%d more", len(r.Together)-i))
				break
			}
			all = append(all, strconv.Quote(v))
		}
		text := "needs both of the verbs " + strings.Join(all, " and ")
		if len(all) > 2 {
			text = "needs all of the verbs " + strings.Join(all, " and ")
		}
		if !slices.Contains(r.Together, r.General) {
			text += fmt.Sprintf(", or the verb %q", r.General)
		}
		return text
	}
	if r.General == r.Specific {
		return fmt.Sprintf("needs the verb %q", r.General)
	}
	return fmt.Sprintf("needs one of the verbs %q, %q", r.Specific, r.General)
}

// length returns the part of a message for a parameter that is too long.
func (r *Refusal) length() string {
	return fmt.Sprintf("the parameter \"%s...\" is longer than the %d bytes that a verb may have", r.long, permission.MaxParameterLength)
}

// Missing returns the verbs that Needs names: those of which each would have covered the change, the
// narrowest one first, and those that are needed together instead of the first one.
func (r *Refusal) Missing() (verbs, together []string) {
	switch {
	case r.General == "":
		return nil, nil
	case r.Reason == Budget, r.Reason == Cost, len(r.Together) == 0 && r.Specific == r.General:
		return []string{r.General}, nil
	case len(r.Together) == 0:
		return []string{r.Specific, r.General}, nil
	}
	together = r.Together[:min(len(r.Together), maxTogether)]
	verbs = []string{together[0]}
	if !slices.Contains(r.Together, r.General) {
		verbs = append(verbs, r.General)
	}
	return verbs, together
}

// Message returns the whole message, without the user, resource and namespace. It is for tools
// that do not know them.
func (r *Refusal) Message(path string) string { return r.Cannot(path) + ": " + r.Needs() }
