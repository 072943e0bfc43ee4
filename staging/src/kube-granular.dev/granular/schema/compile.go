// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"slices"
	"sort"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Compile makes the permission tree of one definition; use Models to make many.
func Compile(definitions map[string]*spec.Schema, root string) (*Tree, error) {
	return NewModels(definitions).Compile(root)
}

// ByKind makes the permission tree of one kind; use Models to make many.
func ByKind(definitions map[string]*spec.Schema, kind gvkschema.GroupVersionKind) (*Tree, error) {
	return NewModels(definitions).ByKind(kind)
}

// Compile makes the permission tree of the definition named root. An error means
// that the schema's permissions can't be enforced; the kind must then be treated
// as one whose every field may be excluded.
func (m *Models) Compile(root string) (*Tree, error) {
	s := m.definitions[root]
	if s == nil {
		return nil, fmt.Errorf("schema: no definition %s", root)
	}
	known := m.learned()
	defer m.sharing.learned.Put(known)
	known.survey.extend(m.definitions, root)
	c := &compiler{models: m, knowledge: known, verbs: map[string]bool{}, expressions: map[string]compiledExpression{}}
	n, err := c.node(layers{s}, place{trail: &trail{name: root}, root: true})
	if err == nil {
		err = c.report(nil, c.survey.check(root))
	}
	if err != nil || len(c.problems) > 0 {
		return nil, fmt.Errorf("schema of %s: %w", root, c.problems)
	}
	kept := m.definitions
	if m.passing {
		kept = known.survey.reached(kept, root)
	}
	return &Tree{Name: root, Root: n, definitions: kept}, nil
}

// place is what the way from the root to a schema says about it.
type place struct {
	trail *trail
	at    *where
	// field is the name of the place below an object.
	field string
	chain []*Permission
	scope string
	// emitters are the parameter sources on the way, the innermost last.
	emitters []emitter
	// root marks the object itself, metadata its own metadata and all below,
	// ownMetadata that metadata alone.
	root, metadata, ownMetadata bool
}

type emitter struct {
	source     string
	depth, key int
}

type compiler struct {
	models *Models
	*knowledge
	// metadata is the definition of the object's own metadata.
	metadata string
	// verbs says of every permission met whether it is excluded.
	verbs       map[string]bool
	expressions map[string]compiledExpression
	nodes       int
	problems    Problems
}

// node compiles what is at a place. It gives nil if no permission is in it, or if
// there is a problem that leaves nothing to look at.
func (c *compiler) node(in layers, p place) (*Node, error) {
	if p.ownMetadata {
		in = c.ownMetadata(in)
	}
	at, whole := c.circumstances(in, p)
	if !whole {
		return c.make(in, p)
	}
	if n, known := c.recall(at); known {
		return n, nil
	}
	problems := len(c.problems)
	n, err := c.make(in, p)
	if err == nil && len(c.problems) == problems {
		c.remember(at, n)
	}
	return n, err
}

func (c *compiler) make(in layers, p place) (*Node, error) {
	e, err := c.expand(in, p)
	if err != nil {
		return nil, c.report(p.at, err)
	}
	if p.at.depth() > MaxDepth {
		return nil, c.stop(faultf("", "more than %d levels deep", MaxDepth))
	}
	p.trail = e.trail
	n := &Node{Field: p.field, NilIsEmpty: p.metadata}
	if err := c.report(p.at, c.permissions(n, e.out, &p)); err != nil {
		return nil, err
	}
	p.chain = n.Chain
	if err := c.children(n, e.out, p); err != nil {
		return nil, err
	}
	keep := n.Own > 0 || n.Fields != nil || n.Elem != nil
	switch {
	case p.root:
		n.system = rootSystem
		keep = true
	case p.ownMetadata:
		n.system = metadataSystem
		n.Kind = Object
		keep = true
	}
	if !keep {
		return nil, nil
	}
	if c.nodes++; c.nodes > MaxNodes {
		return nil, c.stop(faultf("", "more than %d places with permissions", MaxNodes))
	}
	return c.finish(n), nil
}

