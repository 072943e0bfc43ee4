// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"slices"
)

// elements compiles the schema of the elements of the map or list at n, and adds the result to n.
// It does nothing if l has no schema of elements that may have a permission, and gives them none.
func (c *compiler) elements(n *Node, l layers, p compileContext) error {
	additional, items := l.additional(), l.items()
	if !c.survey.carry(additional) && !c.survey.carry(items) && !l.extension(ExtElement).set {
		return nil
	}
	kind, schemas := Map, additional
	var item layers
	if len(items) > 0 {
		var err error
		if kind, item, err = c.listKind(n, l, items); err != nil {
			return c.report(p.at, err)
		}
		schemas = items
	}
	below := p
	below.at, below.field = p.at.elem(), ""
	below.root, below.ownMetadata = false, false
	if kind == Map {
		whole, err := c.expandKeys(l)
		if err != nil {
			return c.report(p.at, err)
		}
		below.variedDefaults = p.variedDefaults || whole.named()
	}
	var err error
	if below.sources, err = c.sources(n, kind, l, item, p); err != nil {
		return c.report(p.at, err)
	}
	if below.element, err = namedElement(kind, l, below); err != nil {
		return c.report(p.at, err)
	}
	elem, err := c.node(schemas, below)
	if err != nil {
		return err
	}
	if elem == nil {
		n.extra = nil
		return nil
	}
	if n.count > 0 || len(additional) > 0 && len(items) > 0 {
		return c.report(p.at, faultf("", "permissions in more than one of properties, additionalProperties and items"))
	}
	n.Kind = kind
	n.setBelow([]*Node{elem})
	return nil
}

// listKind returns how the elements of a list are identified and, for a ListMap or Set, the
// expanded schema of an element. A set whose elements are not scalars counts as an atomic List,
// because its elements have no text that could be the parameter of a permission.
func (c *compiler) listKind(n *Node, l, items layers) (kind NodeKind, item layers, err error) {
	listType, err := l.text(extListType)
	if err != nil {
		return 0, nil, err
	}
	switch listType {
	case "map":
		names, err := l.listMapKeys()
		if err != nil {
			return 0, nil, err
		}
		if item, err = c.expandKeys(items); err != nil {
			return 0, nil, err
		}
		for _, name := range names {
			key := Key{Name: name}
			key.Default, _ = c.survey.property(item, name).fallback()
			n.ensureExtra().keys = append(n.ensureExtra().keys, key)
		}
		return ListMap, item, nil
	case "set":
		if item, err = c.expandKeys(items); err != nil {
			return 0, nil, err
		}
		if item.scalar() {
			return Set, item, nil
		}
	}
	return List, nil, nil
}

// expandKeys returns the given schemas and all schemas that they refer to. Unlike expand, it also
// follows references that lead to no permission. It is used to read the keys and types of elements
// and values, which the compiler needs in any case.
func (c *compiler) expandKeys(schemas layers) (layers, error) {
	if !slices.ContainsFunc(schemas, refers) {
		return schemas, nil
	}
	e := expansion{definitions: c.models.definitions, follow: func(string) (bool, error) { return true, nil }}
	err := e.all(schemas)
	return e.out, err
}

// sources returns the parameter sources above the elements of a container (a map or a list): those
// in p, which are further up, and those of the container itself. A source of the container is
// declared by the extension ExtSource on the container, on the scalars of a set, or on a key
// property of a list-map.
func (c *compiler) sources(n *Node, kind NodeKind, l, item layers, p compileContext) ([]parameterSource, error) {
	out, depth := slices.Clip(p.sources), p.at.depth()
	source, err := l.text(ExtSource)
	if err != nil {
		return nil, err
	}
	if source != "" {
		if kind == List || kind == ListMap && len(n.Keys()) != 1 {
			return nil, faultf(ExtSource, "the list is atomic or has several keys")
		}
		out = append(out, parameterSource{source: source, depth: depth})
	}
	if kind == Set {
		if source, err = item.text(ExtSource); err != nil {
			return nil, err
		}
		if source != "" {
			out = append(out, parameterSource{source: source, depth: depth})
		}
	}
	for i, key := range n.Keys() {
		property, err := c.expandKeys(c.survey.property(item, key.Name))
		if err != nil {
			return nil, err
		}
		source, err := property.text(ExtSource)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", key.Name, err)
		}
		if source != "" {
			out = append(out, parameterSource{source: source, depth: depth, key: i})
		}
	}
	for _, e := range out[len(p.sources):] {
		if _, value := SelfField(e.source); value {
			return nil, faultf(ExtSource, "%q means the value of a field, so no source may have this name", Self)
		}
	}
	return out, nil
}
