// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"kube-granular.dev/granular/internal/fast"
	"kube-granular.dev/granular/schema"
)

// state is whether a value is absent, null or present.
type state int

const (
	absent state = iota
	null
	present
)

// view gives the change walk access to one value of an object. It has two implementations:
// typedView for Go types and plainView for unstructured objects. The zero view is an absent value.
type view[V any] interface {
	state() state
	// unset reports whether nobody set the value, so that the schema's default applies.
	unset() bool
	// identical reports whether both values are known to be equal without a look at their
	// content, such as two equal pointers. It is fast, and may return false for equal values.
	identical(V) bool
	// equal reports whether both values have equal representations. One or both may be absent.
	equal(V) bool
	// hasShape reports whether the value has the type that the node's kind expects, such as a
	// list. It is true for absent and null values. The methods below treat a value of another
	// type as absent.
	hasShape(*schema.Node) bool

	// field returns the value of the field n.Fields()[i] of an object.
	field(n *schema.Node, i int) V
	// canScan reports whether nextDiffering may be called. nextDiffering returns the index of the
	// next field that may differ, from position at on, and the position after that field. An
	// index of len(n.Fields()) means that fields without a node in the tree may differ. A higher
	// index means that no further field differs.
	canScan(other V) bool
	nextDiffering(at int, other V, found *fast.Position) (child, behind int)
	// sameRest reports whether all fields of an object without a node in the tree are equal.
	// differing returns the names of those that differ. Neither compares fields that the server
	// itself writes.
	sameRest(n *schema.Node, other V) bool
	differing(n *schema.Node, other V) []string
	// differingKeys returns the keys of two maps whose values differ, and the keys that only one
	// of the maps has.
	differingKeys(other V) []string
	// at returns the value of a key of a map.
	at(key string) V

	// absentElem returns an absent element of the map or list.
	absentElem() V

	// len, index and key read a list. key returns the identity of element i of a ListMap or Set:
	// the text of each key, and for some views one more string that distinguishes keys of
	// different types with the same text, such as 80 and "80". It returns false if the element
	// has no identity, for example because it lacks a key.
	len() int
	index(i int) V
	key(n *schema.Node, i int) ([]string, bool)
	// isStringMap reports whether the value is absent or a map. A Go type must be a map from
	// strings to strings. text returns the value if it is a string.
	isStringMap() bool
	text() (string, bool)
	// valueText returns the text of the value, which must be a scalar, or of the named field of
	// the value if field is not empty.
	valueText(field string) (string, textState)
	// objectName returns the name of an object in a list: its field metadata.name, or else its
	// field "name". It is empty if the object has neither.
	objectName() string
	// decoded returns the value as decoded JSON, and false if the value can't be converted.
	decoded() (any, bool)
	// omitempty reports whether the result of decoded may lack fields with a zero value.
	omitempty() bool
}
