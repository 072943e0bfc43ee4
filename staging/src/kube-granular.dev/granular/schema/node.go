// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"errors"
	"slices"

	"kube-granular.dev/granular/permission"
)

// NodeKind is how a walk, which compares two objects, compares the values of a node. It is not a
// Kubernetes kind.
type NodeKind uint8

const (
	// Leaf values are compared as a whole, whatever they hold.
	Leaf NodeKind = iota
	// Object has named fields, some of which lead to a permission.
	Object
	// Map has one child, Elem, for every key.
	Map
	// ListMap is a list whose elements are identified by Keys.
	ListMap
	// Set is a list of scalars. Each element is identified by its value.
	Set
	// List is an atomic list with permissions inside. Its elements have no identity and are
	// compared by position.
	List
)

// Permission is one permission of a node; its name includes the scope. Permissions are read-only
// and may be compared by address: if two addresses are the same, the permissions are equal, and so
// are the chains above them.
type Permission struct {
	Name string
	// Parameter is nil if the permission takes none.
	Parameter *Parameter
	// above is the next more general permission, and depth the number of permissions above.
	above *Permission
	// leaf is the first leaf node that was compiled with this permission as the last of its chain.
	// Only the Interner uses it.
	leaf  *Node
	depth uint8
	// Excluded is set if the permission is not part of update: even a caller who holds update
	// needs the permission.
	Excluded bool
	// Element is set if the permission is for one element of a list, and for what is inside: a
	// permission above in the chain is for all elements.
	Element bool
	// Entry is set if the permission comes from an Entry and not from the schema itself. If such a
	// permission is excluded, no included permission below covers what it covers.
	Entry bool
	// Embedded is that of the Entry. If entries of both sorts exclude a field, a permission of each is
	// needed: neither opens what the other closes.
	Embedded bool
}

// Parameter describes the source of a permission's parameter, and how the parameter is made from a
// key or value.
type Parameter struct {
	// Source names the parameter source. For a value it is Self, or begins with it.
	Source string
	// SourceDepth is the depth of the node that is the parameter source: a Map, ListMap or Set
	// above the node that carries the permission. The root has depth 0. For a parameter that is
	// made from a value, SourceDepth is also 0.
	SourceDepth int
	// FromValue is set if the parameter is made from the value at the node that carries the
	// permission, or, if Field is not empty, from the field of this name inside that value. A
	// change then has one parameter for the old value and one for the new value, as far as they
	// exist, and the caller must hold the permission for each.
	FromValue bool
	Field     string
	// SourceKey is the position among the Keys of a ListMap, counted from 0, of the key that is
	// the source. For other sources it is 0.
	SourceKey int
	// Treatment makes the parameter from the raw key or value, unless Expression is set.
	Treatment  permission.Treatment
	Expression Expression
}

// Verbs returns the verbs that cover a raw key or value, most general first. A caller needs only
// one of them. The result has more than one verb only if Treatment.Several returns true. Errors
// are those of Verb.
func (p *Permission) Verbs(ctx context.Context, costs *CostBudget, key string) ([]permission.Verb, error) {
	if p.Parameter == nil || p.Parameter.Expression != nil || !p.Parameter.Treatment.Several() {
		v, err := p.Verb(ctx, costs, key)
		return []permission.Verb{v}, err
	}
	var out []permission.Verb
	for _, parameter := range p.Parameter.Treatment.Parameters(key) {
		out = append(out, permission.Verb{Permission: p.Name, Parameter: parameter, Parameterized: true})
	}
	if len(out) == 0 {
		return nil, ErrNoParameter
	}
	return out, nil
}

// Exact returns the verb that covers one raw key and no other one, if the permission has such a verb
// besides those that Verbs returns. A caller that holds it needs none of them. An excluded permission
// has none: who holds the verb "*" would hold it too, although an authorizer in front denies the verb
// that it knows.
func (p *Permission) Exact(key string) (permission.Verb, bool) {
	if p.Parameter == nil || p.Parameter.Expression != nil || p.Excluded {
		return permission.Verb{}, false
	}
	if len(key) > permission.MaxParameterLength {
		return permission.Verb{}, false // a key can have a megabyte, and many changes below it
	}
	parameter, ok := p.Parameter.Treatment.Exact(key)
	if !ok || permission.CheckParameter(parameter) != nil {
		return permission.Verb{}, false
	}
	return permission.Verb{Permission: p.Name, Parameter: parameter, Parameterized: true}, true
}

