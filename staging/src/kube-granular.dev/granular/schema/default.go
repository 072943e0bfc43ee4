// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"reflect"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// maxDefaults is how many defaults within each other one Default may have, so that
// definitions that refer to others many times over can't make it vast.
const maxDefaults = 300

// Default is what a schema puts into a place on its own. It stands for itself: no
// decision needs the definitions again. The nil Default is that of places that have none.
type Default struct {
	// value is the default where it is neither an object nor a list.
	value any
	kind  reflect.Kind
	// zero says that the default is what Go's omitempty leaves out.
	zero bool
	// fields are those of a default that is an object, and others those that it lacks
	// and that have a default of their own.
	fields, others map[string]*Default
	elems          []*Default
}

// Default gives the default of the place, nil if it has none, or if that is vast or
// without end, as it may be where definitions hold themselves.
func (c Cursor) Default() *Default {
	d := defaulter{left: maxDefaults}
	out := d.own(c)
	if d.left < 0 {
		return nil
	}
	return out
}

// Is says whether a decoded JSON value is the default, or an object of nothing but
// defaults. omitempty says that the value was encoded from a Go type, which leaves out
// what is zero.
func (d *Default) Is(value any, omitempty bool) bool {
	if d == nil {
		return false
	}
	switch value := value.(type) {
	case map[string]any:
		return d.kind == reflect.Map && d.isObject(value, omitempty)
	case []any:
		if d.kind != reflect.Slice || len(d.elems) != len(value) {
			return false
		}
		for i := range value {
			if !d.elems[i].Is(value[i], omitempty) {
				return false
			}
		}
		return true
	}
	return d.kind == reflect.Invalid && plainEqual(d.value, value)
}

func (d *Default) isObject(object map[string]any, omitempty bool) bool {
	for name, v := range object {
		field, ok := d.fields[name]
		if !ok {
			field = d.others[name] // the values of a map have a default, its keys have none
		}
		if !field.Is(v, omitempty) {
			return false
		}
	}
	for name, field := range d.fields {
		if _, ok := object[name]; !ok && !(omitempty && field.zero) {
			return false
		}
	}
	return true
}

// defaulter follows defaults through a schema.
type defaulter struct {
	// within are the definitions on the way.
	within []*spec.Schema
	left   int
}

// own is the default that a place has itself.
func (d *defaulter) own(c Cursor) *Default {
	if fallback, ok := c.layers.fallback(); ok {
		return d.of(c, fallback)
	}
	return nil
}

// of is what is put into a place where something above has a default.
func (d *defaulter) of(c Cursor, fallback any) *Default {
	if d.left--; d.left < 0 {
		return nil
	}
	entered := len(d.within)
	defer func() { d.within = d.within[:entered] }()
	for _, s := range c.layers {
		name := refName(s)
		if name == "" {
			continue
		}
		definition := c.definitions[name]
		if slices.Contains(d.within[:entered], definition) {
			d.left = -1
			return nil
		}
		d.within = append(d.within, definition)
	}
	out := &Default{zero: zero(fallback)}
	switch fallback := fallback.(type) {
	case map[string]any:
		out.kind = reflect.Map
		out.fields = make(map[string]*Default, len(fallback))
		for name, v := range fallback {
			out.fields[name] = d.of(c.Field(name), v)
		}
		for _, s := range c.layers {
			for name := range s.Properties {
				if _, ok := fallback[name]; ok || out.others[name] != nil {
					continue
				}
				if field := d.own(c.Field(name)); field != nil {
					if out.others == nil {
						out.others = map[string]*Default{}
					}
					out.others[name] = field
				}
			}
		}
	case []any:
		out.kind = reflect.Slice
		for _, v := range fallback {
			out.elems = append(out.elems, d.of(c.Elem(), v))
		}
	default:
		out.value = fallback
	}
	return out
}

// plainEqual compares JSON values; a number is the same in any of Go's types.
func plainEqual(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if !x.IsValid() || !y.IsValid() || x.Kind() == y.Kind() {
		return reflect.DeepEqual(a, b)
	}
	if x.CanFloat() {
		x, y = y, x
	}
	// An integer beyond 2^53 may have lost digits as a float: take it as different.
	const exact = 1 << 53
	return x.CanInt() && y.CanFloat() && -exact < x.Int() && x.Int() < exact && float64(x.Int()) == y.Float() ||
		x.CanInt() && y.CanInt() && x.Int() == y.Int()
}

// zero says that a default is what Go's omitempty leaves out.
func zero(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case nil:
		return true
	}
	return reflect.ValueOf(v).IsZero()
}