// finish says what is excluded where, and gives the node there is already if it is
// the same.
func (c *compiler) finish(n *Node) *Node {
	for _, p := range n.Chain {
		n.ExcludedAt = n.ExcludedAt || p.Excluded
	}
	for _, child := range n.Fields {
		n.ExcludedBelow = n.ExcludedBelow || child.ExcludedAt || child.ExcludedBelow
	}
	if n.Elem != nil {
		n.ExcludedBelow = n.ExcludedBelow || n.Elem.ExcludedAt || n.Elem.ExcludedBelow
	}
	if c.models.plain {
		return n
	}
	return c.models.sharing.node(n)
}

// expand follows what may hold a permission.
func (c *compiler) expand(in layers, p place) (*expansion, error) {
	return c.models.definitions.expand(in, p.trail, func(name string) (bool, error) {
		found := c.survey.scans[name]
		switch {
		case found == nil:
			return false, fmt.Errorf("definition %s is missing", name)
		case !found.carries:
			return false, nil
		case name == c.metadata && !p.metadata && p.scope == "":
			// The metadata of an object within the object: its labels are not the
			// labels this object is selected by.
			return false, nil
		case p.trail.has(name):
			if found.excludes {
				return false, fmt.Errorf("definition %s holds itself and an excluded permission", name)
			}
			return false, nil
		}
		return true, c.survey.check(name)
	})
}

// ownMetadata finds what describes the object's own metadata. A custom
// resource's schema says no more than that it is an object.
func (c *compiler) ownMetadata(in layers) layers {
	e, err := c.models.definitions.expand(in, nil, func(string) (bool, error) { return false, nil })
	if err == nil && e.first != "" {
		c.metadata = e.first
		return in
	}
	c.metadata = objectMetaDefault
	if s := c.models.definitions[objectMetaDefault]; s != nil {
		return append(slices.Clip(in), s)
	}
	return in
}

func (c *compiler) children(n *Node, l layers, p place) error {
	if p.root {
		// First, because it says which definition is the object's own metadata.
		if err := c.field(n, "metadata", l.property("metadata"), p); err != nil {
			return err
		}
	}
	names := c.carrying(l)
	n.Fields = slices.Grow(n.Fields, len(names))
	for _, name := range names {
		if p.root && name == "metadata" {
			continue
		}
		if err := c.field(n, name, l.property(name), p); err != nil {
			return err
		}
	}
	if len(n.Fields) == 0 {
		n.Fields = nil
	} else {
		n.Kind = Object
		sort.Slice(n.Fields, func(i, j int) bool { return n.Fields[i].Field < n.Fields[j].Field })
	}
	return c.elements(n, l, p)
}

// carrying names the fields of which any layer may have a permission, sorted.
func (c *compiler) carrying(l layers) []string {
	var names []string
	for _, s := range l {
		if !c.survey.promising[identity(s.Properties)] {
			continue
		}
		for name, p := range s.Properties {
			if c.survey.valueCarries(p) {
				names = append(names, name)
			}
		}
	}
	sort.Strings(names)
	return slices.Compact(names)
}

func (c *compiler) field(n *Node, name string, l layers, p place) error {
	below := p
	below.at, below.field = p.at.field(name), name
	below.root = false
	below.ownMetadata = p.root && name == "metadata"
	below.metadata = p.metadata || below.ownMetadata
	child, err := c.node(l, below)
	if err != nil || child == nil {
		return err
	}
	n.Fields = append(n.Fields, child)
	return nil
}

// stop reports a problem after which nothing more is looked at.
func (c *compiler) stop(err error) error {
	if err := c.report(nil, err); err != nil {
		return err
	}
	return errTooMany
}