// Wider returns the verb of the permission that covers the key of an exact verb and others; see Exact.
// It returns false if v is not the exact verb of a key.
func (p *Permission) Wider(v permission.Verb) (permission.Verb, bool) {
	if p.Parameter == nil || p.Parameter.Expression != nil || p.Excluded {
		return permission.Verb{}, false
	}
	key, exact := p.Parameter.Treatment.Key(v.Parameter)
	if !exact {
		return permission.Verb{}, false
	}
	v.Parameter = p.Parameter.Treatment.Apply(key)
	return v, true
}

// Shares reports whether p and o, two permissions of one chain, always have the same parameter.
func (p *Permission) Shares(o *Permission) bool {
	a, b := p.Parameter, o.Parameter
	return a != nil && b != nil && !a.FromValue && !b.FromValue && a.Expression == nil && b.Expression == nil &&
		a.SourceDepth == b.SourceDepth && a.SourceKey == b.SourceKey && a.Treatment == b.Treatment
}

// ErrNoParameter means that the treatment of a permission makes no parameter from the key or
// value, so the permission does not cover it.
var ErrNoParameter = errors.New("the treatment accepts no such key or value")

// Verb returns the verb for a raw key or value, which is ignored if the permission has no
// parameter. If there are several verbs, Verb returns the most specific one. An error means that
// no verb covers the key or value. If the error is permission.ErrTooLong, the verb is too long for
// an authorizer; Verb still returns the verb, so that a message can show the beginning. The cost
// of an expression is charged to costs.
func (p *Permission) Verb(ctx context.Context, costs *CostBudget, key string) (permission.Verb, error) {
	if p.Parameter == nil {
		return permission.Verb{Permission: p.Name}, nil
	}
	parameter := ""
	switch {
	case p.Parameter.Expression == nil && p.Parameter.Treatment.Several():
		several := p.Parameter.Treatment.Parameters(key)
		if len(several) == 0 {
			return permission.Verb{}, ErrNoParameter
		}
		parameter = several[len(several)-1]
	case p.Parameter.Expression == nil:
		parameter = p.Parameter.Treatment.Apply(key)
	default:
		var err error
		if parameter, err = costs.parameter(ctx, p.Parameter.Expression, key); err != nil {
			return permission.Verb{}, err
		}
	}
	v := permission.Verb{Permission: p.Name, Parameter: parameter, Parameterized: true}
	return v, permission.CheckParameter(parameter)
}

// chain returns permissions of the chain whose last permission is p: as many as last says, counted
// from the end of the chain. The most general one is first in the result.
func (p *Permission) chain(last int) []*Permission {
	if last == 0 {
		return nil
	}
	out := make([]*Permission, last)
	for ; last > 0; last, p = last-1, p.above {
		out[last-1] = p
	}
	return out
}

// length returns the number of permissions in the chain whose last permission is p.
func (p *Permission) length() int {
	if p == nil {
		return 0
	}
	return int(p.depth) + 1
}

// Key is one key property of a list-map.
type Key struct {
	Name string
	// Default is the value that the key counts as having in an element that lacks the key, as in
	// server-side apply. If Default is nil, an element that lacks the key has no identity.
	Default any
}

// Node is a field or an element type in a permission tree. Nodes are read-only once compiled and
// may be shared by any number of goroutines. Equal nodes below the same permissions are one node,
// in all places and trees, so a node does not refer to its parent. No node is below itself.
//
// There are many nodes, so a Node is small: the properties that only few nodes have are in extra.
type Node struct {
	// Field is the name of the field; empty for the root and for elements.
	Field string
	// last is the last permission of the node's chain.
	last *Permission
	// inline holds the children (the fields of an Object, or the element of a container) if there
	// are at most maxInline. Otherwise extra holds them.
	inline *[maxInline]*Node
	extra  *extra
	// count is the number of children.
	count  uint16
	Kind   NodeKind
	traits traits
	// own is the number of permissions that the node itself carries. They are the last ones of the
	// chain.
	own uint8
	// NilIsEmpty is set in the object's own metadata: at and below this node, an absent, a null
	// and an empty container are equal.
	NilIsEmpty bool
	// ExcludedAt is set if the chain has an excluded permission, one that update does not include.
	ExcludedAt bool
	// ExcludedBelow is set if a node below carries an excluded permission.
	ExcludedBelow bool
}

