// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"reflect"
	"slices"
	"strings"
)

// Kind is how values of a field are compared.
type Kind string

const (
	// Scalar is also the kind of values that are compared as a whole.
	Scalar Kind = "scalar"
	Object Kind = "object"
	Map    Kind = "map"
	// MapList is a list whose elements have a key.
	MapList Kind = "map list"
	Set     Kind = "set"
	// List is an atomic list. Its elements have no identity.
	List Kind = "list"
)

// Absent is the value of a field or element that is not there. nil is a null.
type Absent struct{}

// fits reports whether a value that is there has the shape that the kind needs.
func (k Kind) fits(v any) bool {
	switch v.(type) {
	case nil, Absent:
		return true
	case map[string]any:
		return k == Object || k == Map || k == Scalar
	case []any:
		return k == MapList || k == Set || k == List || k == Scalar
	}
	return k == Scalar
}

// state returns 0 for a value that is absent, 1 for null and 2 for all others.
func state(v any) int {
	switch v.(type) {
	case Absent:
		return 0
	case nil:
		return 1
	}
	return 2
}

// blank returns Absent for a null and for an empty map or list.
func blank(v any) any {
	if m, ok := v.(map[string]any); v == nil || ok && len(m) == 0 {
		return Absent{}
	}
	if l, ok := v.([]any); ok && len(l) == 0 {
		return Absent{}
	}
	return v
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// get returns the value of a field of an object, or of a key of a map.
func get(v any, name string) any {
	m, _ := v.(map[string]any)
	if value, ok := m[name]; ok {
		return value
	}
	return Absent{}
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// names returns the sorted names of the fields, or keys, of both values.
func names(a, b any) []string {
	var out []string
	for _, v := range []any{a, b} {
		m, _ := v.(map[string]any)
		for name := range m {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// values returns the old and the new value of the field or, if inside is not empty, of that field inside.
// It returns false if one of them is not a string. An object without the field inside has an empty one.
func (s Step) values(inside string) (values []string, known bool) {
	for _, v := range []any{s.Old, s.New} {
		if state(v) < 2 {
			continue
		}
		if _, object := v.(map[string]any); inside != "" && object {
			if v = get(v, inside); state(v) < 2 {
				v = ""
			}
		} else if inside != "" {
			return nil, false
		}
		text, ok := v.(string)
		if !ok {
			return nil, false
		}
		values = append(values, text)
	}
	return values, true
}

// key returns the key of the element that the n-th last keyed step leads to.
func (p Place) key(n int) string {
	for _, s := range slices.Backward(p) {
		if s.Key {
			if n--; n == 0 {
				return s.Name
			}
		}
	}
	return ""
}

// apart returns the domain of a key, and the parameter that stands for the whole key only: a key without a
// domain gets a slash in front.
func apart(key string) (domain, whole string) {
	domain, _, _ = strings.Cut(key, "/")
	if strings.Index(key, "/") > 0 {
		return domain, key
	}
	return domain, "/" + key
}
