// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"context"
	"errors"
	"slices"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// ofValues splits candidates into those that cover a change whatever its values are, and those
// whose parameter is made of a value. It allocates nothing where there are none of these.
func ofValues(candidates []*schema.Permission) (others, ofValue []*schema.Permission) {
	if !slices.ContainsFunc(candidates, takesValue) {
		return candidates, nil
	}
	for _, p := range candidates {
		if takesValue(p) {
			ofValue = append(ofValue, p)
		} else {
			others = append(others, p)
		}
	}
	return others, ofValue
}

func takesValue(p *schema.Permission) bool { return p.Parameter != nil && p.Parameter.FromValue }

// coverValues looks for a permission that covers every value of a change, after the other
// candidates covered nothing: refusal and failure are what became of those, both nil if there
// were none.
func (d *Decider) coverValues(ctx context.Context, c *change.Change, candidates []*schema.Permission, refusal *Refusal, failure error) (*Refusal, error) {
	r := Refusal{Reason: NoParameter, Change: *c, budget: d.budget, ofValue: true}
	if refusal != nil {
		r = *refusal
		r.ofValue = true
	}
	for _, p := range candidates {
		values, known := c.Values(p)
		if !known {
			continue
		}
		state, first, err := d.holdsAll(ctx, p, values, &r)
		switch {
		case err != nil:
			return nil, err
		case state == held:
			return nil, nil
		case state == unanswered && failure == nil:
			failure = d.failure
		case state == unasked:
			r.Reason = Budget
		}
		if first != "" {
			r.offered = append(r.offered, offer{p, first})
		}
	}
	if failure != nil {
		return nil, failure // it might have been allowed
	}
	if len(r.offered) == 0 {
		return &r, nil
	}
	general, specific := r.offered[0], r.offered[len(r.offered)-1]
	switch r.Reason {
	case Budget:
		r.General, r.Specific = general.verb, specific.verb
		for _, o := range r.offered { // what needs no verb for each value
			if o.permission.Parameter == nil {
				r.General = o.verb
			}
		}
	case NotCovered, NoParameter:
		r.Reason, r.General, r.Specific = NotCovered, general.verb, specific.verb
	}
	return &r, nil
}

// holding is what became of asking for all values of one permission.
type holding int

const (
	// lacking one value that is not covered.
	lacking holding = iota
	held
	// unanswered, because the authorizer failed.
	unanswered
	// unasked, because the budget does not reach.
	unasked
)

// holdsAll asks for values until one is not covered, and returns the narrowest verb that
// would have covered that one, empty if there is none. An error is the end of the request, or
// an answer that makes no sense.
func (d *Decider) holdsAll(ctx context.Context, p *schema.Permission, values []string, r *Refusal) (holding, string, error) {
	var spending *schema.Spending
	if p.Parameter.Expression != nil {
		spending = d.Spending()
	}
	for i, value := range values {
		if i%looks == 0 && ctx.Err() != nil {
			return lacking, "", ctx.Err()
		}
		of, err := p.Verbs(ctx, spending, value)
		if ctx.Err() != nil {
			return lacking, "", ctx.Err()
		}
		if err != nil {
			if errors.Is(err, permission.ErrTooLong) {
				r.tooLong, r.long = true, permission.Head(of[0].Parameter, shownOfParameter)
			}
			return lacking, "", nil
		}
		verbs := make([]string, len(of))
		for j := range of {
			verbs[j] = of[j].String()
		}
		if state, err := d.holdsOne(ctx, verbs); state != held || err != nil {
			return state, verbs[len(verbs)-1], err
		}
	}
	return held, "", nil
}

// holdsOne asks for those of some verbs that were not asked yet, as far as the budget goes.
func (d *Decider) holdsOne(ctx context.Context, verbs []string) (holding, error) {
	if slices.ContainsFunc(verbs, func(v string) bool { return slices.Contains(d.used, v) }) {
		return held, nil
	}
	var ask []string
	for _, v := range verbs {
		if !slices.Contains(d.asked, v) {
			ask = append(ask, v)
		}
	}
	wanted := len(ask)
	ask = ask[:min(wanted, d.budget-len(d.asked))]
	if len(ask) > 0 {
		first, err := d.ask(ctx, ask)
		if err != nil {
			return lacking, err
		}
		if first >= 0 {
			d.used = append(d.used, ask[first])
			return held, nil
		}
	}
	if slices.ContainsFunc(verbs, d.isUnanswered) {
		return unanswered, nil
	}
	if len(ask) < wanted {
		return unasked, nil
	}
	return lacking, nil
}