// maxInline is the number of children that most nodes do not exceed.
const maxInline = 3

// extra has the properties that only few nodes have.
type extra struct {
	keys     []Key
	fallback *Default
	children []*Node
}

func (n *Node) ensureExtra() *extra {
	if n.extra == nil {
		n.extra = &extra{}
	}
	return n.extra
}

// NewList returns a node that is in no tree and only describes how the elements of a list are
// identified.
func NewList(kind NodeKind, keys []Key) *Node { return &Node{Kind: kind, extra: &extra{keys: keys}} }

// below returns the fields of an Object, or the element of a container.
func (n *Node) below() []*Node {
	switch {
	case n.count == 0:
		return nil
	case n.count <= maxInline:
		return n.inline[:n.count]
	}
	return n.extra.children
}

func (n *Node) setBelow(below []*Node) {
	n.count = uint16(len(below))
	if len(below) > maxInline {
		n.ensureExtra().children = append(make([]*Node, 0, len(below)), below...) // without spare capacity
		return
	}
	n.inline = new([maxInline]*Node)
	copy(n.inline[:], below)
}

// Chain returns all permissions that cover the node, most general first. The result is allocated
// at each call.
func (n *Node) Chain() []*Permission { return n.last.chain(n.last.length()) }

// Own returns the permissions at the end of Chain that the node itself carries.
func (n *Node) Own() []*Permission { return n.last.chain(int(n.own)) }

// Last returns the most specific permission that covers the node, nil if none does. It is cheaper
// than Chain.
func (n *Node) Last() *Permission { return n.last }

// Carries reports whether the node itself carries a permission. If neither the node of a change
// nor any node above it carries one, no permission covers the change, and messages show its
// top-level field.
func (n *Node) Carries() bool { return n.own > 0 }

// Element reports whether the node is an element of a list, with a permission for it as a whole. That
// permission is the first one that the node carries. Other permissions of one element follow the
// permission that covers the field in all elements.
func (n *Node) Element() bool {
	if n.own == 0 {
		return false
	}
	p := n.last
	for range n.own - 1 {
		p = p.above
	}
	return p.Element
}

// Fields returns the children of an Object that have a permission or lead to one, sorted by
// name. All other fields are the node's remainder. The result must not be changed.
func (n *Node) Fields() []*Node {
	if n.Kind != Object {
		return nil
	}
	return n.below()
}

// Elem returns the child of a Map, ListMap, Set or List, and nil for other nodes.
func (n *Node) Elem() *Node {
	if n.Kind <= Object || n.inline == nil {
		return nil
	}
	return n.inline[0]
}

// Keys returns the keys of a ListMap, in the schema's order. The result must not be changed.
func (n *Node) Keys() []Key {
	if n.extra == nil {
		return nil
	}
	return n.extra.keys
}

// defaults reports whether decisions need the default of the field: its own permission is
// excluded, or it is an object that contains an excluded field.
func (n *Node) defaults() bool {
	return n.own > 0 && n.last.Excluded || n.Kind == Object && n.ExcludedBelow
}

// OnlyDefault reports whether a decoded JSON value is the default of the field; see Default.Is.
// Only decisions about excluded permissions need the default. So a node stores it only if its own
// permission is excluded, or if the node is an object that contains an excluded field. For other
// nodes the result is always false.
func (n *Node) OnlyDefault(value any, omitempty bool) bool {
	return n.extra != nil && n.extra.fallback.Is(value, omitempty)
}

// Child returns a field among Fields, or nil.
func (n *Node) Child(field string) *Node {
	fields := n.Fields()
	lo, hi := 0, len(fields)
	for lo < hi {
		mid := (lo + hi) / 2
		if fields[mid].Field < field {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(fields) && fields[lo].Field == field {
		return fields[lo]
	}
	return nil
}

// System returns the fields of an Object that the server itself writes. No walk compares them.
func (n *Node) System() []string { return systemFields[n.traits.system()] }

// Ignores reports whether the server itself writes a field of an Object.
func (n *Node) Ignores(field string) bool {
	return slices.Contains(systemFields[n.traits.system()], field)
}

// systemFields are the fields of the root and of an object's own metadata that the server itself
// writes. The API server replaces or refuses what a caller writes into them.
var systemFields = [...][]string{
	rootSystem: {"apiVersion", "kind"},
	metadataSystem: {
		"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
		"managedFields", "resourceVersion", "selfLink", "uid",
	},
}
