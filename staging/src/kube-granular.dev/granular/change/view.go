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

// view is how a walk reads one value of an object. There are two implementations: typedView for Go
// types and plainView for unstructured objects. The zero view is an absent value.
type view[V any] interface {
	state() state
	// unset reports whether nobody set the value, so that the schema's default applies.
	unset() bool
	// identical reports whether both values are known to be equal without a look at their
	// content, such as two equal pointers. It is fast, and can return false for equal values.
	identical(V) bool
	// equal reports whether both values have equal representations. One or both can be absent.
	equal(V) bool
	// hasShape reports whether the value is an object, map or list if the node's kind requires
	// one. It is true for absent and null values. The methods below treat a value without the
	// expected shape as absent.
	hasShape(*schema.Node) bool

	// field returns the field of an object that has position i in n.Fields.
	field(n *schema.Node, i int) V
	// canScan reports whether nextDiffering may be called. nextDiffering searches for the next
	// field that might differ. position is the one to start from: 0, or the position behind that the
	// previous call returned. child is the index of the field in n.Fields. It is len(n.Fields()) if
	// a field without a node differs, and larger if nothing more differs.
	canScan(other V) bool
	nextDiffering(position int, other V, found *fast.Position) (child, behind int)
	// sameRest reports whether the fields of an object that have no node in the tree are equal in
	// both objects. differing returns the names of those that differ. Neither compares fields that
	// the server itself writes.
	sameRest(n *schema.Node, other V) bool
	differing(n *schema.Node, other V) []string
	// differingKeys returns the keys whose values differ between two maps, and the keys that only
	// one of the maps has.
	differingKeys(other V) []string
	// at returns the value of a key of a map.
	at(key string) V

	// absentElem returns an absent element of the map or list.
	absentElem() V

	// len, index and key read a list. key returns the identity of an element of a ListMap or Set:
	// the text of each key. One more text for the types of the keys can follow, to tell 80 from
	// "80". key returns false if the element has no identity.
	len() int
	index(i int) V
	key(n *schema.Node, i int) ([]string, bool)
	// isStringMap reports whether the value is absent or a map. For a Go type it must be a map of
	// strings. text returns the value, and false if the value is not a string.
	isStringMap() bool
	text() (string, bool)
	// valueText returns the text of a scalar or, if field is not empty, of that field of an
	// object.
	valueText(field string) (string, textState)
	// objectName returns the name of an element of a list: the value of metadata.name or, if that
	// is empty, of the field called name. It is empty if both are.
	objectName() string
	// decoded returns the value as decoded JSON. It returns false if the value is absent or can't
	// be converted.
	decoded() (any, bool)
	// omitempty reports whether decoded leaves out fields with zero values, as Go's omitempty
	// does.
	omitempty() bool
}
