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
	// returns the index of the first that is allowed, or -1. All before it were
	// refused if there is no error. An error means that some of them could not be
	// answered, which is neither an allowance nor a refusal of any of them.
	FirstAllowed(ctx context.Context, verbs []string) (int, error)
}

const (
	// DefaultBudget is how many verbs may be asked for one request.
	DefaultBudget = 64
	// MaxCost is what the parameter expressions of one request may cost together, in
	// their own units: what upstream lets a single validation rule cost, about a tenth
	// of a second.
	MaxCost = 1_000_000
	// looks is how many changes are decided between two looks at whether the request is
	// over already.
	contextCheckInterval = 64
)

// Decider decides about one request, retries included. It is not safe for
// concurrent use.
type Decider struct {
	authorizer Authorizer
	budget     int
	// asked are the verbs that were asked, at most budget; those of them that are in
	// used were allowed, those in unanswered may not have been answered, all others were
	// refused.
	asked      []string
	used       []string
	unanswered []string
	// failure is the first error of the authorizer.
	failure error
	// spending is that of the request, nil until there is an expression: few kinds have one.
	costs *schema.CostBudget
	// long are the last verbs that were made of long keys.
	long map[*schema.Permission]verbResult
}

// made is a verb, or why there is none, and the key it was made of.
type verbResult struct {
	key, verb string
	// long is the beginning of a parameter that is too long.
	long string
	err  error
}

// longKey is the length from which on a key is not read again for each change below it:
// a body may have one of a megabyte, and as many changes.
const longKey = 512

// New makes the decider of one request. A budget of 0 means DefaultBudget.
func New(a Authorizer, budget int) *Decider {
	if budget <= 0 {
		budget = DefaultBudget
	}
	return &Decider{authorizer: a, budget: budget}
}

// Continue lets what another decider spent on the request count against the limit of this
// one as well, and the other way round.
func (d *Decider) Continue(other *Decider) { d.costs = other.Costs() }

// Spending returns what the parameter expressions of the request have cost.
func (d *Decider) Costs() *schema.CostBudget {
	if d.costs == nil {
		d.costs = schema.NewCostBudget(MaxCost)
	}
	return d.costs
}

// Asked gives the verbs the authorizer was asked, in order, each once. A verb
// after the first allowed one of a question was not asked.
func (d *Decider) Asked() []string { return d.asked }

// Used gives the verbs that covered a change, in the order of their first use.
func (d *Decider) Used() []string { return d.used }

