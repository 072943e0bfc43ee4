// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"context"
	"slices"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
)

// Holder answers whether a caller holds a role or a verb. The API server makes a Holder for each
// request. It knows the caller, and the resource and object name with which it asks an authorizer
// for a verb.
type Holder interface {
	// Holds reports whether the caller holds what r refers to. A role is held if a binding that
	// applies (see Reference.Namespace) binds the caller to the role. If Holds returns an error,
	// the write must be refused.
	Holds(ctx context.Context, r Reference) (bool, error)
}

// DefaultBudget is the default limit for the number of different references (roles and verbs) that
// the Holder is asked about for one request. A change that needs more is refused.
const DefaultBudget = 64

// Decider decides whether the caller of one request may make its changes of protected attributes,
// also when the request is retried. It is not safe for concurrent use.
type Decider struct {
	set       *Set
	target    *Target
	namespace string
	holder    Holder
	budget    int
	asked     []Reference
	// answers[i] is the answer for asked[i].
	answers []answer
}

type answer struct {
	held bool
	err  error
}

// NewDecider returns the decider of a request for objects of a target in a namespace. The budget
// is the highest number of references that h is asked about; 0 means DefaultBudget.
func NewDecider(s *Set, namespace string, t *Target, h Holder, budget int) *Decider {
	if budget <= 0 {
		budget = DefaultBudget
	}
	return &Decider{set: s, target: t, namespace: t.namespace(namespace), holder: h, budget: budget}
}

// Asked returns the references that the Holder was asked about so far, in the order of the
// questions, without duplicates.
func (d *Decider) Asked() []Reference { return d.asked }

// Wanted reports whether some entry may protect the key. The comparison of the old and the new
// object leaves out other keys, because Decide would admit any change of them. Wanted allocates
// nothing.
func (d *Decider) Wanted(kind schema.Attribute, key string) bool {
	if d.set == nil {
		return false
	}
	return d.set.cluster.has(kind, key) || d.namespace != "" && d.set.namespaces[d.namespace].has(kind, key)
}

// Decide returns the Refusal of the first change with a value that some scope protects and to
// which no entry of that scope admits the caller. A scope has the entries of the cluster or of one
// namespace. If all changes are admitted, Decide returns what entries with mode Audit would have
// refused.
//
// An error means that the Holder returned an error for a role or verb on which the decision about
// a change depends. The write must then be refused.
func (d *Decider) Decide(ctx context.Context, changes change.Attributes) (*Refusal, []Finding, error) {
	for i := range changes {
		var refusal *Refusal
		var err error
		d.set.applicable(d.namespace, func(s *scope) bool {
			refusal, err = d.enforce(ctx, s, &changes[i])
			return refusal == nil && err == nil
		})
		if refusal != nil || err != nil {
			return refusal, nil, err
		}
	}
	var findings []Finding
	for i := range changes {
		d.set.applicable(d.namespace, func(s *scope) bool {
			if f := d.audit(ctx, s, &changes[i]); f != nil {
				findings = append(findings, *f)
			}
			return true
		})
	}
	return nil, findings, nil
}

