// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"

	"kube-granular.dev/granular/permission"
)

// Kind says how the walk looks at the values below a node.
type Kind uint8

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

// Node is what there is at a place in a tree. Nodes are read-only once compiled and
// may be shared by any number of goroutines. Where the same lies below the same
// permissions there is one node, in how many places and trees ever: a node does not
// know what is above it. No node lies below itself.
type Node struct {
	// Field is the name below an Object; empty for the root and for elements.
	Field string
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
	Kind Kind
	// system says which fields of an Object are the server's own.
	system system
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

// System names the fields of an Object whose change is nobody's: the server writes
// them. They are compared by no walk.
func (n *Node) System() []string { return systemFields[n.system] }

// Ignores says whether a field of an Object is the server's own.
func (n *Node) Ignores(field string) bool { return slices.Contains(systemFields[n.system], field) }

// system is a kind of node that has fields of the server.
type system uint8

const (
	noSystem system = iota
	rootSystem
	metadataSystem
)

// What a caller puts into these of an object's own metadata is replaced or refused
// by upstream itself.
var systemFields = [...][]string{
	rootSystem: {"apiVersion", "kind"},
	metadataSystem: {
		"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
		"managedFields", "resourceVersion", "selfLink", "uid",
	},
}
