// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"kube-granular.dev/granular/internal/fast"
	"kube-granular.dev/granular/schema"
)

// state tells whether a value is absent, null or present.
type state int

const (
	absent state = iota
	null
	present
)

// view is a value of an object as the walk sees it. There are two implementations: typedView for
// Go types and plainView for unstructured objects. The zero view is an absent value.
type view[V any] interface {
	state() state
	// unset reports whether nobody set the value, so that the schema's default applies.
	unset() bool
	// identical reports whether both are the same value in memory. It is cheap, and may return
	// false for equal values.
	identical(V) bool
	// equal compares strictly, by representation. Absent values may be compared.
	equal(V) bool
	// hasShape reports whether the value is what the node's kind expects. Absent and null values
	// are. The methods below treat a view without the expected shape as absent.
	hasShape(*schema.Node) bool

	// field returns the child of an object at a position in n.Fields.
	field(n *schema.Node, i int) V
	// canScan reports whether nextDiffering may be called. nextDiffering returns the next child
	// that may differ, beginning at a position, and the position after it. The child is
	// len(n.Fields()) for fields that lead to no child, and more than that at the end.
	canScan(other V) bool
	nextDiffering(at int, other V, found *fast.Position) (child, behind int)
	// sameRest compares the fields of an object that lead to no child, and differing returns the
	// names of those that differ. Fields that the server itself writes are not compared.
	sameRest(n *schema.Node, other V) bool
	differing(n *schema.Node, other V) []string
	// differingKeys returns the keys of two maps whose values differ, or that one of them lacks.
	differingKeys(other V) []string
	// at returns the value of a key of a map.
	at(key string) V

	// absentElem returns an absent element of the map or list.
	absentElem() V

	// len, index and key read a list. key returns the identity of an element of a ListMap or
	// Set: the text of each key, followed by what tells apart keys with the same text. It
	// returns false if the element has no identity.
	len() int
	index(i int) V
	key(n *schema.Node, i int) ([]string, bool)
	// isStringMap reports whether the value is absent or a map. For a Go type it must be a map
	// of strings. text returns a scalar that is a string.
	isStringMap() bool
	text() (string, bool)
	// valueText returns the text of a scalar, or of the scalar in a field of an object.
	valueText(field string) (string, textState)
	// objectName returns the name of an object in a list: the name in its metadata, or else its
	// own field name. It is empty if there is none.
	objectName() string
	// decoded returns the value as decoded JSON, and false if it has no such form.
	decoded() (any, bool)
	// omitempty reports whether decoded leaves out zero values.
	omitempty() bool
}