// Concerned returns the sorted names of all entries, from the cluster and the namespace, that
// protect the old or the new value of the change. It is for reports and does not call the Holder.
func (d *Decider) Concerned(a *change.Attribute) []string {
	var out []string
	d.set.applicable(d.namespace, func(s *scope) bool {
		entries := d.entries(s, a, true)
		for _, e := range entries {
			if a.Unreadable || a.Old.Present && e.protects(a.Old.Unreadable, a.Old.Text) || a.New.Present && e.protects(a.New.Unreadable, a.New.Text) {
				out = append(out, e.Name)
			}
		}
		return true
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// entries returns the entries of a scope that apply to a change, in the order in which they are
// evaluated. Entries of mode Audit are among them only if audit is set.
func (d *Decider) entries(s *scope, a *change.Attribute, audit bool) []*Entry {
	var out []*Entry
	var targets []Resource
	known, looked := false, false
	add := func(candidates []*Entry) {
		for _, e := range candidates {
			if e.Kind != a.Kind || e.Mode == Audit && !audit {
				continue
			}
			if !looked {
				targets, known = d.target.table.of(d.target.resource, a)
				looked = true
			}
			if e.AppliesTo(targets, known) {
				out = append(out, e)
			}
		}
	}
	if a.Unreadable {
		add(s.all)
		return out
	}
	add(s.keys[attribute{a.Kind, a.Key}])
	if keyDomain := domain(a.Key); keyDomain != "" && !Reserved(a.Kind, a.Key) {
		add(s.keys[attribute{a.Kind, keyDomain}])
	}
	return out
}

// enforce returns a Refusal if the entries of one scope do not admit a change, and nil if they do.
func (d *Decider) enforce(ctx context.Context, s *scope, a *change.Attribute) (*Refusal, error) {
	entries := d.entries(s, a, false)
	if len(entries) == 0 {
		return nil, nil
	}
	if a.Unreadable {
		return &Refusal{Reason: Unreadable, Attribute: *a, Namespace: s.namespace}, nil
	}
	for _, side := range [...]change.Value{a.Old, a.New} {
		if !side.Present {
			continue
		}
		concerned, admitting := protecting(entries, side, a.Key)
		if len(concerned) == 0 {
			continue
		}
		switch held, overBudget, err := d.holdsAny(ctx, admitting); {
		case err != nil:
			return nil, err
		case overBudget:
			return &Refusal{Reason: Budget, Attribute: *a, Namespace: s.namespace, budget: d.budget}, nil
		case !held:
			return refused(s, a, admitting), nil
		}
	}
	return nil, nil
}

// audit returns a Finding if a scope would refuse the change with all its entries enforced, and
// nil if not. If no entry of mode Audit protects a value of the change, audit returns nil and does
// not call the Holder.
func (d *Decider) audit(ctx context.Context, s *scope, a *change.Attribute) *Finding {
	if !s.audits {
		return nil
	}
	entries := d.entries(s, a, true)
	if !slices.ContainsFunc(entries, func(e *Entry) bool { return e.Mode == Audit }) {
		return nil
	}
	found := Finding{Attribute: *a, Namespace: s.namespace}
	if a.Unreadable {
		found.add(entries)
		return &found
	}
	for _, side := range [...]change.Value{a.Old, a.New} {
		if !side.Present {
			continue
		}
		concerned, admitting := protecting(entries, side, a.Key)
		if !slices.ContainsFunc(concerned, func(e *Entry) bool { return e.Mode == Audit }) {
			continue
		}
		held, overBudget, err := d.holdsAny(ctx, admitting)
		if !held {
			found.Undecided = found.Undecided || overBudget || err != nil
			found.add(concerned)
		}
	}
	if len(found.Entries) == 0 {
		return nil
	}
	return &found
}

// protecting returns the entries that protect a value, and the references (roles and verbs) of
// which a caller needs one to be admitted to the value, without duplicates.
func protecting(entries []*Entry, side change.Value, key string) (concerned []*Entry, admitting []Reference) {
	for _, e := range entries {
		if !e.protects(side.Unreadable, side.Text) {
			continue
		}
		concerned = append(concerned, e)
		if !e.admits(side.Unreadable, side.Text) {
			continue
		}
		if r, ok := e.reference(key); ok && !slices.Contains(admitting, r) {
			admitting = append(admitting, r)
		}
	}
	return concerned, admitting
}

// holdsAny reports whether the caller holds at least one of the references. It uses known answers
// first and does not ask the Holder for them again. overBudget is set if the Holder would have to
// be asked once more than the budget permits.
func (d *Decider) holdsAny(ctx context.Context, references []Reference) (held, overBudget bool, err error) {
	for _, r := range references {
		if i := slices.Index(d.asked, r); i >= 0 && d.answers[i].held {
			return true, false, nil
		}
	}
	for _, r := range references {
		i := slices.Index(d.asked, r)
		if i < 0 {
			if len(d.asked) >= d.budget {
				return false, true, nil
			}
			held, err := d.holder.Holds(ctx, r)
			i, d.asked, d.answers = len(d.asked), append(d.asked, r), append(d.answers, answer{held && err == nil, err})
		}
		if d.answers[i].err != nil || d.answers[i].held {
			return d.answers[i].held, false, d.answers[i].err
		}
	}
	return false, false, nil
}
