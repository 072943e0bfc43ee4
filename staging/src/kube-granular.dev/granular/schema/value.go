// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"
	"strings"

	"kube-granular.dev/granular/permission"
)

// Self is what a permission names as its parameter source if its parameter is made of a
// value: "self" is the value of the place that carries the permission, "self.key" that of its
// field key. No map or list may have a source of such a name.
const Self = "self"

// selfField returns the field that a source names, empty for the value itself.
func selfField(source string) (field string, ok bool) {
	if source == Self {
		return "", true
	}
	return strings.CutPrefix(source, Self+".")
}

// names splits what x-kubernetes-permission-verb holds: one permission, or, where the
// parameter is made of the value, a general one that takes none and the one that takes it.
func names(verb, source string) ([]string, error) {
	general, specific, two := strings.Cut(verb, ",")
	if !two {
		if verb == "" {
			return nil, nil
		}
		return []string{verb}, permission.Validate(verb)
	}
	if _, value := selfField(source); !value {
		return nil, faultf("", "only where %s is %q or one of its fields may there be two permissions, the more general one first", ExtParameterized, Self)
	}
	if err := permission.Validate(general); err != nil {
		return nil, err
	}
	return []string{general, specific}, permission.Validate(specific)
}

// value describes a parameter made of the value of a place.
func (c *compiler) value(l layers, source, field string) (*Parameter, error) {
	whole, err := c.expandKeys(l)
	if err != nil {
		return nil, err
	}
	what := "the value of the place"
	if field != "" {
		if whole, err = c.expandKeys(c.survey.property(whole, field)); err != nil {
			return nil, err
		}
		if what = "that field"; len(whole) == 0 {
			return nil, faultf(ExtParameterized, "names a field of %s that is not there", Self)
		}
	}
	if !whole.spelled() {
		return nil, faultf(ExtParameterized, "%s is not a string, an integer or a boolean", what)
	}
	return &Parameter{Source: source, FromValue: true, Field: field}, nil
}

// spelled reports whether every value described is a string, an integer or a boolean, which
// have one spelling each.
func (l layers) spelled() bool {
	for _, s := range l {
		if s.Format == "int-or-string" {
			return false
		}
		if len(s.Type) > 0 {
			return len(s.Type) == 1 && slices.Contains([]string{"string", "integer", "boolean"}, s.Type[0])
		}
	}
	return false
}

// TakesValue returns the permission that the node itself carries whose parameter is made of the
// value at the node, nil if there is none.
func (n *Node) TakesValue() *Permission {
	if n.traits&valueTrait == 0 {
		return nil
	}
	for p := n.last; ; p = p.above {
		if p.Parameter != nil && p.Parameter.FromValue {
			return p
		}
	}
}
