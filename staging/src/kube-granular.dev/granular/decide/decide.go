// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"context"
	"fmt"

	"kube-granular.dev/granular/change"
)

// Authorizer is the port to whoever knows what a caller may do. The request's
// user, resource, subresource and name are the adapter's business.
type Authorizer interface {
	// FirstAllowed is given verbs from general to specific, at least one, and
	// gives the index of the first that is allowed, or -1. All before it were
	// refused. An error refuses the request; it is not a refusal of a verb.
	FirstAllowed(ctx context.Context, verbs []string) (int, error)
}

// DefaultBudget is how many verbs may be asked for one request.
const DefaultBudget = 64

// Decider decides about one request, retries included. It is not safe for
// concurrent use.
type Decider struct {
	authorizer Authorizer
}

// New makes the decider of one request. A budget of 0 means DefaultBudget.
func New(a Authorizer, budget int) *Decider { return &Decider{authorizer: a} }

// Decide says whether the caller may make all the changes, nil meaning yes.
// Marked requests need a permission for every change, unmarked ones only for
// what is excluded. It stops at the first change that is not covered.
func (d *Decider) Decide(ctx context.Context, changes change.Set, marked bool) (*Refusal, error) {
	return nil, fmt.Errorf("not there yet")
}

// Asked gives the verbs the authorizer was asked, in order.
func (d *Decider) Asked() []string { return nil }

// Used gives the verbs that were allowed and covered a change, in order of use.
func (d *Decider) Used() []string { return nil }

// Reason says why a change was refused.
type Reason int

const (
	// NotCovered: the caller holds none of the permissions that would do.
	NotCovered Reason = iota + 1
	// NoPermission: there is no permission that would do.
	NoPermission
	// Budget: too many verbs were asked already.
	Budget
)

// Refusal is the first change that is not covered.
type Refusal struct {
	Reason Reason
	Change change.Change
	// General and Specific are the most general and most specific verb that
	// would have covered the change; equal if there is but one, empty for
	// NoPermission. For Budget, General is the one to ask for.
	General, Specific string
}

// Cannot gives "cannot change .spec.replicas" for the path Locate gave; an empty
// path stands for the change's own.
func (r *Refusal) Cannot(path string) string { return "" }

// Needs gives the part after the colon: needs one of the verbs "granular:a", "granular:b".
func (r *Refusal) Needs() string { return "" }