// Decide says whether the caller may make all the changes, nil meaning yes.
// Marked requests need a permission for every change, unmarked ones only for
// what is excluded. It stops at the first change that is not covered, and fails once the
// context has ended.
func (d *Decider) Decide(ctx context.Context, changes change.Set, marked bool) (*Refusal, error) {
	for i := range changes {
		if i%contextCheckInterval == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
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
// or where the authorizer failed, Decide is to be asked about what is Answerable of both. Of
// several changes one might be gone and not be covered, and then what was asked about the
// others would count; a change that is Whole stands for what is excluded below it; and of
// one that Brings a container the container might be left.
func (d *Decider) CoveredAsObserved(ctx context.Context, observed change.Set, marked bool) bool {
	if len(observed) == 0 {
		return true
	}
	if len(observed) > 1 || observed[0].Ambiguous || observed[0].WithContainer {
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

// verb returns the verb of a permission for a change.
func (d *Decider) verb(ctx context.Context, c *change.Change, p *schema.Permission) verbResult {
	key := c.Parameter(p)
	if len(key) < longKey {
		return d.makeVerb(ctx, p, key)
	}
	last, ok := d.long[p]
	if !ok || last.key != key { // which is told at a glance if it is the same place
		if last = d.makeVerb(ctx, p, key); ctx.Err() != nil {
			return verbResult{err: ctx.Err()}
		}
	}
	if d.long == nil {
		d.long = map[*schema.Permission]verbResult{}
	}
	last.key = key
	d.long[p] = last
	return last
}

func (d *Decider) makeVerb(ctx context.Context, p *schema.Permission, key string) verbResult {
	// Without one, no expression is evaluated.
	var costs *schema.CostBudget
	if p.Parameter != nil && p.Parameter.Expression != nil {
		costs = d.Costs()
	}
	v, err := p.Verb(ctx, costs, key)
	switch {
	case errors.Is(err, permission.ErrTooLong):
		return verbResult{key: key, long: permission.Head(v.Parameter, shownOfParameter), err: err}
	case err != nil:
		return verbResult{key: key, err: err}
	}
	return verbResult{key: key, verb: v.String()}
}

func (d *Decider) cover(ctx context.Context, c *change.Change, candidates []*schema.Permission) (*Refusal, error) {
	if len(candidates) == 0 {
		return &Refusal{Reason: NoPermission, Change: *c}, nil
	}
	long, tooLong := "", false
	refusal := func(r Refusal) *Refusal {
		r.Change, r.budget = *c, d.budget
		if tooLong {
			r.tooLong, r.long = true, long
		}
		for _, p := range candidates {
			if made := d.verb(ctx, c, p); made.err == nil {
				r.offered = append(r.offered, offer{p, made.verb})
			}
		}
		return &r
	}
	var few [8]string
	verbs := few[:0]
	var ask []string
	overspent := false
	for i, p := range candidates {
		made := d.verb(ctx, c, p)
		if err := made.err; err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			overspent = overspent || errors.Is(err, schema.ErrCostExceeded)
			if errors.Is(err, permission.ErrTooLong) {
				long, tooLong = made.long, true
			}
			continue // it has no parameter for this key, so it covers nothing of it
		}
		verb := made.verb
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
	if len(verbs) == 0 && overspent {
		return refusal(Refusal{Reason: Cost}), nil
	}
	if len(verbs) == 0 {
		return refusal(Refusal{Reason: NoParameter}), nil
	}
	left := d.budget - len(d.asked)
	overBudget := len(ask) > left
	if overBudget {
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
	if slices.ContainsFunc(verbs, d.isUnanswered) {
		return nil, d.failure // one of them might have been allowed
	}
	if overBudget {
		return refusal(Refusal{Reason: Budget, General: broadest(candidates, verbs[0]), Specific: verbs[len(verbs)-1]}), nil
	}
	if overspent {
		return refusal(Refusal{Reason: Cost, General: broadest(candidates, verbs[0])}), nil
	}
	return refusal(Refusal{Reason: NotCovered, General: verbs[0], Specific: verbs[len(verbs)-1]}), nil
}

// broad picks what to ask for instead of many narrow grants: the narrowest
// candidate that takes no parameter, or else the most general one.
func broadest(candidates []*schema.Permission, general string) string {
	best := general
	for _, p := range candidates {
		if p.Parameter == nil {
			best = permission.Verb{Permission: p.Name}.String()
		}
	}
	return best
}

// ask returns an error only for an answer that makes no sense. Where the authorizer failed,
// the verbs that were not allowed are remembered as unanswered.
func (d *Decider) ask(ctx context.Context, verbs []string) (int, error) {
	first, err := d.authorizer.FirstAllowed(ctx, verbs)
	if first >= len(verbs) {
		return -1, fmt.Errorf("authorizer allowed the verb at %d of %d", first, len(verbs))
	}
	if first < 0 || first == 0 && err != nil {
		// An error with nothing before it to fail on is no allowance either.
		first = -1
		d.asked = append(d.asked, verbs...)
	} else {
		d.asked = append(d.asked, verbs[:first+1]...)
		verbs = verbs[:first]
	}
	if err != nil {
		d.unanswered = append(d.unanswered, verbs...)
		if d.failure == nil {
			d.failure = err
		}
	}
	return first, nil
}

func (d *Decider) isUnanswered(verb string) bool { return slices.Contains(d.unanswered, verb) }
