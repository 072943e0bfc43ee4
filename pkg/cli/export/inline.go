// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kube-granular.dev/granular/schema"
)

// inline returns the condition that each difference at and below a node is covered.
func (e *emitter) inline(n *schema.Node, at place, c cover) (string, error) {
	condition := c.condition()
	if condition == always && !excludes(n) {
		return always, nil
	}
	same := at.equal()
	if !e.opens(n, c) {
		return or(condition, same), nil
	}
	var body func(old, new string) (string, error)
	empty := "[]"
	switch n.Kind {
	case schema.Object:
		empty, body = "{}", func(old, new string) (string, error) { return e.inObject(n, at, c, old, new) }
	case schema.Map:
		empty, body = "{}", func(old, new string) (string, error) { return e.inMap(n, at, c, old, new) }
	case schema.ListMap:
		body = func(old, new string) (string, error) { return e.inListMap(n, at, c, old, new) }
	case schema.Set:
		body = func(old, new string) (string, error) { return e.inSet(n, at, c, old, new) }
	default:
		body = func(old, new string) (string, error) { return e.inList(n, at, c, old, new) }
	}
	old, new := e.fresh("old"), e.fresh("new")
	text, err := body(old, new)
	if err != nil {
		return "", err
	}
	// If only the presence differs, the difference is of the node itself.
	changed := or(condition, old+" != "+new)
	if n.NilIsEmpty {
		changed = always
	}
	if n.Element() {
		changed = and(changed, or(condition, at.presence()))
	}
	text = bind(old, container(at.old, empty), bind(new, container(at.new, empty), and(changed, text)))
	if !excludes(n) {
		text = or(condition, text)
	}
	return or(same, text), nil
}

