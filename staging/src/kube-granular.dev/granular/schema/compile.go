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

// metadataSystem are the fields of an object's own metadata that the server
// writes. What a caller puts there is replaced or refused by upstream itself.
var metadataSystem = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
	"managedFields", "resourceVersion", "selfLink", "uid",
}

var rootSystem = []string{"apiVersion", "kind"}

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
	s := m.schemas[root]
	if s == nil {
		return nil, fmt.Errorf("schema: no definition %s", root)
	}
	c := &compiler{models: m, survey: m.survey(root), verbs: map[string]bool{}, expressions: map[string]compiledExpression{}}
	n, err := c.node(layers{s}, place{trail: &trail{name: root}, root: true})
	if err == nil {
		err = c.report(nil, c.survey.check(root))
	}
	if err != nil || len(c.problems) > 0 {
		return nil, fmt.Errorf("schema of %s: %w", root, c.problems)
	}
	t := &Tree{Name: root, Root: n, models: &Models{schemas: m.schemas}}
	t.number(n)
	return t, nil
}

// place is what the way from the root to a schema says about it.
type place struct {
	trail *trail
	at    *where
	chain []*Permission
	scope string
	// emitters are the parameter sources on the way, the innermost last.
	emitters []emitter
	// root marks the object itself, metadata its own metadata and all below,
	// ownMetadata that metadata alone.
	root, metadata, ownMetadata bool
}

type emitter struct {
	source string
	node   *Node
	key    int
}

type compiler struct {
	models *Models
	survey *survey
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
	e, err := c.expand(in, p)
	if err != nil {
		return nil, c.report(p.at, err)
	}
	if p.at.depth() > MaxDepth {
		return nil, c.stop(faultf("", "more than %d levels deep", MaxDepth))
	}
	p.trail = e.trail
	n := &Node{NilIsEmpty: p.metadata}
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
		n.System = rootSystem
		keep = true
	case p.ownMetadata:
		n.System = metadataSystem
		n.Kind = Object
		keep = true
	}
	if !keep {
		return nil, nil
	}
	if c.nodes++; c.nodes > MaxNodes {
		return nil, c.stop(faultf("", "more than %d places with permissions", MaxNodes))
	}
	return n, nil
}

// expand follows what may hold a permission.
func (c *compiler) expand(in layers, p place) (*expansion, error) {
	return c.models.expand(in, p.trail, func(name string) (bool, error) {
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
	e, err := c.models.expand(in, nil, func(string) (bool, error) { return false, nil })
	if err == nil && e.first != "" {
		c.metadata = e.first
		return in
	}
	c.metadata = objectMetaDefault
	if s := c.models.schemas[objectMetaDefault]; s != nil {
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
	for _, name := range c.carrying(l) {
		if p.root && name == "metadata" {
			continue
		}
		if err := c.field(n, name, l.property(name), p); err != nil {
			return err
		}
	}
	if n.Fields != nil {
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
	below.at = p.at.field(name)
	below.root = false
	below.ownMetadata = p.root && name == "metadata"
	below.metadata = p.metadata || below.ownMetadata
	child, err := c.node(l, below)
	if err != nil || child == nil {
		return err
	}
	child.Parent, child.Field = n, name
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
