// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"kube-granular.dev/granular/schema"
)

// placeValue is the old or the new value of a field from which a permission makes its parameter.
type placeValue struct {
	// of is the permission, and text is the value as text.
	of   *schema.Permission
	text string
	// unknown is set if the value is not a scalar, so that it has no text, or if its text is not
	// known. The permission then can't cover the change.
	unknown bool
}

// HasValues reports whether the change is at or below a field with a permission whose parameter is
// made from the field's value.
func (c *Change) HasValues() bool { return len(c.values) > 0 }

// Values returns the old and new field values from which the permission p makes its parameter,
// without duplicates. p must be one of the permissions that cover Node. Values returns false if a
// value is not known. p covers the change only if it covers each value.
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

// addValues adds the old and the new value of a field to the changes at and below the field.
func addValues[V view[V]](changes []Change, p *schema.Permission, old, new V) {
	var values []placeValue
	for _, side := range [...]V{old, new} {
		switch text, found := side.valueText(p.Parameter.Field); found {
		case hasText:
			values = append(values, placeValue{of: p, text: text})
		case noText:
			values = append(values, placeValue{of: p, unknown: true})
		}
	}
	if len(values) == 0 { // changed between absent and null, so neither is a value
		values = append(values, placeValue{of: p, unknown: true})
	}
	for i := range changes {
		changes[i].values = append(slices.Clip(changes[i].values), values...)
	}
}

// withValuesOf returns s with the values of each observed change added to the change of s at the
// same index. Both sets must have the same changes in the same order.
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

// sent returns the observed changes that HasValues and that are at the location of a change in
// counted. The caller must be authorized for the values in the request, in addition to those about
// to be stored.
func (x *index) sent(observed, counted Set) Set {
	if !slices.ContainsFunc(observed, func(c Change) bool { return c.HasValues() }) {
		return nil
	}
	counts := make([]bool, len(x.entries))
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

// forgetValues marks all values of a change as unknown.
func (c *Change) forgetValues() {
	c.values = slices.Clone(c.values)
	for i := range c.values {
		c.values[i].unknown = true
	}
}

// textState describes whether a value has a text, from which a permission can make its parameter.
type textState int

const (
	// noText means that the value is not a scalar.
	noText textState = iota
	// noValue means that the value is absent or null.
	noValue
	// hasText is the state of a scalar. A missing field of a present object is also in this state,
	// with an empty text.
	hasText
)
