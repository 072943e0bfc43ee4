// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import "kube-granular.dev/granular/permission"

// Kind says how the walk looks at the values below a node.
type Kind int

const (
	// Leaf values are compared as a whole, whatever is in them.
	Leaf Kind = iota
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

// Permission is one permission a node carries, scope applied.
type Permission struct {
	Name string
	// Excluded permissions are no part of update: they are asked even for
	// callers who hold it.
	Excluded bool
	// Source names the parameter source the permission is parameterised by;
	// empty if it takes no parameter.
	Source string
	// SourceNode is the node that emits the parameter: a Map, ListMap or Set at
	// or above the node that carries the permission.
	SourceNode *Node
	// SourceKey is the position in SourceNode.Keys for a ListMap, otherwise 0.
	SourceKey int
	// Treatment makes the parameter from the raw key, unless Expression is set.
	Treatment  permission.Treatment
	Expression Expression
}

// Verb gives the verb for a raw key, which is ignored where there is no parameter.
// An error means that there is no verb that covers this key.
func (p *Permission) Verb(key string) (permission.Verb, error) {
	if p.Source == "" {
		return permission.Verb{Permission: p.Name}, nil
	}
	parameter := ""
	if p.Expression == nil {
		parameter = p.Treatment.Apply(key)
	} else {
		var err error
		if parameter, err = p.Expression.Parameter(key); err != nil {
			return permission.Verb{}, err
		}
	}
	return permission.Verb{Permission: p.Name, Parameter: parameter, Parameterized: true}, nil
}

// Key is one key of a list-map.
type Key struct {
	Name string
	// Default stands in for a missing key, as in server-side apply. It is nil if
	// a missing key leaves the element without identity.
	Default any
}

// Node is one place in a tree. Nodes are read-only once compiled and may be
// shared by any number of goroutines.
type Node struct {
	// ID counts from 0, the root, in depth-first order over sorted fields.
	ID     int
	Parent *Node
	// Field is the name below an Object; empty for the root and for elements.
	Field string
	Kind  Kind
	// Chain holds every permission that covers the node, most general first.
	Chain []*Permission
	// Own is how many at the end of Chain the node itself carries.
	Own int
	// Fields holds the children of an Object that lead to a permission, sorted
	// by name; what is not here is the node's remainder.
	Fields []*Node
	// Elem is the child of a Map, ListMap, Set or List.
	Elem *Node
	// Keys are the keys of a ListMap, in the schema's order.
	Keys []Key
	// System names the fields of an Object whose change is nobody's: the server
	// writes them. They are compared by no walk.
	System []string
	// NilIsEmpty says that an absent, a null and an empty container are one and
	// the same below this node: the object's own metadata.
	NilIsEmpty bool
	// ExcludedAt says that Chain holds an excluded permission.
	ExcludedAt bool
	// ExcludedBelow says that a node below carries an excluded permission.
	ExcludedBelow bool
}

// Carries says whether the node itself carries a permission. Changes without
// such a node above them are charged to the root field they lie under.
func (n *Node) Carries() bool { return n.Own > 0 }

// Child finds a field among Fields, or gives nil.
func (n *Node) Child(field string) *Node {
	lo, hi := 0, len(n.Fields)
	for lo < hi {
		mid := (lo + hi) / 2
		if n.Fields[mid].Field < field {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(n.Fields) && n.Fields[lo].Field == field {
		return n.Fields[lo]
	}
	return nil
}

// Ignores says whether a field of an Object is the server's own.
func (n *Node) Ignores(field string) bool {
	for _, s := range n.System {
		if s == field {
			return true
		}
	}
	return false
}
