// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"slices"

	"kube-granular.dev/granular/permission"
)

// Kind says how the walk looks at the values below a node.
type NodeKind uint8

const (
	// Leaf values are compared as a whole, whatever is in them.
	Leaf NodeKind = iota
	// Object has named fields, some of which lead to a permission.
	Object
	// Map has one child, Elem, for every key.
	Map
	// ListMap is a list whose elements are told apart by Keys.
	ListMap
	// Set is a list whose elements are scalars and their own identity.
	Set
	// List is an atomic list with permissions inside: elements have no identity,
	// they are compared by position.
	List
)

// Permission is one permission a node carries, scope applied. Permissions are read-only
// and known by their address: the same one below the same others has one.
type Permission struct {
	Name string
	// Parameter is nil if the permission takes none.
	Parameter *Parameter
	// above is the next more general permission, and more how many there are above.
	above *Permission
	// leaf is the first leaf that was compiled with the permission as its last. It
	// belongs to the Sharing, and to nobody else.
	leaf  *Node
	depth uint8
	// Excluded permissions are no part of update: they are asked even for
	// callers who hold it.
	Excluded bool
}

// Parameter says where the parameter of a permission comes from, and what is made of it.
type Parameter struct {
	// Source names the parameter source.
	Source string
	// SourceDepth is how far below the root, which is 0, the node lies that emits
	// the parameter: a Map, ListMap or Set above the node that carries the
	// permission.
	SourceDepth int
	// SourceKey is the position in that node's Keys for a ListMap, otherwise 0.
	SourceKey int
	// Treatment makes the parameter from the raw key, unless Expression is set.
	Treatment  permission.Treatment
	Expression Expression
}

// Verb returns the verb for a raw key, which is ignored where there is no parameter.
// An error means that there is no verb that covers this key. With permission.ErrTooLong
// comes the verb that nobody may be asked, so that a message can show of what it is. An
// expression counts against what the request may spend.
func (p *Permission) Verb(ctx context.Context, costs *CostBudget, key string) (permission.Verb, error) {
	if p.Parameter == nil {
		return permission.Verb{Permission: p.Name}, nil
	}
	parameter := ""
	if p.Parameter.Expression == nil {
		parameter = p.Parameter.Treatment.Apply(key)
	} else {
		var err error
		if parameter, err = costs.parameter(ctx, p.Parameter.Expression, key); err != nil {
			return permission.Verb{}, err
		}
	}
	v := permission.Verb{Permission: p.Name, Parameter: parameter, Parameterized: true}
	return v, permission.CheckParameter(parameter)
}

// chain gives the last permissions of the chain that ends with p, most general first.
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

// length is how many permissions there are in the chain that ends with p.
func (p *Permission) length() int {
	if p == nil {
		return 0
	}
	return int(p.depth) + 1
}

// Key is one key of a list-map.
type Key struct {
	Name string
	// Default stands in for a missing key, as in server-side apply. It is nil if
	// a missing key leaves the element without identity.
	Default any
}

// Node is what there is at a place in a tree. Nodes are read-only once compiled and
// may be shared by any number of goroutines. Where the same lies below the same
// permissions there is one node, in how many places and trees ever: a node does not
// know what is above it. No node lies below itself.
//
// There is one for every field of every definition that has a permission, so it is
// kept small: what few nodes have lies behind a pointer.
type Node struct {
	// Field is the name below an Object; empty for the root and for elements.
	Field string
	// last ends the chain.
	last *Permission
	// near holds the fields of an Object, or the element of what has one, if there are
	// so few; rare has them else.
	inline *[maxInline]*Node
	extra  *extra
	// count is how many there are.
	count  uint16
	Kind   NodeKind
	traits traits
	// own is how many at the end of the chain the node itself carries.
	own uint8
	// NilIsEmpty says that an absent, a null and an empty container are one and
	// the same below this node: the object's own metadata.
	NilIsEmpty bool
	// ExcludedAt says that the chain holds an excluded permission.
	ExcludedAt bool
	// ExcludedBelow says that a node below carries an excluded permission.
	ExcludedBelow bool
}

// near is how many children most nodes have at the most.
const maxInline = 3

// rare is what few nodes have.
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

// NewList makes a node of no tree, which says how the elements of a list are told
// apart and nothing else.
func NewList(kind NodeKind, keys []Key) *Node { return &Node{Kind: kind, extra: &extra{keys: keys}} }

// below gives the fields of an Object, or the element of what has one.
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
		n.ensureExtra().children = append(make([]*Node, 0, len(below)), below...) // without room to grow
		return
	}
	n.inline = new([maxInline]*Node)
	copy(n.inline[:], below)
}

// Chain gives every permission that covers the node, most general first. It is made
// anew each time.
func (n *Node) Chain() []*Permission { return n.last.chain(n.last.length()) }

// Own gives those at the end of Chain that the node itself carries.
func (n *Node) Own() []*Permission { return n.last.chain(int(n.own)) }

// Last is the most specific permission that covers the node, nil if none does. It
// costs less than Chain.
func (n *Node) Last() *Permission { return n.last }

// Carries says whether the node itself carries a permission. Changes without
// such a node above them are charged to the root field they lie under.
func (n *Node) Carries() bool { return n.own > 0 }

// Fields gives the children of an Object that lead to a permission, sorted by name;
// what is not here is the node's remainder. Nobody may change them.
func (n *Node) Fields() []*Node {
	if n.Kind != Object {
		return nil
	}
	return n.below()
}

// Elem is the child of a Map, ListMap, Set or List, and nil for other nodes.
func (n *Node) Elem() *Node {
	if n.Kind <= Object || n.inline == nil {
		return nil
	}
	return n.inline[0]
}

// Keys gives the keys of a ListMap, in the schema's order. Nobody may change them.
func (n *Node) Keys() []Key {
	if n.extra == nil {
		return nil
	}
	return n.extra.keys
}

// defaults says that decisions need the default of the field: its own permission is
// excluded, or it is an object that holds such a field.
func (n *Node) defaults() bool {
	return n.own > 0 && n.last.Excluded || n.Kind == Object && n.ExcludedBelow
}

// OnlyDefault says whether a decoded JSON value is what the schema puts into the
// field on its own; see Default.Is. It is known only of fields that have an excluded
// permission of their own, and of objects that hold one: of others nobody has to ask.
func (n *Node) OnlyDefault(value any, omitempty bool) bool {
	return n.extra != nil && n.extra.fallback.Is(value, omitempty)
}

// Child finds a field among Fields, or gives nil.
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

// System names the fields of an Object whose change is nobody's: the server writes
// them. They are compared by no walk.
func (n *Node) System() []string { return systemFields[n.traits.system()] }

// Ignores says whether a field of an Object is the server's own.
func (n *Node) Ignores(field string) bool {
	return slices.Contains(systemFields[n.traits.system()], field)
}

// What a caller puts into these of an object's own metadata is replaced or refused
// by upstream itself.
var systemFields = [...][]string{
	rootSystem: {"apiVersion", "kind"},
	metadataSystem: {
		"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
		"managedFields", "resourceVersion", "selfLink", "uid",
	},
}
