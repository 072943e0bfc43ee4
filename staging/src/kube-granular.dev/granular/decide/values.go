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

// splitByValue returns the candidates whose parameter is made from a field value as ofValue, and
// all other candidates as others. It allocates nothing if ofValue is empty.
func splitByValue(candidates []*schema.Permission) (others, ofValue []*schema.Permission) {
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

// takesValue reports whether a permission makes its parameter from a value of the object.
func takesValue(p *schema.Permission) bool { return p.Parameter != nil && p.Parameter.FromValue }

// coverValues returns nil if one of the candidates covers the change: the caller holds a verb of
// this candidate for every value of the change. If none does, coverValues returns a refusal.
// refusal and failure are what coverAlways returned for the candidates that do not depend on
// values.
func (d *Decider) coverValues(ctx context.Context, c *change.Change, candidates []*schema.Permission, refusal *Refusal, failure error) (*Refusal, error) {
	r := Refusal{Change: *c, budget: d.budget}
	if refusal != nil {
		r = *refusal
	}
	r.ofValue = true
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
		if first == "" {
			continue
		}
		r.offered = append(r.offered, offer{permission: p, verb: first, values: values})
	}
	if failure != nil {
		return nil, failure // the caller might hold a verb that has no answer
	}
	if r.Reason != Budget {
		// No verb is asked for again, so the authorizer is asked for the other values only now, when no
		// candidate covers the change.
		if err := d.complete(ctx, &r); err != nil {
			return nil, err
		}
	}
	if len(r.offered) == 0 {
		return &r, nil
	}
	general, specific := r.offered[0], r.offered[len(r.offered)-1]
	switch r.Reason {
	case Budget:
		r.General, r.Specific = general.verb, specific.verb
		for _, o := range r.offered { // prefer a verb without a parameter, which covers all values
			if o.permission.Parameter == nil {
				r.General = o.verb
			}
		}
	case NotCovered, NoParameter:
		r.Reason, r.General, r.Specific, r.Together = NotCovered, general.verb, specific.verb, specific.together
	}
	return &r, nil
}

// complete finds for each offered permission of values the verbs that the caller lacks, of which the
// offer has only the first. It drops the offer of a permission that has no parameter for one of the
// values, because it can't cover the change, and one that needs more than maxTogether verbs, if there
// is a permission that needs one.
func (d *Decider) complete(ctx context.Context, r *Refusal) error {
	var offered []offer
	for _, o := range r.offered {
		if o.values == nil {
			offered = append(offered, o)
			continue
		}
		missing, err := d.missing(ctx, o, r.offered[0].values == nil)
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			continue
		}
		if o.verb = missing[0]; len(missing) > 1 {
			o.together = missing
		}
		offered = append(offered, o)
	}
	r.offered = offered
	return nil
}

// missing returns the verbs that the caller lacks for the values of an offer, each once. It returns
// none if the offer is to be dropped, as complete says; general is whether there is a permission
// that needs one verb for all values.
func (d *Decider) missing(ctx context.Context, o offer, general bool) ([]string, error) {
	var missing []string
	met := map[string]bool{}
	for _, value := range o.values {
		state, verb, err := d.holdsAll(ctx, o.permission, []string{value}, &Refusal{})
		if err != nil {
			return nil, err
		}
		if state == held || met[verb] {
			continue
		}
		met[verb] = true
		missing = append(missing, verb)
		// A list has thousands of values, and the caller needs a verb for each.
		if verb == "" || general && len(missing) > maxTogether {
			return nil, nil
		}
	}
	return missing, nil
}

// answer tells whether the caller holds a verb of one permission for each value of a change.
type answer int

const (
	// notHeld means that for at least one of the values the caller holds no verb.
	notHeld answer = iota
	// held means that the caller holds a verb for each value.
	held
	// unanswered means that the authorizer failed on a verb for one of the values.
	unanswered
	// unasked means that a verb was not asked for, because the budget of verbs was used up.
	unasked
)

// holdsAll asks the authorizer about the values of a permission, one after the other, and stops at
// the first value for which the caller does not hold a verb. It then returns the narrowest verb
// that would cover that value, or "" if there is none. If a parameter is too long or costs too
// much, it notes that in the refusal r. An error means that ctx has ended, or that the authorizer
// returned an impossible index.
func (d *Decider) holdsAll(ctx context.Context, p *schema.Permission, values []string, r *Refusal) (answer, string, error) {
	var costs *schema.CostBudget
	if p.Parameter.Expression != nil {
		costs = d.Costs()
	}
	for _, value := range values {
		needed, err := p.Verbs(ctx, costs, value)
		if ctx.Err() != nil {
			return notHeld, "", ctx.Err()
		}
		if err != nil {
			if errors.Is(err, permission.ErrTooLong) {
				r.tooLong, r.long = true, permission.Head(needed[0].Parameter, shownOfParameter)
			}
			if errors.Is(err, schema.ErrCostExceeded) {
				r.Reason = Cost
			}
			return notHeld, "", nil
		}
		verbs := make([]string, len(needed))
		for j := range needed {
			verbs[j] = needed[j].String()
		}
		if state, err := d.holdsOne(ctx, verbs); state != held || err != nil {
			return state, verbs[len(verbs)-1], err
		}
	}
	return held, "", nil
}

// holdsOne reports whether the caller holds at least one of the verbs. It asks the authorizer for
// the verbs that were not asked for yet, but never for more than the budget of the request permits.
func (d *Decider) holdsOne(ctx context.Context, verbs []string) (answer, error) {
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
			return notHeld, err
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
	return notHeld, nil
}
