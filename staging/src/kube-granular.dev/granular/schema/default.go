// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"reflect"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// maxDefaults is the highest number of values in one Default, where an object or a list counts as
// one value and each value inside it counts as well. Beyond this number there is no Default.
// Without the limit, definitions that refer to each other could yield a Default with very many
// values.
const maxDefaults = 300

// Default is the value that a schema sets for an absent field. It keeps no definitions in memory,
// so decisions work without the definitions. A nil Default means that the schema sets no value.
type Default struct {
	// value is the default if it is neither an object nor a list.
	value any
	kind  reflect.Kind
	// zero is set if the default is a value that Go's omitempty leaves out of the JSON.
	zero bool
	// fields are the fields of a default that is an object. others are the fields that the schema
	// has, the default does not have, and for which the schema sets a default of the field itself.
	fields, others map[string]*Default
	elems          []*Default
}

// Default returns the default of the schema at the cursor. It returns nil if there is no default,
// or if the default has more than maxDefaults values. It also returns nil if the default is
// infinite, as with definitions that refer to themselves.
func (c Cursor) Default() *Default {
	d := defaulter{left: maxDefaults}
	out := d.own(c)
	if d.left < 0 {
		return nil
	}
	return out
}

// Is reports whether a decoded JSON value is the default. An object may also have fields that the
// default lacks, if the schema sets a default for each of these fields and the field has this
// value. omitempty tells that the value was encoded from a Go type, which leaves out zero values;
// such values may then be missing.
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
			field = d.others[name] // nil for a key of a map: no default adds a key
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

// defaulter collects the defaults of a schema and of the schemas below it.
type defaulter struct {
	// within are the definitions that contain the current schema. If a definition is entered that
	// is already in within, its default is infinite.
	within []*spec.Schema
	left   int
}

// own returns the default that the schema at the cursor sets itself, nil if it sets none.
func (d *defaulter) own(c Cursor) *Default {
	if fallback, ok := c.layers.fallback(); ok {
		return d.of(c, fallback)
	}
	return nil
}

// of returns the Default for the value fallback. The schema at the cursor sets this value, or a
// schema above sets it as part of its own default.
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

// plainEqual compares scalars of decoded JSON. Numbers may be of different Go types.
func plainEqual(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if !x.IsValid() || !y.IsValid() || x.Kind() == y.Kind() {
		return reflect.DeepEqual(a, b)
	}
	if x.CanFloat() {
		x, y = y, x
	}
	// An integer beyond 2^53 may have lost digits as a float, so it counts as different.
	const exact = 1 << 53
	return x.CanInt() && y.CanFloat() && -exact < x.Int() && x.Int() < exact && float64(x.Int()) == y.Float() ||
		x.CanInt() && y.CanInt() && x.Int() == y.Int()
}

// zero reports whether Go's omitempty leaves out a value.
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
