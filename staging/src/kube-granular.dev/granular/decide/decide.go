// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// Authorizer answers whether the caller holds a verb. The API server implements it with an adapter
// that knows the request's user, resource, subresource and name.
type Authorizer interface {
	// FirstAllowed takes at least one verb, ordered from general to specific, and returns the
	// index of the first allowed verb, or -1. If the error is nil, the verbs before the allowed
	// one are refused, or all verbs if none is allowed. If the error is not nil, some of these
	// verbs have no answer: they are neither allowed nor refused.
	FirstAllowed(ctx context.Context, verbs []string) (int, error)
}

const (
	// DefaultBudget is the highest number of verbs that the authorizer is asked for in one request,
	// if New gets no other budget.
	DefaultBudget = 64
	// MaxCost limits the cost of all parameter expressions of one request, in the units in which
	// schema.Expression counts. Upstream allows as much for a single validation rule, about a tenth
	// of a second.
	MaxCost = 1_000_000
	// contextCheckInterval is the number of changes after which Decide checks again whether its
	// context.Context has ended.
	contextCheckInterval = 64
)

// Decider decides whether the changes of one request are covered, retries included. It is not safe
// for concurrent use.
type Decider struct {
	authorizer Authorizer
	budget     int
	// asked are the verbs that the authorizer was asked for, at most as many as the field budget
	// says. The authorizer allowed those in used. Those in unanswered might have no answer, because
	// the authorizer returned an error. All others were refused.
	asked      []string
	used       []string
	unanswered []string
	// failure is the first error of the authorizer.
	failure error
	// costs is the cost budget of the request. It is nil until an expression is evaluated, because
	// few kinds have an expression.
	costs *schema.CostBudget
	// long remembers for each permission the last verb that was made from a key of at least longKey
	// bytes.
	long map[*schema.Permission]verbResult
	// ignored tells which entries IgnoreEntries was called for: those that are not embedded, and those
	// that are.
	ignored [2]bool
}

// verbResult is the verb that was made from a key, or the error because of which there is no verb.
type verbResult struct {
	key, verb string
	// long is the beginning of the parameter if the parameter is too long for a verb.
	long string
	err  error
}

// longKey is the length in bytes from which a Decider remembers the verb that it made from a key. A
// request body can have a key of a megabyte and many changes below that key. The key should not be
// read again for each change.
const longKey = 512

// New returns a Decider for one request. budget is the largest number of verbs that the authorizer
// may be asked for. 0 means DefaultBudget.
func New(a Authorizer, budget int) *Decider {
	if budget <= 0 {
		budget = DefaultBudget
	}
	return &Decider{authorizer: a, budget: budget}
}

// Continue makes d share the cost budget of another Decider of the same request.
func (d *Decider) Continue(other *Decider) { d.costs = other.Costs() }

// IgnoreEntries makes d decide as if no permission of an entry were excluded: a field that only an
// entry excludes is open to a caller with the ordinary verb. embedded selects the entries; see
// schema.Permission. It is for callers that are exempt from entries.
func (d *Decider) IgnoreEntries(embedded bool) { d.ignored[sortOf(embedded)] = true }

// sortOf returns the index of the entries that are embedded, or are not.
func sortOf(embedded bool) int {
	if embedded {
		return 1
	}
	return 0
}

// Costs returns the cost budget of the request.
func (d *Decider) Costs() *schema.CostBudget {
	if d.costs == nil {
		d.costs = schema.NewCostBudget(MaxCost)
	}
	return d.costs
}

// Asked returns the verbs that the authorizer was asked for, in order, without duplicates. If
// FirstAllowed allowed one verb of a list, the verbs after it in that list do not count as asked.
func (d *Decider) Asked() []string { return d.asked }

// Used returns the verbs that covered a change, in the order of their first use.
func (d *Decider) Used() []string { return d.used }

// Decide returns nil if the caller is allowed to make all changes, and otherwise the refusal of the
// first change that is not covered. marked is set if only the general verb let the request through:
// the caller then needs a permission for every change. If marked is false, the caller holds the
// ordinary verb, and needs a permission only for changes of excluded fields. Decide returns an
// error if ctx has ended, or if the authorizer failed and no other verb covers the change.
func (d *Decider) Decide(ctx context.Context, changes change.Set, marked bool) (*Refusal, error) {
	for i := range changes {
		if i%contextCheckInterval == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c := &changes[i]
		refusal, err := d.decide(ctx, c, marked)
		if refusal != nil || err != nil {
			return refusal, err
		}
	}
	return nil, nil
}

// decide is Decide for one change.
func (d *Decider) decide(ctx context.Context, c *change.Change, marked bool) (*Refusal, error) {
	chain, exclusions := d.chain(c.Node)
	for _, sort := range exclusions.sorts() {
		candidates, excluded := candidatesOf(chain, sort)
		if !marked && !excluded {
			continue
		}
		refusal, err := d.cover(ctx, c, candidates)
		if refusal != nil {
			refusal.byEntry, refusal.embedded = exclusions != none, sort == embedded
		}
		if refusal != nil || err != nil {
			return refusal, err
		}
	}
	return nil, nil
}

// CoveredAsObserved reports whether the observed changes, those before mutating admission, are
// enough for a decision about them, so that they need not be looked for in the object about to be stored.
// This is so if the caller changed nothing, or made exactly one change and that is covered. It returns false
// for:
//
//   - several changes: some might not be stored, so that a permission for them is not needed, but
//     the verbs asked for them would still count as Asked and Used;
//   - an Ambiguous change, which stands for excluded fields below it;
//   - a change WithContainer: the container might be stored without the change;
//   - a change that HasValues, because another value may be about to be stored.
//
// It also returns false if the authorizer failed. After false, call Decide with the changes that
// change.Answerable returns.
func (d *Decider) CoveredAsObserved(ctx context.Context, observed change.Set, marked bool) bool {
	if len(observed) == 0 {
		return true
	}
	if len(observed) > 1 || observed[0].Ambiguous || observed[0].WithContainer || observed[0].HasValues() {
		return false
	}
	refusal, err := d.Decide(ctx, observed, marked)
	return refusal == nil && err == nil
}

