// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"kube-granular.dev/granular/schema"
)

// placeValue is one value that the parameter of a permission is made of, as the place of a change
// had it or has it.
type placeValue struct {
	of   *schema.Permission
	text string
	// unknown is set where the value has no text, so the permission can't cover the change.
	unknown bool
}

// HasValues reports whether the change lies at or below a place that has a permission whose
// parameter is made of the value there.
func (c *Change) HasValues() bool { return len(c.values) > 0 }

// Values returns every value that the place had or has, of which a permission of the node's
// chain makes its parameter, each once. It reports false where they are not all known. The
// permission covers the change only if it covers each of them.
func (c *Change) Values(p *schema.Permission) ([]string, bool) {
	var out []string
	met := map[string]bool{}
	for i := range c.values {
		v := &c.values[i]
		if v.of != p {
			continue
		}
		if v.unknown {
			return nil, false
		}
		if !met[v.text] {
			met[v.text] = true
			out = append(out, v.text)
		}
	}
	return out, len(out) > 0
}

// valued adds the values of both sides of a place to the changes that were charged at the
// place and below it.
func valued[V view[V]](changes []Change, p *schema.Permission, old, new V) {
	var values []placeValue
	for _, side := range [...]V{old, new} {
		switch text, found := side.valueText(p.Parameter.Field); found {
		case hasText:
			values = append(values, placeValue{of: p, text: text})
		case noText:
			values = append(values, placeValue{of: p, unknown: true})
		}
	}
	if len(values) == 0 { // absent and null: there is a change, and nothing that it is of
		values = append(values, placeValue{of: p, unknown: true})
	}
	for i := range changes {
		changes[i].values = append(slices.Clip(changes[i].values), values...)
	}
}

// withValuesOf returns a set whose changes have the values of both sets. Both have the same
// changes, one by one.
func (s Set) withValuesOf(observed Set) Set {
	copied := false
	for i := range s {
		if len(s[i].values)+len(observed[i].values) == 0 {
			continue
		}
		if !copied {
			s, copied = slices.Clone(s), true
		}
		s[i].values = append(slices.Clip(s[i].values), observed[i].values...)
	}
	return s
}

// sent returns the observed changes with values whose place has one among the changes that
// count: what the caller sent must be covered, beside what is about to be stored.
func (x *index) sent(observed, counted Set) Set {
	if !slices.ContainsFunc(observed, func(c Change) bool { return c.HasValues() }) {
		return nil
	}
	counts := make([]bool, len(x.nodes))
	for i := range counted {
		counts[x.of(counted[i].at).first] = true
	}
	var out Set
	for i := range observed {
		if o := &observed[i]; o.HasValues() && counts[x.of(o.at).first] {
			out = append(out, *o)
		}
	}
	return out
}

// forgetValues makes the values of a change unknown.
func (c *Change) forgetValues() {
	c.values = slices.Clone(c.values)
	for i := range c.values {
		c.values[i].unknown = true
	}
}

// textState is how the value that a parameter is made of is there.
type textState int

const (
	// noText values have no text.
	noText textState = iota
	// noValue is the value of what is absent or null.
	noValue
	// hasText values have a text; a missing field of an object has the empty one.
	hasText
)
