// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"kube-granular.dev/granular/rule"
)

// keys are the keys of maps and of the elements of map lists. Both belong to one domain.
var keys = []string{"d/a", "d"}

// values returns the values that a field can have, the absent one first. odd values are those that a server
// would mostly refuse or prune: nulls, another shape, unknown fields. There are fewer others then.
func values(n *Node, odd bool) []any {
	out := []any{rule.Absent{}}
	if odd {
		out = append(out, nil)
	}
	switch n.Kind {
	case rule.Scalar:
		if odd {
			return append(out, "v", map[string]any{})
		}
		return append(out, "v", "w")
	case rule.Object:
		if odd {
			out = append(out, "v")
		}
		return append(out, Objects(n, odd)...)
	case rule.Map:
		if odd {
			out = append(out, "v")
		}
		for _, a := range values(n.Kids[0], odd) {
			if odd {
				out = append(out, object("d", a))
				continue
			}
			for _, b := range values(n.Kids[0], odd) {
				out = append(out, object(keys[0], a, keys[1], b))
			}
		}
		return out
	case rule.Set:
		for _, l := range [][]any{{}, {"v"}, {"w"}, {"v", "w"}, {"w", "v"}, {"v", "v"}, {"v", "w", "x"}, {"w", "v", "x"}, {"x", "w", "v"}} {
			out = append(out, l)
		}
		if odd {
			out = append(out, "v")
		}
		return out
	}
	if odd {
		out = append(out, "v", map[string]any{})
	}
	return append(out, lists(n, odd)...)
}

// lists returns the lists of at most two elements.
func lists(n *Node, odd bool) []any {
	out := []any{[]any{}}
	var elements []any
	if n.Kind == rule.MapList {
		for _, key := range keys {
			if odd && key != keys[0] {
				continue
			}
			for _, v := range Objects(n.Kids[0], odd) {
				v.(map[string]any)["k"] = key
				elements = append(elements, v)
			}
		}
	} else {
		elements = values(n.Kids[0], odd)[1:]
	}
	for _, a := range elements {
		out = append(out, []any{a})
		for _, b := range elements {
			if !odd || n.Kind == rule.MapList {
				out = append(out, []any{a, b})
			}
		}
	}
	return out
}

// Objects returns the objects with all values of their fields.
func Objects(n *Node, odd bool) []any {
	out := []any{map[string]any{}}
	for _, kid := range n.Kids {
		var more []any
		for _, v := range values(kid, odd) {
			for _, o := range out {
				more = append(more, with(o, kid.Name, v))
			}
		}
		out = more
	}
	if odd {
		for _, o := range out[:len(out):len(out)] {
			out = append(out, with(o, "unknown", "v"))
		}
	}
	return out
}

// with returns a copy of an object with one more field, unless that is absent.
func with(o any, name string, v any) any {
	out := map[string]any{}
	for k, x := range o.(map[string]any) {
		out[k] = x
	}
	if v != (any)(rule.Absent{}) {
		out[name] = v
	}
	return out
}

func object(fields ...any) any {
	var out any = map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		out = with(out, fields[i].(string), fields[i+1])
	}
	return out
}