func (e *emitter) inObject(n *schema.Node, at place, c cover, old, new string) (string, error) {
	free, err := e.free(n, at, c, old, new)
	if err != nil {
		return "", err
	}
	parts := []string{or(c.condition(), e.rest(n, free, old, new))}
	for _, child := range free {
		below := at.field(child, old, new)
		covered, err := e.below(c, child, below)
		if err != nil {
			return "", err
		}
		part, err := e.inline(child, below, covered)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	return and(parts...), nil
}

// elem returns the condition for an element.
func (e *emitter) elem(n *schema.Node, at place, c cover, keys []string, old, new string) (string, error) {
	elem := n.Elem()
	below := at.elem(elem, keys, old, new)
	covered, err := e.below(c, elem, below)
	if err != nil {
		return "", err
	}
	return e.inline(elem, below, covered)
}

func (e *emitter) inMap(n *schema.Node, place place, c cover, old, new string) (string, error) {
	k := e.fresh("k")
	part, err := e.elem(n, place, c, []string{k}, at(old, k), at(new, k))
	if err != nil {
		return "", err
	}
	return and(fmt.Sprintf("%s.all(%s, %s)", new, k, part), fmt.Sprintf("%s.all(%s, %s)", old, k, or(k+" in "+new, part))), nil
}

// inListMap compares elements by their key. The elements of two objects that have the same key are compared
// as one, and one without a counterpart is compared with nothing.
func (e *emitter) inListMap(n *schema.Node, place place, c cover, old, new string) (string, error) {
	key, texts, err := keyOf(n)
	if err != nil {
		return "", fmt.Errorf("%s: %w", place.path, err)
	}
	x, y, oldKeys, newKeys := e.fresh("x"), e.fresh("y"), e.fresh("keys"), e.fresh("keys")
	match := e.fresh("m")
	both, err := e.elem(n, place, c, texts(x), there(match), there(x))
	if err != nil {
		return "", err
	}
	both = bind(match, fmt.Sprintf("%s.filter(%s, %s == %s)[0]", old, y, key(y), key(x)), both)
	added, err := e.elem(n, place, c, texts(x), nothing, there(x))
	if err != nil {
		return "", err
	}
	removed, err := e.elem(n, place, c, texts(x), there(x), nothing)
	if err != nil {
		return "", err
	}
	k := e.fresh("k")
	unique := func(keys string) string {
		present := k + " != null"
		if len(n.Keys()) > 1 {
			present = "!(null in " + k + ")"
		}
		return fmt.Sprintf("%s.all(%s, %s && %s.exists_one(%s, %s == %s))", keys, k, present, keys, k+"o", k+"o", k)
	}
	parts := []string{and(unique(oldKeys), unique(newKeys))}
	if !excludes(n) {
		parts[0] = or(c.condition(), parts[0])
	}
	if place.orderCounts(n) {
		parts = append(parts, or(c.condition(), fmt.Sprintf("%s.filter(%s, %s in %s) == %s.filter(%s, %s in %s)", newKeys, k, k, oldKeys, oldKeys, k, k, newKeys)))
	}
	// An element that is in the other list as it is differs in nothing.
	parts = append(parts,
		fmt.Sprintf("%s.all(%s, %s in %s || (%s in %s ? %s : %s))", new, x, x, old, key(x), oldKeys, both, added),
		fmt.Sprintf("%s.all(%s, %s in %s || %s)", old, x, key(x), newKeys, grouped(removed)))
	keys := func(list string) string { return fmt.Sprintf("%s.map(%s, %s)", list, x, key(x)) }
	return bind(oldKeys, keys(old), bind(newKeys, keys(new), and(parts...))), nil
}

// keyOf returns functions that return the CEL expressions of the key of an element: as a value, which has a null for each part that
// is missing, and as the texts of which parameters are made.
func keyOf(n *schema.Node) (key func(x string) string, texts func(x string) []string, err error) {
	var names, missing []string
	for _, k := range n.Keys() {
		names, missing = append(names, k.Name), append(missing, "null")
		if fallback := k.Default; fallback != nil {
			value, ok := fallback.(string)
			if !ok {
				return nil, nil, errors.New("the key of the list has a default that is no string")
			}
			missing[len(missing)-1] = quote(value)
		}
	}
	all := func(x, function string) []string {
		var out []string
		for i, name := range names {
			out = append(out, function+"("+field(x, name)+".orValue("+missing[i]+"))")
		}
		return out
	}
	texts = func(x string) []string { return all(x, "string") }
	if len(names) == 1 {
		return func(x string) string { return field(x, names[0]) + ".orValue(" + missing[0] + ")" }, texts, nil
	}
	return func(x string) string { return "[" + strings.Join(all(x, "dyn"), ", ") + "]" }, texts, nil
}

// orderCounts reports whether another order of a list is a change, as it is unless each element has a
// permission of its own.
func (p place) orderCounts(n *schema.Node) bool {
	own := slices.ContainsFunc(n.Elem().Own(), func(p *schema.Permission) bool { return !p.Element })
	return !own || p.embedded
}

// inSet compares how often each element is there.
func (e *emitter) inSet(n *schema.Node, place place, c cover, old, new string) (string, error) {
	x, y := e.fresh("x"), e.fresh("y")
	covered, err := e.below(c, n.Elem(), place.elem(n.Elem(), []string{"string(" + x + ")"}, there(x), there(x)))
	if err != nil {
		return "", err
	}
	times := func(list string) string { return fmt.Sprintf("%s.filter(%s, %s == %s).size()", list, y, y, x) }
	each := or(covered.condition(), times(old)+" == "+times(new))
	parts := []string{fmt.Sprintf("%s.all(%s, %s)", new, x, each), fmt.Sprintf("%s.all(%s, %s)", old, x, each)}
	if place.orderCounts(n) {
		parts = append(parts, or(c.condition(), fmt.Sprintf("%s.filter(%s, %s in %s) == %s.filter(%s, %s in %s)", new, x, x, old, old, x, x, new)))
	}
	return and(parts...), nil
}

// inList compares an atomic list whose elements have a permission that takes a value. The elements that no verb
// is for are the same, in the same order. The others may change, but what stays keeps its order.
func (e *emitter) inList(n *schema.Node, place place, c cover, old, new string) (string, error) {
	elem := n.Elem()
	if elem.TakesValue() == nil || elem.Kind != schema.Leaf {
		return "", fmt.Errorf("%s: the elements of the list have no key, so a policy can't tell which element changed", place.path)
	}
	x, y := e.fresh("x"), e.fresh("y")
	covered, err := e.below(c, elem, place.elem(elem, nil, there(x), there(x)))
	if err != nil {
		return "", err
	}
	value := func(x string) string {
		if name := elem.TakesValue().Parameter.Field; name != "" {
			return field(x, name) + `.orValue("")`
		}
		return x
	}
	others := func(list string) string {
		return fmt.Sprintf("%s.filter(%s, !(%s))", list, x, covered.condition())
	}
	kept := func(list, other string) string { return fmt.Sprintf("%s.filter(%s, %s in %s)", list, x, x, other) }
	values := func(list, other string) string {
		return fmt.Sprintf("%s.filter(%s, %s.exists(%s, %s == %s)).map(%s, %s)", list, x, other, y, value(y), value(x), x, value(x))
	}
	edited := fmt.Sprintf("%s.exists(%s, !(%s in %s) && %s.exists(%s, !(%s in %s) && %s == %s))", new, x, x, old, old, y, y, new, value(y), value(x))
	return and(
		others(old)+" == "+others(new),
		or(c.condition(), kept(old, new)+" == "+kept(new, old)),
		or(c.condition(), "!"+edited, values(old, new)+" == "+values(new, old)),
	), nil
}