// chain returns the chain of a node without the exclusions that IgnoreEntries says, and which entries
// exclude the field.
func (d *Decider) chain(n *schema.Node) ([]*schema.Permission, exclusion) {
	chain := n.Chain()
	if d.ignored != [2]bool{} {
		chain = slices.DeleteFunc(chain, func(p *schema.Permission) bool { return isExclusion(p) && d.ignored[sortOf(p.Embedded)] })
	}
	return chain, excludedBy(chain)
}

// verb returns the verb of a permission for a change. It remembers the verb of a long key, so that
// many changes below the key do not read it again.
func (d *Decider) verb(ctx context.Context, c *change.Change, p *schema.Permission) verbResult {
	key := c.Parameter(p)
	if len(key) < longKey {
		return d.makeVerb(ctx, p, key)
	}
	last, ok := d.long[p]
	if !ok || last.key != key { // fast if both keys are the same string in memory
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

// makeVerb returns the verb of a permission for a key.
func (d *Decider) makeVerb(ctx context.Context, p *schema.Permission, key string) verbResult {
	// With a nil budget no expression can be evaluated, and none is needed here.
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

// cover returns nil if the caller holds one of the candidates, so that the change is covered, and
// otherwise a refusal. First it tries the candidates whose verb does not depend on field values.
func (d *Decider) cover(ctx context.Context, c *change.Change, candidates []*schema.Permission) (*Refusal, error) {
	if len(candidates) == 0 {
		return &Refusal{Reason: NoPermission, Change: *c}, nil
	}
	candidates, ofValue := splitByValue(candidates)
	if ofValue == nil {
		return d.coverAlways(ctx, c, candidates)
	}
	refusal, failure := d.coverAlways(ctx, c, candidates)
	if refusal == nil && failure == nil {
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return d.coverValues(ctx, c, ofValue, refusal, failure)
}

// coverAlways returns nil if the caller holds one of the candidates, and otherwise a refusal. No
// candidate makes its parameter from a field value.
func (d *Decider) coverAlways(ctx context.Context, c *change.Change, candidates []*schema.Permission) (*Refusal, error) {
	long, tooLong := "", false
	refusal := func(r Refusal) *Refusal {
		r.Change, r.budget = *c, d.budget
		if tooLong {
			r.tooLong, r.long = true, long
		}
		for _, p := range candidates {
			if made := d.verb(ctx, c, p); made.err == nil && !p.Element {
				r.offered = append(r.offered, offer{permission: p, verb: made.verb})
			}
		}
		return &r
	}
	var few [8]string
	verbs := few[:0]
	var ask []string
	specific, overspent := "", false
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
			continue // no parameter for this key, so the permission does not cover it
		}
		verb := made.verb
		verbs = append(verbs, verb)
		if specific == "" || !p.Element {
			specific = verb
		}
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
	// Few callers hold a verb for one key only, so the others are asked first.
	exact, one, err := d.coverExact(ctx, c, candidates)
	if err != nil || exact == held {
		return nil, err
	}
	if exact == unanswered || slices.ContainsFunc(verbs, d.isUnanswered) {
		return nil, d.failure // an unanswered verb might have been allowed
	}
	if overBudget || exact == unasked {
		return refusal(Refusal{Reason: Budget, General: broadest(candidates, verbs[0]), Specific: specific}), nil
	}
	if overspent {
		return refusal(Refusal{Reason: Cost, General: broadest(candidates, verbs[0])}), nil
	}
	return refusal(Refusal{Reason: NotCovered, General: verbs[0], Specific: specific,
		Exact: cmp.Or(one, verbs[len(verbs)-1])}), nil
}

// coverExact reports whether the caller holds a verb for the key of the change alone. It also
// returns the most specific such verb, or "" if there is none.
func (d *Decider) coverExact(
	ctx context.Context, c *change.Change, candidates []*schema.Permission,
) (state answer, specific string, err error) {
	var few [2]string
	verbs := few[:0]
	for _, p := range candidates {
		if v, ok := p.Exact(c.Parameter(p)); ok {
			verbs = append(verbs, v.String())
		}
	}
	if len(verbs) == 0 {
		return notHeld, "", nil
	}
	state, err = d.holdsOne(ctx, verbs)
	return state, verbs[len(verbs)-1], err
}

// broadest returns the verb to grant in place of many narrow verbs: that of the most specific
// candidate without a parameter, or else general.
func broadest(candidates []*schema.Permission, general string) string {
	best := general
	for _, p := range candidates {
		if p.Parameter == nil {
			best = permission.Verb{Permission: p.Name}.String()
		}
	}
	return best
}

// ask asks the authorizer for the verbs and returns the index of the first allowed verb, or -1. It
// returns an error only for an impossible index. If the authorizer returned an error, the verbs
// before the allowed one, or all verbs if none is allowed, are added to unanswered.
func (d *Decider) ask(ctx context.Context, verbs []string) (int, error) {
	first, err := d.authorizer.FirstAllowed(ctx, verbs)
	if first >= len(verbs) {
		return -1, fmt.Errorf("authorizer returned index %d for a list of %d verbs", first, len(verbs))
	}
	if first < 0 || first == 0 && err != nil {
		// With an error, index 0 is no allowance: there is no verb before it that could have
		// failed.
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
