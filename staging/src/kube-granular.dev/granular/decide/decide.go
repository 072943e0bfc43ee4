// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
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
	budget     int
	// asked are the verbs that were answered, at most budget; those of them that are in
	// used were allowed, all others were refused.
	asked []string
	used  []string
}

// New makes the decider of one request. A budget of 0 means DefaultBudget.
func New(a Authorizer, budget int) *Decider {
	if budget <= 0 {
		budget = DefaultBudget
	}
	return &Decider{authorizer: a, budget: budget}
}

// Asked gives the verbs the authorizer was asked, in order, each once. A verb
// after the first allowed one of a question was not asked.
func (d *Decider) Asked() []string { return d.asked }

// Used gives the verbs that covered a change, in the order of their first use.
func (d *Decider) Used() []string { return d.used }

// Decide says whether the caller may make all the changes, nil meaning yes.
// Marked requests need a permission for every change, unmarked ones only for
// what is excluded. It stops at the first change that is not covered.
func (d *Decider) Decide(ctx context.Context, changes change.Set, marked bool) (*Refusal, error) {
	for i := range changes {
		c := &changes[i]
		candidates, excluded := Candidates(c.Node)
		if !marked && !excluded {
			continue
		}
		refusal, err := d.cover(ctx, c, candidates)
		if refusal != nil || err != nil {
			return refusal, err
		}
	}
	return nil, nil
}

// CoveredAsObserved says that the caller changed nothing, as observed before mutating
// admission, or one thing that the caller may change. Then it does not matter whether that
// is still there in what is about to be stored, and nothing has to be compared again. Else,
// or where the authorizer failed, Decide is to be asked about the Intersect of both. Of
// several changes one might be gone and not be covered, and then what was asked about the
// others would count; a change that is Whole stands for what is excluded below it; and of
// one that Brings a container the container might be left.
func (d *Decider) CoveredAsObserved(ctx context.Context, observed change.Set, marked bool) bool {
	if len(observed) == 0 {
		return true
	}
	if len(observed) > 1 || observed[0].Whole || observed[0].Brings {
		return false
	}
	refusal, err := d.Decide(ctx, observed, marked)
	return refusal == nil && err == nil
}

// Candidates gives the permissions that may cover a change of a node, most
// general first, and whether one of them is excluded.
func Candidates(n *schema.Node) (candidates []*schema.Permission, excluded bool) {
	deepest, chain := -1, n.Chain()
	for i, p := range chain {
		if p.Excluded {
			deepest = i
		}
	}
	if deepest < 0 {
		return chain, false
	}
	for i, p := range chain {
		if p.Excluded || i > deepest {
			candidates = append(candidates, p)
		}
	}
	return candidates, true
}

func (d *Decider) cover(ctx context.Context, c *change.Change, candidates []*schema.Permission) (*Refusal, error) {
	if len(candidates) == 0 {
		return &Refusal{Reason: NoPermission, Change: *c}, nil
	}
	long, tooLong := "", false
	refusal := func(r Refusal) *Refusal {
		r.Change, r.budget = *c, d.budget
		if tooLong {
			r.tooLong, r.long = true, permission.Head(long, shownOfParameter)
		}
		return &r
	}
	var few [8]string
	verbs := few[:0]
	var ask []string
	for i, p := range candidates {
		v, err := c.Verb(p)
		if err != nil {
			if errors.Is(err, permission.ErrTooLong) {
				long, tooLong = v.Parameter, true
			}
			continue // it has no parameter for this key, so it covers nothing of it
		}
		verb := v.String()
		verbs = append(verbs, verb)
		if slices.Contains(d.used, verb) {
			return nil, nil
		}
		if !slices.Contains(d.asked, verb) && !slices.Contains(ask, verb) {
			if ask == nil {
				ask = make([]string, 0, len(candidates)-i)
			}
			ask = append(ask, verb)
		}
	}
	if len(verbs) == 0 {
		return refusal(Refusal{Reason: NoParameter}), nil
	}
	left := d.budget - len(d.asked)
	short := len(ask) > left
	if short {
		ask = ask[:left]
	}
	if len(ask) > 0 {
		first, err := d.ask(ctx, ask)
		if err != nil {
			return nil, err
		}
		if first >= 0 {
			d.used = append(d.used, ask[first])
			return nil, nil
		}
	}
	if short {
		return refusal(Refusal{Reason: Budget, General: broad(candidates, verbs[0]), Specific: verbs[len(verbs)-1]}), nil
	}
	return refusal(Refusal{Reason: NotCovered, General: verbs[0], Specific: verbs[len(verbs)-1]}), nil
}

// broad picks what to ask for instead of many narrow grants: the narrowest
// candidate that takes no parameter, or else the most general one.
func broad(candidates []*schema.Permission, general string) string {
	best := general
	for _, p := range candidates {
		if v, err := p.Verb(""); p.Parameter == nil && err == nil {
			best = v.String()
		}
	}
	return best
}

func (d *Decider) ask(ctx context.Context, verbs []string) (int, error) {
	first, err := d.authorizer.FirstAllowed(ctx, verbs)
	if err != nil {
		return -1, err
	}
	if first >= len(verbs) {
		return -1, fmt.Errorf("authorizer allowed the verb at %d of %d", first, len(verbs))
	}
	if first < 0 {
		d.asked = append(d.asked, verbs...)
		return -1, nil
	}
	d.asked = append(d.asked, verbs[:first+1]...)
	return first, nil
}
