// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"maps"
	"strings"

	"kube-granular.dev/granular/schema"
)

// place is a node in both objects.
type place struct {
	// old and new are CEL expressions of optional values.
	old, new string
	// path is the path for messages, and name the suffix of the variables.
	path, name string
	depth      int
	// keys has the CEL expressions of the keys on the way, by the depth of the map or list. An element of a list may have several.
	keys map[int][]string
	// embedded is set in an embedded object such as a pod template, where the order of lists counts.
	embedded bool
}

// nothing is the optional value of what is not there.
const nothing = "optional.none()"

// there returns an expression as the optional value of what is there.
func there(value string) string { return "optional.of(" + value + ")" }

// container returns the value of an optional map or list, or an empty one.
func container(optional, empty string) string {
	if optional == nothing {
		return empty
	}
	if value, ok := strings.CutPrefix(optional, "optional.of("); ok {
		value = strings.TrimSuffix(value, ")")
		return fmt.Sprintf("%s == null ? %s : %s", value, empty, value)
	}
	// A field of a built-in kind that has no omitempty is null if it is empty.
	return fmt.Sprintf("%s.orValue(null) == null ? %s : %s.value()", optional, empty, optional)
}

// equal returns the condition that both values are equal, or both absent.
func (p place) equal() string {
	if (p.old == nothing) != (p.new == nothing) {
		return p.presence()
	}
	return p.old + " == " + p.new
}

// presence returns the condition that both values are there, or both absent.
func (p place) presence() string {
	present := func(optional string) string {
		switch {
		case optional == nothing:
			return never
		case strings.HasPrefix(optional, "optional.of("):
			return always
		}
		return optional + ".hasValue()"
	}
	old, new := present(p.old), present(p.new)
	switch {
	case old == new:
		return always
	case old == never && new == always, old == always && new == never:
		return never
	}
	return old + " == " + new
}

// field returns the place of a field. old and new are the objects around it.
func (p place) field(n *schema.Node, old, new string) place {
	out := p
	out.old, out.new, out.depth = field(old, n.Field), field(new, n.Field), p.depth+1
	out.path = p.path + "." + n.Field
	out.name = p.name + "_" + strings.Map(inName, n.Field)
	out.embedded = p.embedded || n.Scope() != ""
	return out
}

// elem returns the place of an element of a map or list, with its keys if it has some.
func (p place) elem(n *schema.Node, keys []string, old, new string) place {
	out := p
	out.old, out.new, out.depth, out.path = old, new, p.depth+1, p.path+"[*]"
	if out.keys = maps.Clone(p.keys); len(keys) > 0 {
		out.keys[p.depth] = keys
	}
	out.embedded = p.embedded || n.Scope() != ""
	return out
}

func inName(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '_'
}
