// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"
	"strings"

	"kube-granular.dev/granular/permission"
)

// Self is the parameter source of a permission whose parameter is made from a value: "self" stands
// for the value of the field that carries the permission, and "self.key" for the value of the
// field key inside it. No map or list may have a source with such a name.
const Self = "self"

// SelfField returns the part of a parameter source after "self.": the field whose value is used.
// For "self", the value itself is used and field is empty. SelfField returns false if the source
// is neither, which means that the parameter is made from a key.
func SelfField(source string) (field string, ok bool) {
	if source == Self {
		return "", true
	}
	return strings.CutPrefix(source, Self+".")
}

// names splits the text of x-kubernetes-permission-verb into names of permissions. Usually the
// text has one name. If source says that the parameter is made from a value, the text may have two
// names, with a comma between them: first a general permission without a parameter, then the one
// with the parameter.
func names(verb, source string) ([]string, error) {
	general, specific, two := strings.Cut(verb, ",")
	if !two {
		if verb == "" {
			return nil, nil
		}
		return []string{verb}, permission.Validate(verb)
	}
	if _, value := SelfField(source); !value {
		return nil, faultf("", "two permissions need %s: %s or one of its fields; the first permission must be the general one", ExtParameterized, Self)
	}
	if err := permission.Validate(general); err != nil {
		return nil, err
	}
	return []string{general, specific}, permission.Validate(specific)
}

// value returns a parameter that is made from the value that the schemas l describe or, if field
// is not empty, from the value of the field with this name inside it.
func (c *compiler) value(l layers, source, field string) (*Parameter, error) {
	whole, err := c.expandKeys(l)
	if err != nil {
		return nil, err
	}
	what := "the value"
	if field != "" {
		if whole, err = c.expandKeys(c.survey.property(whole, field)); err != nil {
			return nil, err
		}
		if what = "that field"; len(whole) == 0 {
			return nil, faultf(ExtParameterized, "names a field of %s that the schema does not have", Self)
		}
	}
	if !whole.spelled() {
		return nil, faultf(ExtParameterized, "%s is not a string, an integer or a boolean", what)
	}
	return &Parameter{Source: source, FromValue: true, Field: field}, nil
}

// spelled reports whether the schemas allow only strings, only integers or only booleans. Two
// different texts then never mean the same value, as 1 and 1.0 would, so a value can be part of a
// verb.
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

// TakesValue returns the permission that the node itself carries and whose parameter is made from
// the value at the node. It returns nil if there is none.
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
